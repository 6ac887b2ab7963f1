//! Every call to the database fails once. A story that runs on every store also runs on one where each thing it does
//! is done with its first call failing, then with its second one, and so on until it passes untouched; and on one
//! where every commit happens and is not confirmed. What failed left nothing behind; what happened is whole; and
//! whoever asks again with the same operation id gets the one answer, by which the story goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use tenure_engine::store::driver::{Class, Driver, Each, StoreError, Value};
use tenure_engine::store::search::FullText;
use tenure_engine::store::sqlite::Sqlite;

use crate::world::World;

/// Where a failure strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// Any call, before it does anything.
    Before,
    /// A commit, after it has happened.
    AfterCommit,
}

/// What a test and its driver share: when the next failure comes, and how many came.
pub struct Faults {
    pub strike: Strike,
    countdown: AtomicI64,
    struck: AtomicU64,
}

impl Faults {
    pub fn new(strike: Strike) -> Arc<Self> {
        Arc::new(Self { strike, countdown: 0.into(), struck: 0.into() })
    }

    /// How many calls have failed.
    pub fn struck(&self) -> u64 {
        self.struck.load(Relaxed)
    }

    /// Lets the call with this number fail, from 1.
    fn arm(&self, call: i64) {
        self.countdown.store(call, Relaxed);
    }

    /// Lets nothing fail any more, and says whether nothing did.
    fn was_untouched(&self) -> bool {
        self.countdown.swap(0, Relaxed) > 0
    }

    fn call(&self) -> Result<(), StoreError> {
        if self.countdown.fetch_sub(1, Relaxed) == 1 {
            self.struck.fetch_add(1, Relaxed);
            return Err(StoreError::new(Class::Io, "as the test demands"));
        }
        Ok(())
    }

    fn before(&self) -> Result<(), StoreError> {
        match self.strike {
            Strike::Before => self.call(),
            Strike::AfterCommit => Ok(()),
        }
    }
}

/// A driver whose calls fail when its faults say so.
pub struct Failing {
    inner: Sqlite,
    faults: Arc<Faults>,
}

impl Failing {
    pub fn new(faults: &Arc<Faults>) -> Self {
        Self { inner: Sqlite::in_memory().expect("a database"), faults: faults.clone() }
    }
}

impl Driver for Failing {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.faults.before()?;
        self.inner.begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.faults.before()?;
        self.inner.begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.faults.before()?;
        self.inner.begin_read()
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.faults.before()?;
        self.inner.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.faults.before()?;
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.faults.before()?;
        self.inner.commit()?;
        match self.faults.strike {
            Strike::Before => Ok(()),
            Strike::AfterCommit => self.faults.call(),
        }
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        // A connection that fails to roll back is given up, and the database drops the transaction with it.
        self.inner.rollback()?;
        self.faults.before()
    }

    fn schema(&mut self) -> Result<u32, StoreError> {
        self.faults.before()?;
        self.inner.schema()
    }

    fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
        self.faults.before()?;
        self.inner.migrate(number, sql)
    }

    fn version(&mut self) -> Result<String, StoreError> {
        self.inner.version()
    }

    fn full_text(&self) -> &'static FullText {
        self.inner.full_text()
    }
}

/// Does something with a store, with every call failing in turn, until it passes untouched.
pub fn with_every_call_failing<T>(
    driver: &mut dyn Driver,
    faults: &Faults,
    mut act: impl FnMut(&mut dyn Driver) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let before = contents(driver);
    for call in 1.. {
        faults.arm(call);
        let outcome = act(driver);
        if faults.was_untouched() {
            return outcome;
        }
        assert_eq!(
            outcome.err().map(|error| error.class),
            Some(Class::Io),
            "call {call} failed and nobody heard"
        );
        driver.rollback().expect("what is left open is dropped");
        assert_eq!(contents(driver), before, "call {call} failed and something was stored");
    }
    unreachable!("nothing takes calls without end")
}

/// Does something twice: the first commit happens and is not confirmed. The repeat must change nothing.
pub fn with_a_lost_commit<T>(
    driver: &mut dyn Driver,
    faults: &Faults,
    mut act: impl FnMut(&mut dyn Driver) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    faults.arm(1);
    let outcome = act(driver);
    if faults.was_untouched() {
        return outcome;
    }
    assert!(outcome.is_err(), "a commit was not confirmed and nobody heard");
    let happened = contents(driver);
    let again = act(driver);
    assert_eq!(contents(driver), happened, "a repeat changed what had happened");
    again
}

/// Everything that is stored, row by row.
fn contents(driver: &mut dyn Driver) -> Vec<String> {
    let mut all = vec![format!("schema {}", driver.schema().expect("it is known"))];
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    for table in texts(driver, tables) {
        let columns =
            texts(driver, &format!("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('{table}')"));
        let row = columns.join(" || ' ' || ");
        let rows = format!("SELECT '{table} ' || {row} FROM \"{table}\" ORDER BY 1");
        all.extend(texts(driver, &rows));
    }
    all
}

fn texts(driver: &mut dyn Driver, sql: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let read = driver.query(sql, &[], &mut |row| {
        texts.push(row.text(0)?.expect("a text").to_owned());
        Ok(())
    });
    read.expect(sql);
    texts
}

fn failing(strike: Strike) -> (World, Arc<Faults>) {
    let faults = Faults::new(strike);
    (World::with_faults(&faults), faults)
}

const SECOND_WRITE: &str = "UPDATE fleet SET wall = wall + 1";

#[test]
#[should_panic(expected = "something was stored")]
fn a_write_in_two_halves_is_found() {
    let (mut world, _) = failing(Strike::Before);
    let halves = |driver: &mut dyn Driver| {
        driver.execute("UPDATE fleet SET time = time + 1", &[])?;
        driver.execute(SECOND_WRITE, &[])
    };
    let _ = world.attempt(halves);
}

#[test]
#[should_panic(expected = "nobody heard")]
fn an_error_that_is_swallowed_is_found() {
    let (mut world, _) = failing(Strike::Before);
    let _ = world.attempt(|driver| Ok(driver.execute(SECOND_WRITE, &[]).is_ok()));
}

#[test]
#[should_panic(expected = "a repeat changed what had happened")]
fn a_repeat_that_does_it_again_is_found() {
    let (mut world, faults) = failing(Strike::AfterCommit);
    let twice = |driver: &mut dyn Driver| {
        driver.begin_write()?;
        driver.execute(SECOND_WRITE, &[])?;
        driver.commit()
    };
    let _ = with_a_lost_commit(&mut *world.driver, &faults, twice);
}

#[test]
fn every_call_of_a_story_fails_once() {
    let (mut world, faults) = failing(Strike::Before);
    let founding = faults.struck();
    let mut calls = 0;
    let counted = world.attempt(|driver| {
        calls += 1;
        driver.begin_write()?;
        driver.execute(SECOND_WRITE, &[])?;
        driver.commit()
    });
    assert!(counted.is_ok());
    // The first three were begin, the statement and commit; the fourth passed.
    assert_eq!((calls, faults.struck() - founding), (4, 3));
}
