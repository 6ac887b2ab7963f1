//! What a rule says of an event.

use serde_json::Value;

use crate::model::event::Actor;
use crate::model::ids::{AttemptId, ProjectKey, TaskId};

/// What an event is about, as a rule states it; the engine adds number, time and actor.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The project.
    pub project: Option<ProjectKey>,
    /// The task.
    pub task: Option<TaskId>,
    /// The attempt.
    pub attempt: Option<AttemptId>,
    /// Facts of this kind of event.
    pub data: Value,
    /// Who did it, when it is not the calling session.
    pub actor: Option<Actor>,
}

impl About {
    /// An event about a task.
    #[must_use]
    pub fn task(task: &TaskId, data: Value) -> Self {
        Self { project: Some(task.project.clone()), task: Some(task.clone()), data, ..Self::default() }
    }

    /// An event about an attempt.
    #[must_use]
    pub fn attempt(attempt: &AttemptId, data: Value) -> Self {
        Self { attempt: Some(attempt.clone()), ..Self::task(&attempt.task, data) }
    }

    /// An event about a project.
    #[must_use]
    pub fn project(project: &ProjectKey, data: Value) -> Self {
        Self { project: Some(project.clone()), data, ..Self::default() }
    }
}
