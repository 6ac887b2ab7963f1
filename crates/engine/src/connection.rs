//! The writer's connection: opened anew after it was lost, and only to a store that goes on from where this process knows
//! it.

use tenure_core::model::event::Fleet;

use crate::store::driver::{Class, Driver, StoreError};
use crate::store::fleet;

/// Opens a connection for writing; called again after one was lost.
pub(crate) type Connect = Box<dyn Fn() -> Result<Box<dyn Driver>, StoreError> + Send>;

/// The connection, while it stands.
pub(crate) struct Connection {
    present: Option<Box<dyn Driver>>,
    connect: Connect,
    can_be_lost: bool,
}

impl Connection {
    /// A connection that stands; `connect` opens the next one.
    pub fn new(driver: Box<dyn Driver>, connect: Connect) -> Self {
        Self { can_be_lost: driver.can_be_lost(), present: Some(driver), connect }
    }

    /// Whether it may end while the store goes on elsewhere.
    pub fn can_be_lost(&self) -> bool {
        self.can_be_lost
    }

    /// The connection, if it stands.
    pub fn present(&mut self) -> Option<&mut (dyn Driver + 'static)> {
        self.present.as_deref_mut()
    }

    /// The connection, opened anew if it was lost. `last` is the fleet row as this process committed it last.
    pub fn open(&mut self, last: &Fleet) -> Result<&mut (dyn Driver + 'static), StoreError> {
        let driver = match self.present.take() {
            Some(driver) => driver,
            None => self.again(last)?,
        };
        Ok(&mut **self.present.insert(driver))
    }

    /// Gives the connection up.
    pub fn give_up(&mut self) {
        self.present = None;
    }

    fn again(&self, last: &Fleet) -> Result<Box<dyn Driver>, StoreError> {
        let mut driver = (self.connect)()?;
        if self.can_be_lost {
            goes_on(&fleet::existing(&mut *driver)?, last)?;
        }
        Ok(driver)
    }
}

/// Refuses a store that lacks what was acknowledged, or is another incarnation: a primary that was replaced, a restored
/// copy. What this process knows of leases and cursors is of the other one.
fn goes_on(found: &Fleet, last: &Fleet) -> Result<(), StoreError> {
    let refused = |detail: String| Err(StoreError::new(Class::Io, detail));
    if found.id != last.id {
        return refused(format!("the database is of the fleet {}, and {} was served", found.id, last.id));
    }
    if found.epoch != last.epoch {
        return refused(format!(
            "the fleet is in epoch {}, and epoch {} was served: start the server anew",
            found.epoch, last.epoch
        ));
    }
    if found.event < last.event {
        return refused(format!(
            "the database ends at event {}, and {} was committed",
            found.event, last.event
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tenure_core::model::ids::{Digest, Epoch, EventNumber};
    use tenure_core::model::time::{FleetTime, WallTime};

    use super::*;

    fn fleet(id: &str, epoch: u64, event: u64) -> Fleet {
        Fleet {
            id: id.to_owned(),
            epoch: Epoch(epoch),
            time: FleetTime(0),
            wall: WallTime(0),
            event: EventNumber(event),
            head: Digest([0; 32]),
            floor: 0,
        }
    }

    #[test]
    fn only_a_store_that_holds_what_was_acknowledged_is_written_to_again() {
        let last = fleet("a", 2, 40);
        assert_eq!(goes_on(&fleet("a", 2, 40), &last), Ok(()));
        assert_eq!(goes_on(&fleet("a", 2, 41), &last), Ok(()), "another server went on");
        for (found, told) in [
            (fleet("a", 2, 39), "ends at event 39"),
            (fleet("a", 3, 41), "in epoch 3, and epoch 2"),
            (fleet("b", 2, 41), "of the fleet b"),
        ] {
            let refused = goes_on(&found, &last).expect_err(told);
            assert!(refused.detail.contains(told), "{refused}");
            assert_eq!(refused.class, Class::Io, "it is tried again: the right one may come back");
        }
    }
}
