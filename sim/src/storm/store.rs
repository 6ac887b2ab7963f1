//! The store under a storm: the engine's own SQL on SQLite, with calls that fail as they are told to.

use std::path::PathBuf;

use tempfile::TempDir;
use tenure_core::model::event::Fleet;
use tenure_core::model::time::WallTime;
use tenure_core::rules::restore::{Floors, Told};
use tenure_engine::restore::restore;
use tenure_engine::store::driver::{Class, Driver, Each, StoreError, Value};
use tenure_engine::store::floors;
use tenure_engine::store::folder::{Hold, hold};
use tenure_engine::store::search::{FullText, fts5};
use tenure_engine::store::sqlite::{Role, Sqlite};

use super::time::Shown;

/// What the next batch meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Sound,
    /// The so manieth call fails before it does anything.
    Fail {
        /// Which one, from 1.
        call: u32,
        /// How.
        class: Class,
    },
    /// The commit fails, and whether it happened nobody hears.
    Unanswered {
        /// Whether it happens.
        happens: bool,
        /// How.
        class: Class,
    },
}

/// A copy of the store as it was at some moment.
struct Backup {
    path: PathBuf,
    floors: Floors,
    taken_at: WallTime,
    _folder: TempDir,
}

/// A store that outlives its connections.
pub struct Store {
    connection: Option<Sqlite>,
    /// Where it is; nowhere for a store in memory, whose one connection stands for all.
    path: Option<PathBuf>,
    plan: Plan,
    calls: u32,
    bit: bool,
    backup: Option<Backup>,
    _files: Option<(Hold, TempDir)>,
}

impl Store {
    /// A new store in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        let connection = Sqlite::in_memory().expect("a database in memory");
        Self {
            connection: Some(connection),
            path: None,
            plan: Plan::Sound,
            calls: 0,
            bit: false,
            backup: None,
            _files: None,
        }
    }

    /// A new store on file. It is slower, and a kill there is the end of a real connection.
    #[must_use]
    pub fn on_file() -> Self {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let hold = hold(&folder.path().join("store")).expect("a new store");
        let path = hold.database().to_owned();
        let mut store = Self {
            connection: None,
            path: Some(path),
            plan: Plan::Sound,
            calls: 0,
            bit: false,
            backup: None,
            _files: Some((hold, folder)),
        };
        store.reconnect();
        store
    }

    /// Ends the connection, with whatever was not committed, and opens another.
    pub fn reconnect(&mut self) {
        match &self.path {
            Some(path) => {
                self.connection = None;
                self.connection = Some(Sqlite::open(path, Role::Writer).expect("the store opens again"));
            }
            None => self.connection().rollback().expect("what was not committed is dropped"),
        }
    }

    /// Takes a backup.
    pub fn back_up(&mut self, clocks: Shown) {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let path = folder.path().join("backup");
        self.connection().backup(&path).expect("a backup of a sound store");
        let floors = floors::read(self).expect("a sound store");
        self.backup = Some(Backup { path, floors, taken_at: WallTime(clocks.wall), _folder: folder });
    }

    /// Puts the backup in the place of the store, once. The store that was there tells what it handed out, unless it is
    /// lost.
    pub fn put_back(&mut self, clocks: Shown, is_lost: bool) -> Fleet {
        let backup = self.backup.as_ref().expect("a backup was taken");
        let (path, known, since) = (backup.path.clone(), backup.floors.clone(), backup.taken_at);
        // The store went on from the backup, which is put back once: it lacks no event of it.
        let told =
            if is_lost { Told::Nothing } else { Told::by(floors::read(self).expect("a sound store"), 0) };
        let floors = Floors::after(known, since, told, WallTime(clocks.wall));
        self.path = Some(path);
        self.reconnect();
        let driver: &mut dyn Driver = self;
        restore(driver, &clocks, &floors).expect("the next epoch begins")
    }

    /// Whether there is something to put back.
    #[must_use]
    pub fn has_backup(&self) -> bool {
        self.backup.is_some()
    }

    /// Sets what the next batch meets.
    pub fn meet(&mut self, plan: Plan) {
        (self.plan, self.calls, self.bit) = (plan, 0, false);
    }

    /// Nothing goes wrong from here on.
    pub fn be_sound(&mut self) {
        self.plan = Plan::Sound;
    }

    /// Whether the last plan has come true.
    #[must_use]
    pub fn has_bitten(&self) -> bool {
        self.bit
    }

    fn connection(&mut self) -> &mut Sqlite {
        self.connection.as_mut().expect("there is a connection except while it is replaced")
    }

    fn step(&mut self) -> Result<(), StoreError> {
        self.calls += 1;
        match self.plan {
            Plan::Fail { call, class } if call == self.calls => {
                self.bit = true;
                Err(StoreError::new(class, "as the storm demands"))
            }
            Plan::Sound | Plan::Fail { .. } | Plan::Unanswered { .. } => Ok(()),
        }
    }
}

impl Driver for Store {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.connection().begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.connection().begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.connection().begin_read()
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.step()?;
        self.connection().execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.step()?;
        self.connection().query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.step()?;
        let Plan::Unanswered { happens, class } = self.plan else { return self.connection().commit() };
        if happens {
            self.connection().commit()?;
        }
        self.bit = true;
        Err(StoreError::new(class, "as the storm demands"))
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.connection().rollback()
    }

    fn schema(&mut self) -> Result<u32, StoreError> {
        self.connection().schema()
    }

    fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
        self.connection().migrate(number, sql)
    }

    fn version(&mut self) -> Result<String, StoreError> {
        self.connection().version()
    }

    fn full_text(&self) -> &'static FullText {
        &fts5::FULL_TEXT
    }
}
