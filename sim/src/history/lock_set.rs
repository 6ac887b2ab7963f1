//! The lock-set workload: clients keep a list behind a lock. Each takes the lock, reads the list, thinks, writes it back
//! with a number of its own, and gives the lock back; some think for longer than their lease. An acknowledged number
//! that is not in the list at the end was lost.
//!
//! The list is the newest checkpoint of a task, so that its holder alone can write it.

use serde_json::Value;
use tenure_core::model::attempt::{Entry, EntryKind};

/// What came of it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Numbers whose writing was acknowledged.
    pub acknowledged: usize,
    /// Of those, how many are not in the list.
    pub lost: usize,
    /// Writes that came too late and were refused.
    pub stale_refused: usize,
}

impl Counted {
    /// Compares what was acknowledged with the lists as they are at the end.
    #[must_use]
    pub fn of(acknowledged: &[u64], lists: &[u64], stale_refused: usize) -> Self {
        let lost = acknowledged.iter().filter(|number| !lists.contains(number)).count();
        Self { acknowledged: acknowledged.len(), lost, stale_refused }
    }
}

/// The list that a task's record holds, newest entry first.
#[must_use]
pub fn list(entries: &[Entry]) -> Vec<u64> {
    let newest = entries.iter().find(|entry| entry.kind == EntryKind::Checkpoint);
    let text = newest.map_or("[]", |entry| entry.text.as_str());
    let read: Value = serde_json::from_str(text).expect("only lists are written here");
    read.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// The text of a list with one more number.
#[must_use]
pub fn with(mut list: Vec<u64>, number: u64) -> String {
    list.push(number);
    serde_json::to_string(&list).expect("numbers are plain data")
}
