//! The store under a storm: the engine's own SQL on a real database, with calls that fail as they are told to.

use tenure_core::model::event::Fleet;
use tenure_core::model::ids::EventNumber;
use tenure_core::model::time::WallTime;
use tenure_core::rules::restore::{Floors, Told};
use tenure_core::working_set::News;
use tenure_engine::restore::restore;
use tenure_engine::store::driver::{Class, Driver, Each, StoreError, Value};
use tenure_engine::store::floors;
use tenure_engine::store::search::FullText;

use super::ground::{Files, Ground};
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

/// What is known of a copy of the store as it was at some moment.
struct Backup {
    floors: Floors,
    taken_at: WallTime,
}

const CONNECTED: &str = "there is a connection except while it is replaced";

/// A store that outlives its connections.
pub struct Store {
    // Ends before what it is a connection to.
    connection: Option<Box<dyn Driver>>,
    ground: Box<dyn Ground>,
    plan: Plan,
    calls: u32,
    bit: bool,
    backup: Option<Backup>,
}

impl Store {
    /// A new store in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::on(Box::new(Files::default()))
    }

    /// The store that stands on some ground.
    pub(super) fn on(mut ground: Box<dyn Ground>) -> Self {
        let connection = Some(ground.reconnect(None));
        Self { connection, ground, plan: Plan::Sound, calls: 0, bit: false, backup: None }
    }

    /// Ends the connection, with whatever was not committed, and opens another.
    pub fn reconnect(&mut self) {
        let last = self.connection.take();
        self.connection = Some(self.ground.reconnect(last));
    }

    /// Takes a backup.
    pub fn back_up(&mut self, clocks: Shown) {
        let floors = floors::read(self).expect("a sound store");
        let connection = self.connection.take().expect(CONNECTED);
        self.connection = Some(self.ground.keep(connection));
        self.backup = Some(Backup { floors, taken_at: WallTime(clocks.wall) });
    }

    /// Puts the backup in the place of the store, once. The store that was there tells what it handed out, unless it is
    /// lost.
    pub fn put_back(&mut self, clocks: Shown, is_lost: bool) -> Fleet {
        let backup = self.backup.as_ref().expect("a backup was taken");
        let (known, since) = (backup.floors.clone(), backup.taken_at);
        // The store went on from the backup, which is put back once: it lacks no event of it.
        let told =
            if is_lost { Told::Nothing } else { Told::by(floors::read(self).expect("a sound store"), 0) };
        let floors = Floors::after(known, since, told, WallTime(clocks.wall));
        self.ground.put_back();
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

    fn connection(&mut self) -> &mut dyn Driver {
        &mut **self.connection.as_mut().expect(CONNECTED)
    }

    fn connected(&self) -> &dyn Driver {
        &**self.connection.as_ref().expect(CONNECTED)
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

    fn is_far(&self) -> bool {
        self.connected().is_far()
    }

    fn foresee(&mut self, sql: &str, values: &[Value<'_>]) -> Result<(), StoreError> {
        self.step()?;
        self.connection().foresee(sql, values)
    }

    fn write(&mut self, sql: &str, values: &[Value<'_>], rows: Option<u64>) -> Result<(), StoreError> {
        self.step()?;
        self.connection().write(sql, values, rows)
    }

    fn announce(&mut self, news: &News, since: EventNumber) -> Result<(), StoreError> {
        self.connection().announce(news, since)
    }

    fn moves_what_an_update_mentions(&self) -> bool {
        self.connected().moves_what_an_update_mentions()
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
        self.connected().full_text()
    }
}
