//! Cancelling a task: by what right, who stands in its place, and what becomes of those who wait for it.

use std::collections::{BTreeSet, VecDeque};

use serde_json::json;

use super::Rule;
use super::cycle::check_wait;
use super::finish::{authority, end_attempt, ending_scope, finish, names};
use super::holding::{Words, write_entry};
use super::readiness::{in_place_of, predecessors, recount, successors, waits_on};
use super::view::brief;
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptState, EntryData, EntryKind};
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::event::EventKind;
use crate::model::ids::TaskId;
use crate::model::limits::{SUCCESSORS_MAX, TEXT_BYTES, check_text};
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{Lifecycle, Resolution, Task};
use crate::operation::task::{CancelTask, CancelledTask, Dependents};
use crate::working_set::{About, Need, Step, WorkingSet, together};

impl Rule for CancelTask {
    fn scope(&self, call: &Call) -> Vec<Need> {
        ending_scope(call, &self.task)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<CancelledTask> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let task = set.existing_task(&self.task)?;
        let resolution = self.resolution.unwrap_or(Resolution::Cancelled);
        self.check_resolution(set, &task, resolution)?;
        if let Some(asked) = self.ask_holder(set, call, &task)? {
            return Ok(asked);
        }
        let attempt = self.cancel_authority(set, call, &task)?;
        let waiting = waiting_for(set, &task.id)?;
        let passed_on = self.passes_on(set)?;
        if !waiting.is_empty() && self.dependents.is_none() && !passed_on {
            let detail = format!("waiting for {}: {}", task.id, names(&waiting));
            let waiting: Vec<String> = waiting.iter().map(ToString::to_string).collect();
            return Err(Refusal::new(Code::DependentsUndecided, detail).fact("waiting", waiting).into());
        }
        let mut outcome = Cancellation::default();
        if let Some(attempt) = attempt {
            end_attempt(set, call, attempt, AttemptState::Cancelled);
        }
        if let Some(successor) = &self.successor {
            self.stand_in(set, &task, successor, resolution)?;
        }
        outcome.cancel(set, call, &task.id, resolution, self)?;
        match self.dependents {
            None | Some(Dependents::Keep) => {
                outcome.kept_waiting = if passed_on { Vec::new() } else { waiting }
            }
            Some(Dependents::Release) => outcome.release(set, call, &task.id, waiting)?,
            Some(Dependents::Cancel) => outcome.cancel_waiting(set, call, waiting, self)?,
        }
        Ok(CancelledTask {
            task: brief(set, call, &task.id)?,
            also_cancelled: outcome.also_cancelled,
            released: outcome.released,
            kept_waiting: outcome.kept_waiting,
            asked_to_stop: None,
        })
    }
}

impl CancelTask {
    /// Refuses a resolution that is an outcome, and a successor that is missing, superfluous or a circle.
    fn check_resolution(&self, set: &WorkingSet, task: &Task, resolution: Resolution) -> Step<()> {
        if resolution.lifecycle() != Lifecycle::Cancelled {
            let wrong = format!("is {resolution}, which is an outcome");
            return Err(Refusal::field("resolution", &wrong, "use `tenure close` for it").into());
        }
        match &self.successor {
            None if resolution.needs_successor() => {
                let wrong = format!("is missing for {resolution}");
                Err(Refusal::field("successor", &wrong, "name the task that stands in its place").into())
            }
            Some(_) if !resolution.needs_successor() => {
                let wrong = format!("has no meaning for {resolution}");
                Err(Refusal::field("successor", &wrong, "use the resolution duplicate or superseded").into())
            }
            Some(successor) => check_successor(set, &task.id, successor),
            None => Ok(()),
        }
    }

    /// Whether those who wait go on waiting for a successor that can still be done.
    fn passes_on(&self, set: &WorkingSet) -> Step<bool> {
        let Some(successor) = &self.successor else { return Ok(false) };
        Ok(in_place_of(set, successor)?.lifecycle != Lifecycle::Cancelled)
    }

    /// Somebody else's live work is not ended: its holder is asked to stop.
    fn ask_holder(&self, set: &mut WorkingSet, call: &Call, task: &Task) -> Step<Option<CancelledTask>> {
        let Some(attempt) = set.current_attempt(task)? else { return Ok(None) };
        if call.envelope.fence.is_some() || !attempt.is_live(call.now.fleet) {
            return Ok(None);
        }
        let asked_to_stop = Some(attempt.principal.clone());
        set.record(EventKind::CancelRequested, About::attempt(&attempt.id, json!({ "reason": self.reason })));
        set.attempts.put(Attempt { cancel_requested: true, ..attempt });
        Ok(Some(CancelledTask {
            task: brief(set, call, &task.id)?,
            also_cancelled: Vec::new(),
            released: Vec::new(),
            kept_waiting: Vec::new(),
            asked_to_stop,
        }))
    }

