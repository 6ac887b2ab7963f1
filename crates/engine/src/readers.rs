//! A few connections for questions. Each answers one question at a time, from one committed state, which holds all that
//! this process has acknowledged before it was asked.

use std::sync::atomic::{AtomicU64, Ordering::Acquire};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::envelope::Envelope;
use tenure_core::model::event::Fleet;
use tenure_core::model::ids::EventNumber;
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::Code;
use tenure_core::model::time::WallTime;
use tenure_core::operation::catalog::AnyOperation;

use crate::acknowledged::Acknowledged;
use crate::execute::read_within;
use crate::outcome::{Failure, Told};
use crate::store::driver::{Class, Driver, Patience, StoreError};
use crate::store::state::in_one_state;

/// Most connections for questions. More than the machine has cores only make each other slower.
const READERS_MAX: usize = 4;
/// How long a question waits for one of them.
const TURN: Duration = Duration::from_secs(10);

/// Opens a connection for questions.
pub type Connect = Box<dyn Fn() -> Result<Box<dyn Driver>, StoreError> + Send + Sync>;

/// The connections, opened as they are needed.
pub struct Readers {
    connect: Connect,
    /// The fleet row as it was found at the beginning: its id and epoch stay.
    served: Fleet,
    committed: Arc<AtomicU64>,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Box<dyn Driver>>,
    busy: usize,
}

/// Which connection a question gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    /// One that is idle, or another.
    Any,
    /// One that is opened now. Where one has ended, those that are idle have too.
    New,
}

impl Readers {
    /// A pool that opens its connections to the store of this fleet by `connect`. `committed` is the last event that this
    /// process has committed.
    #[must_use]
    pub fn new(connect: Connect, served: Fleet, committed: Arc<AtomicU64>) -> Self {
        Self { connect, served, committed, pool: Mutex::default(), returned: Condvar::new() }
    }

    /// Asks within one committed state, whose fleet row the question is given. It changes nothing, so where the connection
    /// has ended, it is asked once more on a new one.
    pub fn ask<T>(
        &self,
        mut question: impl FnMut(&mut dyn Driver, Fleet) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.attempt(self.lend(Pick::Any)?, &mut question) {
            Err(error) if error.class == Class::Io => self.attempt(self.lend(Pick::New)?, question),
            outcome => outcome,
        }
    }

    /// The same for a question that may take any time and tells somebody what it finds on its way: once it has begun, it is
    /// not asked again.
    pub fn ask_at_length<T>(
        &self,
        question: impl FnOnce(&mut dyn Driver, Fleet) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut question = Some(question);
        let mut once = |lent| {
            let answer = self.attempt(lent, |driver, fleet| {
                let question = question.take().expect("it is asked again only where it was not begun");
                driver.set_patience(Patience::Unbounded);
                let answer = question(driver, fleet);
                driver.set_patience(Patience::Bounded);
                answer
            });
            (answer, question.is_some())
        };
        match once(self.lend(Pick::Any)?) {
            (Err(error), true) if error.class == Class::Io => once(self.lend(Pick::New)?).0,
            (outcome, _) => outcome,
        }
    }

    /// Answers the question of an operation, and tells of which state.
    pub fn answer(
        &self,
        operation: &AnyOperation,
        envelope: &Envelope,
        wall: WallTime,
        durations: Durations,
    ) -> Told {
        let mut behind = None;
        let answered = self.ask(|driver, fleet| {
            let at = Some(fleet.last());
            let said = read_within(driver, fleet, operation, envelope, wall, durations)?;
            let is_behind = said.as_ref().is_err_and(|refusal| refusal.code == Code::Behind);
            let told = Told { outcome: said.map_err(Failure::Refused), at };
            if is_behind && driver.can_be_lost() {
                // Another connection may reach a store that is not, so this one is not kept.
                behind = Some(told);
                return Err(StoreError::new(Class::Other, "the state is behind"));
            }
            Ok(told)
        });
        behind.unwrap_or_else(|| answered.unwrap_or_else(|error| Err(Failure::CannotTell(error)).into()))
    }

