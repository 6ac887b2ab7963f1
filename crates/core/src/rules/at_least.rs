//! Reading what one has written, also through another server: a question may name an event that the state which answers
//! it must have.

use crate::model::event::Fleet;
use crate::model::ids::EventCursor;
use crate::model::refusal::{Code, Refusal};

/// Refuses a state that lacks an event, or in which its number means another one.
pub fn check(fleet: &Fleet, wanted: EventCursor) -> Result<(), Refusal> {
    if wanted.epoch != fleet.epoch {
        let refusal = Refusal::restored("the event that the question wants", wanted.epoch.0, fleet.epoch.0);
        let next = "ask without it for the present state, and compare that with what you know";
        return Err(told(refusal.next(next), fleet, wanted));
    }
    if wanted.number > fleet.event {
        let detail = format!(
            "the state that this server reaches ends at event {}, and {wanted} is wanted",
            fleet.last()
        );
        return Err(told(Refusal::new(Code::Behind, detail), fleet, wanted));
    }
    Ok(())
}

fn told(refusal: Refusal, fleet: &Fleet, wanted: EventCursor) -> Refusal {
    refusal.fact("event", fleet.last().to_string()).fact("at_least", wanted.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::{Digest, Epoch, EventNumber};
    use crate::model::time::{FleetTime, WallTime};

    fn at(epoch: u64, event: u64) -> EventCursor {
        EventCursor { epoch: Epoch(epoch), number: EventNumber(event) }
    }

    fn fleet(EventCursor { epoch, number }: EventCursor) -> Fleet {
        let (time, wall, head) = (FleetTime(0), WallTime(0), Digest([0; 32]));
        Fleet { id: "f".to_owned(), epoch, time, wall, event: number, head, floor: 0 }
    }

    #[test]
    fn a_state_that_has_the_event_answers_and_another_tells_both_numbers() {
        assert_eq!(check(&fleet(at(2, 40)), at(2, 40)), Ok(()));
        assert_eq!(check(&fleet(at(2, 40)), at(2, 0)), Ok(()));
        for (wanted, code) in [
            (at(2, 41), Code::Behind),
            (at(2, i64::MAX as u64), Code::Behind),
            (at(1, 3), Code::EpochChanged),
            (at(3, 3), Code::EpochChanged),
        ] {
            let refusal = check(&fleet(at(2, 40)), wanted).expect_err("it lacks it");
            assert_eq!(refusal.code, code, "{wanted}");
            assert_eq!(refusal.facts["event"], "2-40");
            assert_eq!(refusal.facts["at_least"], wanted.to_string());
            assert!(!refusal.steps().is_empty());
        }
        let behind = check(&fleet(at(2, 40)), at(2, 41)).expect_err("it lacks it");
        assert!(behind.detail.contains("2-40") && behind.detail.contains("2-41"), "{}", behind.detail);
        assert!(behind.code.retryable());
    }
}
