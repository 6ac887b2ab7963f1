//! Histories: what clients asked of a task and what they heard, judged against one lock with generations.
//!
//! A history is linearizable if every call can be given one moment between its invocation and its return, so that the
//! calls in the order of their moments are a run of [`lock::Lock`]. A call whose outcome nobody heard may have happened
//! at any later time, or never.

pub mod lock;
pub mod lock_set;
pub mod logged;
pub mod search;

use std::collections::BTreeMap;
use std::fmt;

/// A moment as a client's side knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Its place among all invocations and returns.
    pub order: i64,
    /// The time that leases are judged at, in milliseconds: at an invocation the earliest that it can be when the call
    /// is judged, at a return the latest that it can have been.
    pub ms: i64,
}

/// When a lease ends: at the earliest and at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Not before this.
    pub from: i64,
    /// Over at this.
    pub to: i64,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// To hold the task.
    Claim,
    /// To go on holding it under a generation; under whichever the client has, if none is named.
    Renew(Option<u64>),
    /// To record something as its holder.
    Write(Option<u64>),
    /// To give it back.
    Release(Option<u64>),
    /// To finish it.
    Close(Option<u64>),
}

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It is the caller's, under a new generation.
    Granted(u64, Span),
    /// It was the caller's already.
    Resumed(u64),
    /// It is the caller's for longer.
    Renewed(Span),
    /// It is done.
    Done,
    /// No: somebody else holds it.
    Held,
    /// No: the caller does not hold it, or no longer.
    Stale,
    /// Nothing.
    Unknown,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Who asked: the session.
    pub client: String,
    /// About which task.
    pub task: String,
    /// What was asked.
    pub what: What,
    /// When it was asked.
    pub invoked: Moment,
    /// When something was heard; never, for an outcome that is unknown.
    pub returned: Option<Moment>,
    /// What was heard.
    pub heard: Heard,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, task, what, invoked, returned, heard } = self;
        write!(f, "{:>8} {:>8} ms  {client} asks {what:?} of {task}", invoked.order, invoked.ms)?;
        match returned {
            Some(returned) => write!(f, ", and at {} {} ms hears {heard:?}", returned.order, returned.ms),
            None => write!(f, ", and hears nothing"),
        }
    }
}

/// Judges the history of each task, and prints the shortest beginning of the first that no lock could have produced.
pub fn check(calls: &[Call], lease_ms: i64) -> Result<(), String> {
    let mut tasks: BTreeMap<&str, Vec<Call>> = BTreeMap::new();
    for call in calls {
        tasks.entry(&call.task).or_default().push(call.clone());
    }
    tasks.values().try_for_each(|of_task| search::check(of_task, lease_ms))
}