    /// Uses a connection outside of any transaction.
    pub fn with_connection<T>(
        &self,
        within: impl FnOnce(&mut dyn Driver) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut lent = self.lend(Pick::Any)?;
        let done = within(lent.driver());
        lent.keep_if(done.is_ok());
        done
    }

    /// Asks on a connection. One that failed is not used again, nor is one whose store lacks what this process had
    /// acknowledged before.
    fn attempt<T>(
        &self,
        mut lent: Lent<'_>,
        question: impl FnOnce(&mut dyn Driver, Fleet) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let event = EventNumber(self.committed.load(Acquire));
        let acknowledged = Acknowledged { event, ..Acknowledged::from(&self.served) };
        let answer = in_one_state(lent.driver(), |driver, fleet| {
            acknowledged.is_held_by(&fleet)?;
            question(driver, fleet)
        });
        lent.keep_if(answer.is_ok());
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for one question; waits while all are busy.
    fn lend(&self, pick: Pick) -> Result<Lent<'_>, StoreError> {
        let all_busy = |pool: &mut Pool| pool.busy == READERS_MAX;
        let waited = self.returned.wait_timeout_while(self.lock(), TURN, all_busy);
        let (mut pool, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(StoreError::new(Class::Busy, "every connection for questions is in use"));
        }
        pool.busy += 1;
        let idle = match pick {
            Pick::Any => pool.idle.pop(),
            Pick::New => {
                pool.idle.clear();
                None
            }
        };
        drop(pool);
        let mut lent = Lent { readers: self, driver: idle };
        if lent.driver.is_none() {
            lent.driver = Some((self.connect)()?);
        }
        Ok(lent)
    }

    fn give_back(&self, driver: Option<Box<dyn Driver>>) {
        let mut pool = self.lock();
        pool.busy -= 1;
        pool.idle.extend(driver);
        drop(pool);
        self.returned.notify_one();
    }
}

/// A connection in use; its place comes back even when the question panics.
struct Lent<'a> {
    readers: &'a Readers,
    driver: Option<Box<dyn Driver>>,
}

