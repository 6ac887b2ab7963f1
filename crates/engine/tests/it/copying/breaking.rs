//! A copy that is cut off, at one call to either side after the other.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::copy::{Copied, CopyError, Place, Side, carry};
use tenure_engine::store::driver::{Class, Driver, Each, Role, StoreError, Value};
use tenure_engine::store::folder::database_in;
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::search::FullText;
use tenure_engine::store::sqlite::Sqlite;

use super::{Room, begun, copied, ended, folder, pairs, served};
use crate::world::StillClocks;

/// A connection of which nothing is heard any more after so many calls, as if its process had been killed.
pub struct CutOff {
    inner: Box<dyn Driver>,
    left: Arc<AtomicI64>,
    /// A text that is stored otherwise than it was written.
    changed: Option<(&'static str, &'static str)>,
}

impl CutOff {
    fn call(&self) -> Result<(), StoreError> {
        match self.left.fetch_sub(1, Relaxed) {
            1.. => Ok(()),
            _ => Err(StoreError::new(Class::Io, "as the test demands")),
        }
    }

    fn stored<'a>(&self, values: &[Value<'a>]) -> Vec<Value<'a>> {
        let mut values = values.to_vec();
        if let Some((text, stored)) = self.changed {
            let is_it = |value: &&mut Value<'_>| matches!(value, Value::Text(written) if written == text);
            values.iter_mut().filter(is_it).for_each(|value| *value = Value::Text(stored.into()));
        }
        values
    }
}

impl Driver for CutOff {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.call()?;
        self.inner.begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.call()?;
        self.inner.begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.call()?;
        self.inner.begin_read()
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.call()?;
        self.inner.execute(sql, &self.stored(values))
    }

    fn write(&mut self, sql: &str, values: &[Value<'_>], rows: Option<u64>) -> Result<(), StoreError> {
        self.call()?;
        self.inner.write(sql, &self.stored(values), rows)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.call()?;
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.call()?;
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.call()?;
        self.inner.rollback()
    }

    fn schema(&mut self) -> Result<u32, StoreError> {
        self.call()?;
        self.inner.schema()
    }

    fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
        self.call()?;
        self.inner.migrate(number, sql)
    }

    fn version(&mut self) -> Result<String, StoreError> {
        self.inner.version()
    }

    fn full_text(&self) -> &'static FullText {
        self.inner.full_text()
    }
}

/// A connection to a place that ends after so many calls to any.
pub fn cut_off(place: &Place, role: Role, left: &Arc<AtomicI64>) -> CutOff {
    let inner: Box<dyn Driver> = match place {
        Place::Folder(folder) => {
            fs::create_dir_all(folder).expect("a folder");
            let database = database_in(folder);
            fs::OpenOptions::new().append(true).create(true).open(&database).expect("a file");
            Box::new(Sqlite::open(&database, role).expect("a database"))
        }
        Place::Database(address) => Box::new(Postgres::open(address, role).expect("a connection")),
    };
    CutOff { inner, left: left.clone(), changed: None }
}

/// A copy whose connections end after so many calls.
fn cut_after(calls: i64, from: &Place, to: &Place) -> Result<Copied, CopyError> {
    let left = Arc::new(AtomicI64::new(calls));
    carried(cut_off(from, Role::Reader, &left), cut_off(to, Role::Writer, &left))
}

fn carried(mut source: CutOff, mut target: CutOff) -> Result<Copied, CopyError> {
    carry(
        &mut Side { name: "from".to_owned(), driver: &mut source },
        &mut Side { name: "to".to_owned(), driver: &mut target },
        &*StillClocks::new(),
        &mut |_| (),
    )
}

/// How many tables a place has.
fn tables(room: &Room, place: &Place) -> usize {
    match place {
        Place::Folder(folder) => {
            let mut driver = Sqlite::open(&database_in(folder), Role::Writer).expect("a database");
            let mut tables = 0;
            let counted = driver.query("SELECT name FROM sqlite_schema", &[], &mut |_| {
                tables += 1;
                Ok(())
            });
            counted.expect("the store works");
            tables
        }
        Place::Database(_) => room.contents(place).len(),
    }
}

#[test]
fn wherever_a_copy_is_cut_off_nothing_of_it_is_left() {
    let room = Room::new();
    // A call across the seam costs more there than one within the process.
    for ((from, to), step) in pairs(&room).into_iter().zip([11, 11, 3, 11]) {
        let mut world = served(&from);
        begun(&mut world);
        ended(world, &room);
        let (mut cuts, mut calls) = (0, 0);
        loop {
            match cut_after(calls, &from, &to) {
                Ok(_) => break,
                // Only what ends the source's question comes after the commit.
                Err(CopyError::Store(side, error)) if tables(&room, &to) > 0 => {
                    assert_eq!((side.as_str(), error.class), ("from", Class::Io), "{to}, call {calls}");
                    break;
                }
                Err(CopyError::Store(_, error)) => assert_eq!(error.class, Class::Io, "{to}, call {calls}"),
                Err(other) => panic!("{to}, call {calls}: {other}"),
            }
            cuts += 1;
            calls += step;
        }
        assert!(cuts > 100 / step, "{to}: {cuts}");
    }
}

#[test]
fn what_a_database_stores_otherwise_than_it_was_written_is_found() {
    let room = Room::new();
    for (from, to) in pairs(&room) {
        let mut world = served(&from);
        begun(&mut world);
        ended(world, &room);
        for (text, stored, table) in [
            ("The reader", "the reader", "body"),
            ("a needle in the haystack", "no needle", "entry"),
            ("bob", "rob", "principal"),
        ] {
            let left = Arc::new(AtomicI64::new(i64::MAX));
            let mut target = cut_off(&to, Role::Writer, &left);
            target.changed = Some((text, stored));
            match carried(cut_off(&from, Role::Reader, &left), target) {
                Err(CopyError::Differs { what, .. }) => assert_eq!(what, format!("the table {table}")),
                other => panic!("{to}: {text}: {other:?}"),
            }
            assert_eq!(tables(&room, &to), 0, "{to}");
        }
    }
}

#[test]
fn what_a_killed_copy_left_in_a_folder_is_no_store_and_is_cleared_away() {
    let room = Room::new();
    let (from, to) = (room.state("from"), room.state("to"));
    let mut world = served(&from);
    begun(&mut world);
    ended(world, &room);
    fs::create_dir(folder(&to)).expect("made");
    for ending in ["", "-wal", "-shm"] {
        fs::write(folder(&to).join(format!("tenure.db.copying{ending}")), "a part").expect("written");
    }
    copied(&from, &to).expect("it is in nobody's way");
    assert_eq!(room.contents(&to), ["tenure.db"]);
    let again = Refusal::from(copied(&from, &to).expect_err("a fleet lives there"));
    assert_eq!(again.code, Code::AlreadyExists);
}

#[test]
fn a_daemon_does_not_start_where_a_copy_goes_on() {
    let room = Room::new();
    let (from, to) = (room.state("from"), room.state("to"));
    let mut world = served(&from);
    begun(&mut world);
    ended(world, &room);
    fs::create_dir(folder(&to)).expect("made");
    let daemon = fs::File::create(folder(&to).join(tenure_core::wire::DAEMON_LOCK)).expect("a lock");
    daemon.lock().expect("locked");
    let refusal = Refusal::from(copied(&from, &to).expect_err("a daemon starts there"));
    assert_eq!(refusal.code, Code::InUse);
    drop(daemon);
    copied(&from, &to).expect("copied");
}
