//! What a batch changed that somebody may wait for.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::WorkingSet;
use crate::model::attempt::AttemptState;
use crate::model::event::EventKind;
use crate::model::ids::{EventNumber, ProjectKey, TaskId};
use crate::model::task::{Queue, Task};

/// What those who wait are told of a committed batch. It may say more than happened; what it leaves out, or what is
/// lost, a look from time to time finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// The number of the last event.
    pub event: EventNumber,
    /// How many tasks of a project can perhaps be taken now: ready ones that changed, and those whose attempt ended,
    /// which leaves work to recover or room below a limit. A changed policy counts as one.
    pub freed: BTreeMap<ProjectKey, usize>,
    /// The tasks that changed, or that something happened to.
    pub touched: BTreeSet<TaskId>,
    /// Whether anything may have been freed and touched beside: whoever waits must look.
    pub is_vague: bool,
}

impl News {
    /// The news of a batch that is about to be committed.
    #[must_use]
    pub fn of(set: &WorkingSet) -> Self {
        let mut touched: BTreeSet<TaskId> =
            set.events.iter().filter_map(|stored| stored.event.task.clone()).collect();
        let mut free: BTreeSet<&TaskId> = BTreeSet::new();
        for (id, task) in set.tasks.dirty() {
            touched.insert(id.clone());
            free.extend(task.filter(|task| task.queue() == Queue::Ready).map(|_| id));
        }
        for (id, attempt) in set.attempts.dirty() {
            touched.insert(id.task.clone());
            let is_held_anew = || {
                let task = set.tasks.get(&id.task).flatten();
                task.and_then(Task::current_attempt).is_some_and(|current| current != *id)
            };
            let has_ended = attempt.is_some_and(|attempt| attempt.state != AttemptState::Active);
            free.extend(Some(&id.task).filter(|_| has_ended && !is_held_anew()));
        }
        let mut freed: BTreeMap<ProjectKey, usize> = BTreeMap::new();
        // The row of a project changes with every task that is created; its policy does not.
        let events = set.events.iter().map(|stored| &stored.event);
        let edited =
            events.filter(|event| matches!(event.kind, EventKind::ProjectEdited | EventKind::PolicySet));
        let edited = edited.filter_map(|event| event.project.as_ref());
        for project in free.into_iter().map(|id| &id.project).chain(edited) {
            *freed.entry(project.clone()).or_default() += 1;
        }
        Self { event: set.fleet.event, freed, touched, is_vague: false }
    }

    /// That something happened up to an event, and not what.
    #[must_use]
    pub fn vague(event: EventNumber) -> Self {
        Self { event, freed: BTreeMap::new(), touched: BTreeSet::new(), is_vague: true }
    }

    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_none(&self, since: EventNumber) -> bool {
        self.event == since && self.freed.is_empty() && self.touched.is_empty() && !self.is_vague
    }
}