impl Lent<'_> {
    fn driver(&mut self) -> &mut dyn Driver {
        &mut **self.driver.as_mut().expect("it is given up only where it is not used any more")
    }

    /// Gives the connection up unless it is sound.
    fn keep_if(mut self, is_sound: bool) {
        if !is_sound {
            self.driver = None;
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let driver = if std::thread::panicking() { None } else { self.driver.take() };
        self.readers.give_back(driver);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::Ordering::{AcqRel, Release};

    use tenure_core::model::ids::{Epoch, EventCursor};
    use tenure_core::operation::record::Statistics;

    use super::*;
    use crate::clock::MachineClocks;
    use crate::execute::prepare;
    use crate::store::driver::{Each, Value};
    use crate::store::search::FullText;
    use crate::store::sqlite::Sqlite;

    /// What a test says of its connections, and sees of them.
    #[derive(Default)]
    struct Wires {
        /// The last event in the store of each that will be opened; nothing where none can be.
        next: Mutex<Vec<Option<i64>>>,
        opened: AtomicU64,
        /// How often a fleet row was read.
        looks: AtomicU64,
        /// Whether those that are open have ended.
        have_ended: AtomicU64,
        patience: Mutex<Vec<Patience>>,
    }

    struct Wire {
        inner: Sqlite,
        number: u64,
        wires: Arc<Wires>,
    }

    impl Wire {
        fn stands(&self) -> Result<(), StoreError> {
            let has_ended = self.number <= self.wires.have_ended.load(Acquire);
            if has_ended { Err(StoreError::new(Class::Io, "it has ended")) } else { Ok(()) }
        }
    }

    impl Driver for Wire {
        fn begin_write(&mut self) -> Result<(), StoreError> {
            self.inner.begin_write()
        }

        fn begin_read(&mut self) -> Result<(), StoreError> {
            self.inner.begin_read()
        }

        fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
            self.inner.execute(sql, values)
        }

        fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
            self.stands()?;
            if sql.contains("FROM fleet") {
                self.wires.looks.fetch_add(1, AcqRel);
            }
            self.inner.query(sql, values, each)
        }

        fn commit(&mut self) -> Result<(), StoreError> {
            self.inner.commit()
        }

        fn rollback(&mut self) -> Result<(), StoreError> {
            self.inner.rollback()
        }

        fn can_be_lost(&self) -> bool {
            true
        }

        fn set_patience(&mut self, patience: Patience) {
            self.wires.patience.lock().expect("no holder panics").push(patience);
        }

        fn full_text(&self) -> &'static FullText {
            self.inner.full_text()
        }

        fn schema(&mut self) -> Result<u32, StoreError> {
            self.inner.schema()
        }

        fn begin_migration(&mut self) -> Result<(), StoreError> {
            self.inner.begin_migration()
        }

        fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
            self.inner.migrate(number, sql)
        }

        fn version(&mut self) -> Result<String, StoreError> {
            self.inner.version()
        }
    }

    fn store(event: i64) -> (Sqlite, Fleet) {
        let mut store = Sqlite::in_memory().expect("a store");
        prepare(&mut store, &MachineClocks, || Ok("f".to_owned())).expect("a fleet");
        store.execute("UPDATE fleet SET event = $1", &[Value::Integer(event)]).expect("moved");
        let fleet = crate::store::fleet::existing(&mut store).expect("a fleet");
        (store, fleet)
    }

    /// A pool of a process that has acknowledged this event, whose next connections are to stores that end so.
    fn readers(acknowledged: u64, next: &[Option<i64>]) -> (Readers, Arc<Wires>) {
        let wires = Arc::<Wires>::default();
        wires.next.lock().expect("no holder panics").extend(next.iter().rev());
        let opening = wires.clone();
        let connect = move || -> Result<Box<dyn Driver>, StoreError> {
            let next = opening.next.lock().expect("no holder panics").pop().flatten();
            let event = next.ok_or_else(|| StoreError::new(Class::Io, "nobody answers"))?;
            let number = opening.opened.fetch_add(1, AcqRel) + 1;
            Ok(Box::new(Wire { inner: store(event).0, number, wires: opening.clone() }))
        };
        let committed = Arc::new(AtomicU64::new(acknowledged));
        (Readers::new(Box::new(connect), store(0).1, committed), wires)
    }

    impl Readers {
        fn open(&self) -> usize {
            let pool = self.lock();
            pool.busy + pool.idle.len()
        }
    }

    fn last_event(readers: &Readers) -> Result<u64, String> {
        readers.ask(|_, fleet| Ok(fleet.event.0)).map_err(|error| error.detail)
    }

    #[test]
    fn whether_a_store_goes_on_is_seen_in_the_row_that_the_question_reads() {
        let (readers, wires) = readers(7, &[Some(7)]);
        assert_eq!(last_event(&readers), Ok(7));
        assert_eq!(last_event(&readers), Ok(7));
        assert_eq!((wires.looks.load(Acquire), wires.opened.load(Acquire)), (2, 1));
    }

    #[test]
    fn a_store_that_lacks_what_was_acknowledged_answers_nothing_and_makes_room_for_another() {
        let (readers, wires) = readers(7, &[Some(7), Some(6), Some(6), Some(9)]);
        assert_eq!(last_event(&readers), Ok(7));
        readers.committed.store(8, Release);
        let refused = last_event(&readers).expect_err("neither has it");
        assert!(refused.contains("ends at event 6, and 8 was committed"), "{refused}");
        assert_eq!(last_event(&readers), Ok(9), "the first again lacks it, and is not asked a third time");
        assert_eq!((wires.opened.load(Acquire), readers.open()), (4, 1));
    }

    #[test]
    fn a_question_on_a_connection_that_has_ended_is_asked_once_more_and_not_for_ever() {
        let (readers, wires) = readers(1, &[Some(1), Some(1), None]);
        assert_eq!(last_event(&readers), Ok(1));
        wires.have_ended.store(1, Release);
        assert_eq!(last_event(&readers), Ok(1), "nobody hears of it");
        wires.have_ended.store(2, Release);
        assert_eq!(last_event(&readers), Err("nobody answers".to_owned()));
        assert_eq!(readers.open(), 0, "a place comes back where no connection is made");
        let (readers, wires) = self::readers(1, &[Some(1), Some(1), Some(1)]);
        wires.have_ended.store(9, Release);
        assert_eq!(last_event(&readers), Err("it has ended".to_owned()));
        assert_eq!(wires.opened.load(Acquire), 2, "once more is enough");
    }

    #[test]
    fn where_one_connection_has_ended_those_that_are_idle_are_not_tried() {
        let (readers, wires) = readers(1, &[Some(1); 4]);
        readers
            .ask(|_, _| {
                readers.ask(|_, _| last_event(&readers).map_err(|told| StoreError::new(Class::Other, told)))
            })
            .expect("three at once");
        assert_eq!(wires.opened.load(Acquire), 3);
        wires.have_ended.store(3, Release);
        assert_eq!(last_event(&readers), Ok(1));
        assert_eq!((wires.opened.load(Acquire), readers.open()), (4, 1));
    }

    #[test]
    fn a_long_question_has_its_time_and_is_begun_once() {
        let (readers, wires) = readers(1, &[Some(1), Some(1)]);
        assert_eq!(last_event(&readers), Ok(1));
        wires.have_ended.store(1, Release);
        let mut begun = 0;
        let cut_off = |_: &mut dyn Driver, _| {
            begun += 1;
            Err::<(), _>(StoreError::new(Class::Io, "cut off"))
        };
        let told = readers.ask_at_length(cut_off).expect_err("it was cut off");
        assert_eq!((told.detail.as_str(), begun), ("cut off", 1), "asked on a new connection, and only once");
        let patience = wires.patience.lock().expect("no holder panics").clone();
        assert_eq!(patience, [Patience::Unbounded, Patience::Bounded]);
    }

    #[test]
    fn a_connection_to_an_older_state_answers_no_question_that_wants_a_newer_one_and_makes_room() {
        let (readers, wires) = readers(1, &[Some(5), Some(7)]);
        let question = Statistics::default().into();
        let asked = |at_least: Option<u64>| {
            let wanted = |event| EventCursor { epoch: Epoch(1), number: EventNumber(event) };
            let envelope = Envelope { at_least: at_least.map(wanted), ..Envelope::default() };
            let told = readers.answer(&question, &envelope, WallTime(0), Durations::default());
            let refused = match told.outcome {
                Ok(_) => None,
                Err(Failure::Refused(refusal)) => Some(refusal.code),
                Err(Failure::CannotTell(error)) => panic!("{error}"),
            };
            (refused, told.at.expect("a state was looked at").to_string(), wires.opened.load(Acquire))
        };
        assert_eq!(asked(None), (None, "1-5".to_owned(), 1), "nobody wants more");
        assert_eq!(asked(Some(5)), (None, "1-5".to_owned(), 1));
        assert_eq!(asked(Some(7)), (Some(Code::Behind), "1-5".to_owned(), 1));
        assert_eq!(asked(Some(7)), (None, "1-7".to_owned(), 2));
        assert_eq!(wires.looks.load(Acquire), 4, "each reads the fleet's row once");
    }

    #[test]
    fn a_question_that_panics_gives_its_place_back() {
        let (readers, _) = readers(1, &[Some(1), Some(1)]);
        let panicked = catch_unwind(AssertUnwindSafe(|| readers.ask::<()>(|_, _| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert_eq!(readers.open(), 0);
        assert_eq!(last_event(&readers), Ok(1));
    }
}
