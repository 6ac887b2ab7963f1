//! The store as a batch sees it: a lock, rows on demand, and one commit.

use tenure_core::model::event::Fleet;
use tenure_core::model::ids::EventNumber;
use tenure_core::model::time::Now;
use tenure_core::working_set::{Need, News, WorkingSet};

use super::driver::{Driver, StoreError};
use super::{fleet, load};

/// What a batch needs of a store. Every SQL driver is one; proofs bring one that can be stepped.
pub trait Store {
    /// Begins a transaction that holds the fleet's writer lock from here on.
    fn begin_write(&mut self) -> Result<(), StoreError>;

    /// Lets other processes that serve the same store know what this transaction changes after the event `since`, once it
    /// is durable.
    fn announce(&mut self, _news: &News, _since: EventNumber) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes the transaction durable.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Drops the transaction, if there is one.
    fn rollback(&mut self) -> Result<(), StoreError>;

    /// The fleet row as the last commit left it.
    fn fleet(&mut self) -> Result<Fleet, StoreError>;

    /// Whether a question costs more than its answer, so that several are better asked at once.
    fn is_far(&self) -> bool {
        false
    }

    /// Says what will be needed beside the fleet row, so that all of it is asked for at once. `now` is what the time will
    /// be, nearly.
    fn foresee(&mut self, _needs: Vec<Need>, _now: Now) -> Result<(), StoreError> {
        Ok(())
    }

    /// Loads everything that is needed. What the batch knows already is left as it is.
    fn load(&mut self, set: &mut WorkingSet, needs: Vec<Need>, now: Now) -> Result<(), StoreError>;

    /// Loads what a walk through the graph will ask for after these.
    fn load_ahead(&mut self, set: &mut WorkingSet, needs: &[Need], now: Now) -> Result<(), StoreError>;

    /// Writes everything that a batch changed.
    fn flush(&mut self, set: &WorkingSet) -> Result<(), StoreError>;
}

impl Store for dyn Driver + '_ {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        Driver::begin_write(self)
    }

    fn announce(&mut self, news: &News, since: EventNumber) -> Result<(), StoreError> {
        Driver::announce(self, news, since)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        Driver::commit(self)
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        Driver::rollback(self)
    }

    fn fleet(&mut self) -> Result<Fleet, StoreError> {
        fleet::existing(self)
    }

    fn is_far(&self) -> bool {
        Driver::is_far(self)
    }

    fn foresee(&mut self, needs: Vec<Need>, now: Now) -> Result<(), StoreError> {
        fleet::foresee(self)?;
        load::foresee(self, needs, now)
    }

    fn load(&mut self, set: &mut WorkingSet, needs: Vec<Need>, now: Now) -> Result<(), StoreError> {
        load::load(self, set, needs, now)
    }

    fn load_ahead(&mut self, set: &mut WorkingSet, needs: &[Need], now: Now) -> Result<(), StoreError> {
        load::load_ahead(self, set, needs, now)
    }

    fn flush(&mut self, set: &WorkingSet) -> Result<(), StoreError> {
        super::flush(self, set)
    }
}
