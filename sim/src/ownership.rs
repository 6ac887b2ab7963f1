//! Who owned what, played from the record alone: at most one owner at a time, and generations without a gap.

use std::collections::BTreeMap;

use tenure_core::model::event::{Event, EventKind};
use tenure_core::model::ids::{AttemptId, SessionId, TaskId};

/// A claim as the record has it.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Task and generation.
    pub attempt: AttemptId,
    /// Whose it is.
    pub session: SessionId,
    /// The event that ended it; absent while it lasts.
    pub ended: Option<EventKind>,
}

/// Plays all events. Panics with the first that breaks a rule: numbers have gaps, a task gets a second owner, a
/// generation is skipped or repeated, or somebody ends what is not theirs.
#[must_use]
pub fn play(events: &[Event]) -> BTreeMap<TaskId, Vec<Claim>> {
    let mut claims: BTreeMap<TaskId, Vec<Claim>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.number.0, index as u64 + 1, "event numbers have no gaps");
        let before = index.checked_sub(1).map(|index| &events[index]);
        assert!(
            before.is_none_or(|before| before.fleet_time <= event.fleet_time),
            "time ran back: {event:?}"
        );
        let Some(attempt) = &event.attempt else { continue };
        let of_task = claims.entry(attempt.task.clone()).or_default();
        match event.kind {
            EventKind::TaskClaimed => {
                assert!(of_task.last().is_none_or(|last| last.ended.is_some()), "a second owner: {event:?}");
                assert_eq!(attempt.generation.0, of_task.len() as u64 + 1, "a generation is off: {event:?}");
                let session = event.actor.session.clone().expect("a session claims");
                of_task.push(Claim { attempt: attempt.clone(), session, ended: None });
            }
            EventKind::LeaseExpired
            | EventKind::TaskReleased
            | EventKind::TaskHandedOff
            | EventKind::TaskClosed
            | EventKind::TaskCancelled => {
                let last = of_task.last_mut().expect("what ends was claimed");
                assert_eq!((&last.attempt, last.ended), (attempt, None), "ended out of turn: {event:?}");
                let is_own = event.actor.session.as_ref() == Some(&last.session);
                assert!(is_own || event.kind == EventKind::LeaseExpired, "ended by another: {event:?}");
                last.ended = Some(event.kind);
            }
            _ => {}
        }
    }
    claims
}
