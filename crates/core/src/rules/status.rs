//! The work status of a task, derived from its row, its current attempt and the moment.

use crate::model::attempt::Attempt;
use crate::model::dependency::DependencyKind;
use crate::model::ids::TaskId;
use crate::model::status::Status;
use crate::model::task::{Kind, Lifecycle, Queue, Task};
use crate::model::time::Now;
use crate::working_set::{Page, Step, WorkingSet, together};

/// What is going on with a task: the first that holds.
pub fn status(set: &WorkingSet, now: Now, task: &Task) -> Step<Status> {
    if task.archived {
        return Ok(Status::Archived);
    }
    match task.lifecycle {
        Lifecycle::Cancelled => return Ok(Status::Cancelled),
        Lifecycle::Done => return Ok(Status::Done),
        Lifecycle::Planned => return Ok(Status::Planned),
        Lifecycle::Open => {}
    }
    if let Some(attempt) = set.current_attempt(task)? {
        return Ok(held(&attempt, now));
    }
    status_when_free(set, now, task)
}

/// What would be going on with an open task if nobody had left an attempt at it.
pub fn status_when_free(set: &WorkingSet, now: Now, task: &Task) -> Step<Status> {
    if task.is_blocked() {
        return Ok(Status::Blocked);
    }
    if is_deferred(task, now) {
        return Ok(Status::Deferred);
    }
    if task.kind == Kind::Objective && open_child(set, &task.id)?.is_some() {
        return Ok(Status::WaitingChildren);
    }
    Ok(Status::Ready)
}

fn held(attempt: &Attempt, now: Now) -> Status {
    if attempt.is_live(now.fleet) { Status::InProgress } else { Status::Recovery }
}

/// Whether a task is put off at this moment.
#[must_use]
pub fn is_deferred(task: &Task, now: Now) -> bool {
    task.deferred_until.is_some_and(|until| until > now.wall)
}

/// The required children of an objective that are not finished. A cancelled child is settled: somebody decided,
/// with a reason, that the objective does without it.
pub fn unfinished_children(set: &WorkingSet, id: &TaskId) -> Step<Vec<Task>> {
    let edges = set.dependencies_on(id)?;
    let required = edges.iter().filter(|edge| edge.kind == DependencyKind::Parent && !edge.optional);
    let tasks = together(required.map(|edge| set.existing_task(&edge.task)))?;
    Ok(tasks.into_iter().filter(|child| !child.lifecycle.is_finished()).collect())
}

/// The first of them. A question, which has changed nothing, need not know them all.
pub fn open_child(set: &WorkingSet, id: &TaskId) -> Step<Option<Task>> {
    if set.has_changed_graph() {
        return Ok(unfinished_children(set, id)?.into_iter().next());
    }
    let page = Page::OpenChild { of: id.clone() };
    set.page(&page)?.tasks().first().map(|child| set.existing_task(child)).transpose()
}

/// Whether an objective only waits to be closed.
pub fn can_be_closed(set: &WorkingSet, task: &Task) -> Step<bool> {
    let waits = task.kind != Kind::Objective || task.queue() != Queue::Objective;
    Ok(!waits && open_child(set, &task.id)?.is_none())
}
