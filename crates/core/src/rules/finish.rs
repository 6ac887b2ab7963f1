//! How work ends: handed off, released, closed or cancelled. Each is one step, whole or not at all.

use std::collections::BTreeMap;

use serde_json::json;

use super::Rule;
use super::fence::{held, lease_held, scope};
use super::holding::{Words, check_evidence, write_entry};
use super::readiness::{after_lifecycle, parents, put};
use super::status::{can_be_closed, unfinished_children};
use super::view::brief;
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptMode, AttemptState, EntryData, EntryKind};
use crate::model::event::EventKind;
use crate::model::ids::{AttemptId, TaskId};
use crate::model::limits::{LIST_ITEMS, TEXT_BYTES, check_count, check_text};
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{Body, Kind, Lifecycle, Reservation, Resolution, Task, task_digest};
use crate::operation::ownership::{Close, Ended, HandOff, Release};
use crate::working_set::{About, Need, Step, WorkingSet, together};

/// What giving back or finishing will surely need.
pub fn ending_scope(call: &Call, task: &TaskId) -> Vec<Need> {
    let mut needs = scope(call);
    needs.extend([Need::Task(task.clone()), Need::Body(task.clone()), Need::Tallies(task.project.clone())]);
    needs.extend([Need::DependenciesOn(task.clone()), Need::DependenciesOf(task.clone())]);
    needs
}

/// Ends an attempt; the task is free of it.
pub fn end_attempt(set: &mut WorkingSet, call: &Call, attempt: Attempt, state: AttemptState) {
    set.attempts.put(Attempt { state, current: false, ended_at: Some(call.now.fleet), ..attempt });
}

