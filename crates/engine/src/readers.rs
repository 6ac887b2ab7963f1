//! A few connections for questions. Each answers one question at a time, from one committed state, which holds all that
//! this process has acknowledged before it was asked.

use std::sync::atomic::{AtomicU64, Ordering::Acquire};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::store::driver::{Class, Driver, StoreError};
use crate::store::fleet;

/// Most connections for questions. More than the machine has cores only make each other slower.
const READERS_MAX: usize = 4;

/// Opens a connection for questions.
pub type Connect = Box<dyn Fn() -> Result<Box<dyn Driver>, StoreError> + Send + Sync>;

/// The connections, opened as they are needed.
pub struct Readers {
    connect: Connect,
    committed: Arc<AtomicU64>,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Reader>,
    open: usize,
}

/// A connection, and the last event that its store has shown.
struct Reader {
    driver: Box<dyn Driver>,
    shown: u64,
}

impl Readers {
    /// A pool that opens its connections by `connect`. `committed` is the last event that this process has committed.
    #[must_use]
    pub fn new(connect: Connect, committed: Arc<AtomicU64>) -> Self {
        Self { connect, committed, pool: Mutex::default(), returned: Condvar::new() }
    }

    /// Asks on a connection of its own; waits while all are busy. A connection that failed is not used again.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&mut dyn Driver) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut lent = self.lend()?;
        let answer = question(&mut *lent.reader().driver);
        if answer.is_err() {
            lent.reader = None;
        }
        answer
    }

    /// A connection whose store goes on from what this process has acknowledged. One that was used before and does not, or
    /// that has ended, makes room for a new one.
    fn lend(&self) -> Result<Lent<'_>, StoreError> {
        let committed = self.committed.load(Acquire);
        loop {
            let (reader, is_new) = self.take()?;
            let mut lent = Lent { readers: self, reader: Some(reader) };
            match goes_on(lent.reader(), committed) {
                Ok(()) => return Ok(lent),
                Err(error) => {
                    lent.reader = None;
                    if is_new {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection, and whether it is a new one.
    fn take(&self) -> Result<(Reader, bool), StoreError> {
        let mut pool = self.lock();
        loop {
            if let Some(reader) = pool.idle.pop() {
                return Ok((reader, false));
            }
            if pool.open < READERS_MAX {
                pool.open += 1;
                break;
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        drop(pool);
        let driver = (self.connect)().inspect_err(|_| self.give_back(None))?;
        Ok((Reader { driver, shown: 0 }, true))
    }

    fn give_back(&self, reader: Option<Reader>) {
        let mut pool = self.lock();
        match reader {
            Some(reader) => pool.idle.push(reader),
            None => pool.open -= 1,
        }
        drop(pool);
        self.returned.notify_one();
    }
}

/// Refuses a store that lacks what this process has acknowledged: a primary that was replaced. A store that nobody can
/// replace while it is open is not asked.
fn goes_on(reader: &mut Reader, committed: u64) -> Result<(), StoreError> {
    if reader.shown >= committed || !reader.driver.can_be_lost() {
        return Ok(());
    }
    reader.shown = fleet::existing(&mut *reader.driver)?.event.0;
    if reader.shown < committed {
        let detail = format!("the database ends at event {}, and {committed} was committed", reader.shown);
        return Err(StoreError::new(Class::Io, detail));
    }
    Ok(())
}

/// A connection in use; it comes back even when the question panics.
struct Lent<'a> {
    readers: &'a Readers,
    reader: Option<Reader>,
}

impl Lent<'_> {
    fn reader(&mut self) -> &mut Reader {
        self.reader.as_mut().expect("it is given up only where it is not used any more")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let reader = if std::thread::panicking() { None } else { self.reader.take() };
        self.readers.give_back(reader);
    }
}
