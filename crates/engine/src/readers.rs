//! A few connections for questions. Each answers one question at a time, from one committed state.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::store::driver::{Driver, StoreError};

/// Most connections for questions. More than the machine has cores only make each other slower.
const READERS_MAX: usize = 4;

/// Opens a connection for questions.
pub type Connect = Box<dyn Fn() -> Result<Box<dyn Driver>, StoreError> + Send + Sync>;

/// The connections, opened as they are needed.
pub struct Readers {
    connect: Connect,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Box<dyn Driver>>,
    open: usize,
}

impl Readers {
    /// A pool that opens its connections by `connect`.
    #[must_use]
    pub fn new(connect: Connect) -> Self {
        Self { connect, pool: Mutex::default(), returned: Condvar::new() }
    }

    /// Asks on a connection of its own; waits while all are busy. A connection that failed is not used again.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&mut dyn Driver) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut lent = Lent { readers: self, driver: Some(self.take()?) };
        let answer = match &mut lent.driver {
            Some(driver) => question(&mut **driver),
            None => unreachable!("a connection was just lent"),
        };
        if answer.is_err() {
            lent.driver = None;
        }
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<Box<dyn Driver>, StoreError> {
        let mut pool = self.lock();
        loop {
            if let Some(driver) = pool.idle.pop() {
                return Ok(driver);
            }
            if pool.open < READERS_MAX {
                pool.open += 1;
                break;
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        drop(pool);
        (self.connect)().inspect_err(|_| self.give_back(None))
    }

    fn give_back(&self, driver: Option<Box<dyn Driver>>) {
        let mut pool = self.lock();
        match driver {
            Some(driver) => pool.idle.push(driver),
            None => pool.open -= 1,
        }
        drop(pool);
        self.returned.notify_one();
    }
}

/// A connection in use; it comes back even when the question panics.
struct Lent<'a> {
    readers: &'a Readers,
    driver: Option<Box<dyn Driver>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let driver = if std::thread::panicking() { None } else { self.driver.take() };
        self.readers.give_back(driver);
    }
}
