//! What the present store and a backup have in common, and what each has alone. Records are chained, so two that agree
//! at one event agree about everything before it.

use std::collections::BTreeMap;

use tenure_core::model::event::EventKind;
use tenure_core::model::ids::{EventNumber, TaskId};
use tenure_core::model::limits::LOST_EVENTS_SHOWN;

use crate::store::driver::{Driver, StoreError};
use crate::store::event;

/// What a restore takes away.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lost {
    /// The last event that both have.
    pub after: EventNumber,
    /// How many later events the present store has.
    pub events: u64,
    /// The same by kind.
    pub kinds: BTreeMap<String, u64>,
    /// The newest of them, the newest first.
    pub newest: Vec<LostEvent>,
    /// How many later events the backup has: it is of another past.
    pub unknown_here: u64,
}

/// An event that is in the present store alone.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LostEvent {
    /// Its number.
    pub number: EventNumber,
    /// What happened.
    pub kind: EventKind,
    /// The task it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

/// Compares the present store's record with a backup's.
pub fn lost(present: &mut dyn Driver, backup: &mut dyn Driver) -> Result<Lost, StoreError> {
    let after = last_in_common(present, backup)?;
    let kinds = event::kinds_after(present, after)?;
    let events = kinds.values().sum();
    let count = LOST_EVENTS_SHOWN.min(u32::try_from(events).unwrap_or(LOST_EVENTS_SHOWN));
    let (mut newest, _) = event::newest(present, None, count)?;
    newest.reverse();
    let newest = newest.into_iter().map(|stored| LostEvent {
        number: stored.event.number,
        kind: stored.event.kind,
        task: stored.event.task,
    });
    let unknown_here = event::kinds_after(backup, after)?.values().sum();
    Ok(Lost { after, events, kinds, newest: newest.collect(), unknown_here })
}

/// The last event that two records share, found by halving.
fn last_in_common(left: &mut dyn Driver, right: &mut dyn Driver) -> Result<EventNumber, StoreError> {
    let end = EventNumber(i64::MAX as u64);
    let ends = [event::last_until(left, end)?, event::last_until(right, end)?];
    let mut agree = 0;
    let mut differ = ends.into_iter().flatten().map(|(number, _)| number.0 + 1).max().unwrap_or(1);
    while differ - agree > 1 {
        let middle = EventNumber(agree + (differ - agree) / 2);
        if event::last_until(left, middle)? == event::last_until(right, middle)? {
            agree = middle.0;
        } else {
            differ = middle.0;
        }
    }
    Ok(event::last_until(left, EventNumber(agree))?.map_or(EventNumber(0), |(number, _)| number))
}
