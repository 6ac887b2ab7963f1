//! What a batch changed that somebody may wait for.

use std::collections::{BTreeMap, BTreeSet};

use super::WorkingSet;
use crate::model::attempt::AttemptState;
use crate::model::ids::{EventNumber, ProjectKey, TaskId};
use crate::model::task::Queue;

/// What those who wait are told of a committed batch. It may say more than happened, never less: whoever is woken
/// looks again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// The number of the last event.
    pub event: EventNumber,
    /// How many tasks of a project can perhaps be taken now: ready ones that changed, and ends of attempts, which
    /// leave work to recover or room below a limit.
    pub freed: BTreeMap<ProjectKey, usize>,
    /// The tasks that changed, or that something happened to.
    pub touched: BTreeSet<TaskId>,
}

impl News {
    /// The news of a batch that is about to be committed.
    #[must_use]
    pub fn of(set: &WorkingSet) -> Self {
        let mut freed: BTreeMap<ProjectKey, usize> = BTreeMap::new();
        let mut touched: BTreeSet<TaskId> =
            set.events.iter().filter_map(|stored| stored.event.task.clone()).collect();
        for (id, task) in set.tasks.dirty() {
            touched.insert(id.clone());
            if task.is_some_and(|task| task.queue() == Queue::Ready) {
                *freed.entry(id.project.clone()).or_default() += 1;
            }
        }
        for (id, attempt) in set.attempts.dirty() {
            touched.insert(id.task.clone());
            if attempt.is_some_and(|attempt| attempt.state != AttemptState::Active) {
                *freed.entry(id.task.project.clone()).or_default() += 1;
            }
        }
        Self { event: set.fleet.event, freed, touched }
    }

    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_none(&self, since: EventNumber) -> bool {
        self.event == since && self.freed.is_empty() && self.touched.is_empty()
    }
}