    /// A holder cancels under its lease, others under the revision; an expired attempt does not stand in the way.
    fn cancel_authority(&self, set: &WorkingSet, call: &Call, task: &Task) -> Step<Option<Attempt>> {
        let expired = set.current_attempt(task)?.filter(|attempt| !attempt.is_live(call.now.fleet));
        if call.envelope.fence.is_none() && expired.is_some() {
            let free = Task { held: false, ..task.clone() };
            authority(set, call, &free, self.revision)?;
            return Ok(expired);
        }
        authority(set, call, task, self.revision)
    }

    /// Records who stands in the task's place, and refuses when that makes a waiting task wait for itself.
    fn stand_in(
        &self,
        set: &mut WorkingSet,
        task: &Task,
        successor: &TaskId,
        resolution: Resolution,
    ) -> Step<()> {
        set.existing_task(successor)?;
        let (from, kind, on) = if resolution == Resolution::Duplicate {
            (&task.id, DependencyKind::Duplicates, successor)
        } else {
            (successor, DependencyKind::Supersedes, &task.id)
        };
        let edge = Dependency { task: from.clone(), kind, on: on.clone(), optional: false };
        set.dependencies.put(edge);
        for waiting in waiting_for(set, &task.id)? {
            check_wait(set, &waiting, successor)?;
        }
        Ok(())
    }
}

/// Refuses a successor that leads back to the task, and one that makes the chain of successors too long.
fn check_successor(set: &WorkingSet, task: &TaskId, successor: &TaskId) -> Step<()> {
    let chain = successors(set, successor)?;
    let end = &chain.last().expect("a chain has its beginning").id;
    if end == task {
        let detail = format!("{successor} is or leads back to {task}");
        return Err(Refusal::new(Code::DependencyCycle, detail).next("name another successor").into());
    }
    let length = predecessors(set, task)? + 1 + chain.len();
    if length > SUCCESSORS_MAX {
        let wrong = format!(
            "makes a chain of {length} tasks that replace one another, the limit is {SUCCESSORS_MAX}"
        );
        let remedy = if end == successor {
            "cancel it without a successor, and let those who wait for it wait for another task".to_owned()
        } else {
            format!("name the end of the chain, {end}")
        };
        return Err(Refusal::field("successor", &wrong, &remedy).into());
    }
    Ok(())
}

/// The unfinished tasks that wait for a task, each once. A task that waits for what it replaced waits for nothing.
fn waiting_for(set: &WorkingSet, id: &TaskId) -> Step<Vec<TaskId>> {
    let mut waiting: BTreeSet<TaskId> = waits_on(set, id)?.into_iter().map(|edge| edge.task).collect();
    waiting.remove(id);
    let tasks = together(waiting.iter().map(|task| set.existing_task(task)))?;
    Ok(tasks.into_iter().filter(|task| !task.lifecycle.is_finished()).map(|task| task.id).collect())
}

/// What a cancellation did so far.
#[derive(Default)]
struct Cancellation {
    also_cancelled: Vec<TaskId>,
    released: Vec<TaskId>,
    kept_waiting: Vec<TaskId>,
}

impl Cancellation {
    fn cancel(
        &mut self,
        set: &mut WorkingSet,
        call: &Call,
        id: &TaskId,
        resolution: Resolution,
        request: &CancelTask,
    ) -> Step<()> {
        let task = set.existing_task(id)?;
        let words = Words { kind: EntryKind::Completion, text: &request.reason, data: EntryData::default() };
        write_entry(set, call, EventKind::TaskCancelled, id, None, words)?;
        finish(set, call, task, resolution, request.successor.clone().filter(|_| *id == request.task))?;
        Ok(())
    }

    fn release(&mut self, set: &mut WorkingSet, call: &Call, id: &TaskId, waiting: Vec<TaskId>) -> Step<()> {
        for edge in waits_on(set, id)?.into_iter().filter(|edge| waiting.contains(&edge.task)) {
            let data = json!({ "kind": edge.kind, "on": edge.on, "because": "released" });
            set.record(EventKind::DependencyRemoved, About::task(&edge.task, data));
            set.dependencies.remove(&(edge.task, edge.kind, edge.on));
        }
        recount(set, call.now, &waiting.iter().cloned().collect::<BTreeSet<_>>())?;
        self.released = waiting;
        Ok(())
    }

    /// Cancels what waits, and what waits for that. Work that somebody holds stays and keeps waiting.
    fn cancel_waiting(
        &mut self,
        set: &mut WorkingSet,
        call: &Call,
        waiting: Vec<TaskId>,
        request: &CancelTask,
    ) -> Step<()> {
        let mut queue: VecDeque<TaskId> = waiting.into();
        let mut seen: BTreeSet<TaskId> = queue.iter().cloned().collect();
        while let Some(id) = queue.pop_front() {
            if set.existing_task(&id)?.held {
                self.kept_waiting.push(id);
                continue;
            }
            self.cancel(set, call, &id, Resolution::Cancelled, request)?;
            queue.extend(waiting_for(set, &id)?.into_iter().filter(|next| seen.insert(next.clone())));
            self.also_cancelled.push(id);
        }
        Ok(())
    }
}