impl Rule for HandOff {
    fn scope(&self, call: &Call) -> Vec<Need> {
        ending_scope(call, &self.task)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Ended> {
        check_text("text", &self.text, TEXT_BYTES, false)?;
        check_evidence(&self.evidence)?;
        let attempt = held(set, call, &self.task)?;
        if let Some(agent) = &self.to
            && set.principal(agent)?.is_none()
        {
            return Err(Refusal::not_found("agent", agent)
                .next("`tenure session list` shows who is here")
                .into());
        }
        let data = EntryData { evidence: self.evidence.clone(), tree: self.tree, ..EntryData::default() };
        let words = Words { kind: EntryKind::Handoff, text: &self.text, data };
        write_entry(set, call, EventKind::TaskHandedOff, &self.task, Some(&attempt.id), words)?;
        let reserved = self.to.clone().map(|principal| Reservation {
            principal,
            until: call.now.fleet.plus_ms(call.durations.handoff_window_ms),
        });
        give_back(set, call, &attempt, AttemptState::HandedOff, reserved)?;
        let next = match &self.to {
            Some(agent) => format!("it is kept for {agent}; take other work: `tenure claim`"),
            None => "take other work: `tenure claim`".to_owned(),
        };
        ended(set, call, &self.task, Some(attempt.id), Vec::new(), next)
    }
}

fn give_back(
    set: &mut WorkingSet,
    call: &Call,
    attempt: &Attempt,
    state: AttemptState,
    reserved: Option<Reservation>,
) -> Step<()> {
    end_attempt(set, call, attempt.clone(), state);
    let task = set.existing_task(&attempt.id.task)?;
    put(set, call.now, Task { held: false, reserved, ..task })
}

impl Rule for Release {
    fn scope(&self, call: &Call) -> Vec<Need> {
        ending_scope(call, &self.task)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Ended> {
        let attempt = held(set, call, &self.task)?;
        if let Some(note) = &self.note {
            check_text("note", note, TEXT_BYTES, false)?;
            let words = Words { kind: EntryKind::Note, text: note, data: EntryData::default() };
            write_entry(set, call, EventKind::NoteRecorded, &self.task, Some(&attempt.id), words)?;
        }
        set.record(EventKind::TaskReleased, About::attempt(&attempt.id, json!({})));
        give_back(set, call, &attempt, AttemptState::Released, None)?;
        let next = "take other work: `tenure claim`".to_owned();
        ended(set, call, &self.task, Some(attempt.id), Vec::new(), next)
    }
}

fn ended(
    set: &WorkingSet,
    call: &Call,
    task: &TaskId,
    attempt: Option<AttemptId>,
    freed: Vec<TaskId>,
    next: String,
) -> Step<Ended> {
    Ok(Ended { task: brief(set, call, task)?, attempt, freed, next })
}

impl Rule for Close {
    fn scope(&self, call: &Call) -> Vec<Need> {
        ending_scope(call, &self.task)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Ended> {
        check_evidence(&self.evidence)?;
        check_count("lessons", self.lessons.len(), LIST_ITEMS)?;
        check_count("criteria", self.criteria.len(), LIST_ITEMS)?;
        let note = self.note.as_deref().unwrap_or("");
        check_text("note", note, TEXT_BYTES, true)?;
        let task = set.existing_task(&self.task)?;
        let attempt = authority(set, call, &task, self.revision)?;
        let resolution = self.resolution.unwrap_or(Resolution::Done);
        self.check_outcome(set, &task, attempt.as_ref(), resolution)?;
        let data = EntryData {
            evidence: self.evidence.clone(),
            criteria: self.criteria.clone(),
            disposition: attempt.as_ref().and_then(|attempt| attempt.disposition),
            tree: None,
            author: None,
        };
        let id = attempt.as_ref().map(|attempt| attempt.id.clone());
        for lesson in &self.lessons {
            check_text("lesson", lesson, TEXT_BYTES, false)?;
            let words = Words { kind: EntryKind::Lesson, text: lesson, data: EntryData::default() };
            write_entry(set, call, EventKind::NoteRecorded, &task.id, id.as_ref(), words)?;
        }
        let words = Words { kind: EntryKind::Completion, text: note, data };
        write_entry(set, call, EventKind::TaskClosed, &task.id, id.as_ref(), words)?;
        if let Some(attempt) = attempt {
            end_attempt(set, call, attempt, AttemptState::Closed);
        }
        let freed = finish(set, call, task, resolution, None)?;
        let next = match (closable_parent(set, &self.task)?, freed.as_slice()) {
            (Some(parent), _) => {
                format!("close its objective: `tenure close {} --revision {}`", parent.id, parent.revision)
            }
            (None, []) => "take other work: `tenure claim`".to_owned(),
            (None, freed) => format!("{} became ready: `tenure claim`", names(freed)),
        };
        ended(set, call, &self.task, id, freed, next)
    }
}

/// The command that closes a task, with every answer that it asks for.
#[must_use]
pub fn close_command(body: &Body) -> String {
    let answers =
        body.details.criteria.iter().map(|criterion| format!(" --criterion {}=\"…\"", criterion.id));
    format!("tenure close {}{}", body.task, answers.collect::<String>())
}

/// An objective that nothing is left to do for after this child.
fn closable_parent(set: &WorkingSet, child: &TaskId) -> Step<Option<Task>> {
    for parent in together(parents(set, child)?.iter().map(|parent| set.existing_task(parent)))? {
        if can_be_closed(set, &parent)? {
            return Ok(Some(parent));
        }
    }
    Ok(None)
}

/// The first few of some ids, for a sentence.
pub fn names(ids: &[TaskId]) -> String {
    let shown: Vec<String> = ids.iter().take(5).map(ToString::to_string).collect();
    let more = ids.len().saturating_sub(5);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

impl Close {
    /// Refuses when something that belongs to the outcome is missing, listing all of it.
    fn check_outcome(
        &self,
        set: &WorkingSet,
        task: &Task,
        attempt: Option<&Attempt>,
        resolution: Resolution,
    ) -> Step<()> {
        if resolution.lifecycle() != Lifecycle::Done {
            let wrong = format!("is {resolution}, which is no outcome");
            return Err(Refusal::field("resolution", &wrong, "use `tenure task cancel` for it").into());
        }
        let body = set.body(&task.id)?;
        if let Some(attempt) = attempt
            && attempt.task_digest != task_digest(task.kind, &body)
        {
            let digest = task_digest(task.kind, &body);
            let detail = format!("{} changed after it was claimed", task.id);
            let next = format!("read it, then `tenure reconcile {} --digest {digest}`", task.id);
            return Err(Refusal::new(Code::TaskChanged, detail)
                .next(next)
                .fact("digest", digest.to_string())
                .into());
        }
        let mut missing = self.unanswered(&body)?;
        if attempt
            .is_some_and(|attempt| attempt.mode == AttemptMode::Recovery && attempt.disposition.is_none())
        {
            missing.push(format!("a disposition of the expired attempt (`tenure dispose {}`)", task.id));
        }
        if resolution == Resolution::AlreadyDelivered && self.evidence.is_empty() {
            missing.push("evidence of what was already delivered (--commit, --pull-request)".to_owned());
        }
        if task.kind == Kind::Objective {
            for child in unfinished_children(set, &task.id)? {
                missing.push(format!("its child {} is not finished", child.id));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        missing.truncate(LIST_ITEMS);
        let detail = format!("{} cannot be closed yet: {}", task.id, missing.join("; "));
        let refusal = Refusal::new(Code::RequirementsMissing, detail).fact("missing", missing);
        Err(refusal.next(format!("supply it, then `{}`", close_command(&body))).into())
    }

    /// Criteria without an answer; an answer to a criterion that does not exist is refused.
    fn unanswered(&self, body: &Body) -> Result<Vec<String>, Refusal> {
        let known: BTreeMap<&str, &str> = body
            .details
            .criteria
            .iter()
            .map(|criterion| (criterion.id.as_str(), criterion.text.as_str()))
            .collect();
        for (id, answer) in &self.criteria {
            check_text("criteria", answer, TEXT_BYTES, false)?;
            if !known.contains_key(id.as_str()) {
                let wrong = format!("answers {id:?}, which is no criterion of this task");
                return Err(Refusal::field("criteria", &wrong, "`tenure show` lists them"));
            }
        }
        let open = known.iter().filter(|(id, _)| !self.criteria.contains_key(**id));
        Ok(open.map(|(id, text)| format!("an answer to {id} ({text})")).collect())
    }
}

/// By what right the caller ends a task: its own live attempt, or the revision of a task that nobody holds.
pub fn authority(set: &WorkingSet, call: &Call, task: &Task, revision: Option<u64>) -> Step<Option<Attempt>> {
    if call.envelope.fence.is_some() {
        return held(set, call, &task.id).map(Some);
    }
    if task.lifecycle.is_finished() {
        let how = task.resolution.map_or("finished", |resolution| resolution.as_str());
        let refusal = Refusal::new(Code::StateConflict, format!("{} is over already ({how})", task.id));
        let next =
            format!("for what is still to do: `tenure task create --discovered-from {} --title …`", task.id);
        return Err(refusal.next(next).into());
    }
    if let Some(attempt) = set.current_attempt(task)? {
        if attempt.is_live(call.now.fleet) {
            return Err(lease_held(call, &attempt).into());
        }
        let detail = format!("{} expired; what it left must be looked at first", attempt.id);
        let next = format!("take it over: `tenure claim {}`", task.id);
        return Err(Refusal::new(Code::StateConflict, detail).next(next).into());
    }
    match revision {
        Some(revision) if revision == task.revision => Ok(None),
        Some(revision) => {
            let detail = format!("{} is at revision {}, not {revision}", task.id, task.revision);
            Err(Refusal::new(Code::RevisionConflict, detail).fact("revision", task.revision).into())
        }
        None => {
            let wrong = format!("is missing: nobody holds {}", task.id);
            let named = format!("name the revision you saw: --revision {}", task.revision);
            let remedy =
                if task.kind == Kind::Objective { named } else { format!("claim it first, or {named}") };
            Err(Refusal::field("revision", &wrong, &remedy).into())
        }
    }
}

/// Ends a task and keeps the facts of everything that depends on it. Returns the tasks that became ready.
pub fn finish(
    set: &mut WorkingSet,
    call: &Call,
    task: Task,
    resolution: Resolution,
    successor: Option<TaskId>,
) -> Step<Vec<TaskId>> {
    let id = task.id.clone();
    let revision = set.fleet.next(task.revision);
    put(
        set,
        call.now,
        Task {
            lifecycle: resolution.lifecycle(),
            resolution: Some(resolution),
            successor,
            held: false,
            reserved: None,
            revision,
            ..task
        },
    )?;
    after_lifecycle(set, call, &id)
}
