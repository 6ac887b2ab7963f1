//! A walk through the graph that outlives the pauses in which rows are loaded, so that it is walked once.

use std::collections::{BTreeMap, VecDeque};

use crate::model::ids::TaskId;

/// A moment in the life of a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// From here on the blockers that it passes down do not hold its children back.
    Gate(TaskId),
    /// It can be worked on.
    Start(TaskId),
    /// It is over.
    Finish(TaskId),
}

/// A walk from a moment through everything that must come before it.
#[derive(Debug, Clone)]
pub struct Walk {
    /// Where it began.
    pub from: Moment,
    /// What it must not reach.
    pub towards: Vec<Moment>,
    /// What was reached and not yet looked behind.
    pub queue: VecDeque<Moment>,
    /// For each moment that was reached: the one before it and the reason in words.
    pub reached: BTreeMap<Moment, (Moment, String)>,
}

impl Walk {
    /// A walk that has not left its beginning.
    #[must_use]
    pub fn new(from: Moment, towards: Vec<Moment>) -> Self {
        Self { queue: VecDeque::from([from.clone()]), reached: BTreeMap::new(), from, towards }
    }
}
