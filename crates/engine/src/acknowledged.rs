//! What this process has acknowledged, and whether a store that it reaches holds it: a primary that was replaced does not,
//! nor does another incarnation, of which the leases and cursors that this process knows are none.

use tenure_core::model::event::Fleet;
use tenure_core::model::ids::{Epoch, EventNumber};

use crate::store::driver::{Class, StoreError};

/// The fleet that is served, and the last event that was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged<'a> {
    /// The fleet's id.
    pub fleet: &'a str,
    /// Its incarnation.
    pub epoch: Epoch,
    /// The last event.
    pub event: EventNumber,
}

impl<'a> From<&'a Fleet> for Acknowledged<'a> {
    fn from(fleet: &'a Fleet) -> Self {
        Self { fleet: &fleet.id, epoch: fleet.epoch, event: fleet.event }
    }
}

impl Acknowledged<'_> {
    /// Refuses a store that does not hold this.
    pub fn is_held_by(self, found: &Fleet) -> Result<(), StoreError> {
        let refused = |detail: String| Err(StoreError::new(Class::Io, detail));
        if found.id != self.fleet {
            return refused(format!(
                "the database is of the fleet {}, and {} was served",
                found.id, self.fleet
            ));
        }
        if found.epoch != self.epoch {
            return refused(format!(
                "the fleet is in epoch {}, and epoch {} was served: start the server anew",
                found.epoch, self.epoch
            ));
        }
        if found.event < self.event {
            return refused(format!(
                "the database ends at event {}, and {} was committed",
                found.event, self.event
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::model::ids::Digest;
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
    fn only_a_store_that_holds_what_was_acknowledged_is_asked_or_written_to() {
        let last = fleet("a", 2, 40);
        let acknowledged = Acknowledged::from(&last);
        assert_eq!(acknowledged.is_held_by(&fleet("a", 2, 40)), Ok(()));
        assert_eq!(acknowledged.is_held_by(&fleet("a", 2, 41)), Ok(()), "another server went on");
        for (found, told) in [
            (fleet("a", 2, 39), "ends at event 39"),
            (fleet("a", 3, 41), "in epoch 3, and epoch 2"),
            (fleet("a", 1, 41), "in epoch 1, and epoch 2"),
            (fleet("b", 2, 41), "of the fleet b"),
        ] {
            let refused = acknowledged.is_held_by(&found).expect_err(told);
            assert!(refused.detail.contains(told), "{refused}");
            assert_eq!(refused.class, Class::Io, "it is tried again: the right one may come back");
        }
    }
}
