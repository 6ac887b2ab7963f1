//! Tasks as they are changed: edited, offered, deferred, archived, and what operators do to them.

use serde_json::json;

use super::Rule;
use super::cycle::{check_parent, check_wait};
use super::fields::{check_criteria, check_lines, check_title, set_criteria};
use super::holding::{Words, keep_entry};
use super::readiness::{after_lifecycle, put, waits_on};
use super::view::full;
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptState, EntryData, EntryKind};
use crate::model::dependency::DependencyKind;
use crate::model::event::EventKind;
use crate::model::ids::TaskId;
use crate::model::limits::{LIST_ITEMS, TEXT_BYTES, WALL_MS_MAX, check_count, check_line, check_text};
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{DEFERRED_WITHOUT_DATE, Lifecycle, Task};
use crate::operation::task::{
    ArchiveTask, DeferTask, EditTask, ForceRelease, OpenTask, ReopenTask, ResumeTask, TaskAnswer,
};
use crate::working_set::{About, Need, Step, WorkingSet};

impl Rule for EditTask {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Task(self.task.clone()), Need::Body(self.task.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        self.check()?;
        let task = set.existing_task(&self.task)?;
        if task.revision != self.revision {
            let detail = format!("{} is at revision {}, not {}", task.id, task.revision, self.revision);
            return Err(Refusal::new(Code::RevisionConflict, detail).fact("revision", task.revision).into());
        }
        if self.kind.is_some_and(|kind| kind != task.kind) && (task.held || task.lifecycle.is_finished()) {
            let detail = format!("{} is held or over, so its kind stays {}", task.id, task.kind);
            return Err(Refusal::new(Code::StateConflict, detail).next("release it first").into());
        }
        let changed = self.change_body(set, call)?;
        let revision = set.fleet.next(task.revision);
        let data = json!({ "fields": changed, "revision": revision });
        set.record(EventKind::TaskEdited, About::task(&task.id, data));
        put(
            set,
            call.now,
            Task {
                kind: self.kind.unwrap_or(task.kind),
                priority: self.priority.unwrap_or(task.priority),
                requires: self.requires.clone().unwrap_or_else(|| task.requires.clone()),
                revision,
                ..task
            },
        )?;
        answer(set, call, &self.task)
    }
}

impl EditTask {
    fn check(&self) -> Result<(), Refusal> {
        self.title.iter().try_for_each(|title| check_title(title))?;
        self.description.iter().try_for_each(|text| check_text("description", text, TEXT_BYTES, true))?;
        self.criteria.iter().try_for_each(|criteria| check_criteria(criteria))?;
        let lists = [
            ("labels", &self.labels),
            ("specs", &self.specs),
            ("references", &self.references),
            ("touches", &self.touches),
            ("resources", &self.resources),
        ];
        for (field, lines) in lists {
            lines.iter().try_for_each(|lines| check_lines(field, lines))?;
        }
        for (field, line) in [("source", &self.source), ("source_revision", &self.source_revision)] {
            line.iter().try_for_each(|line| check_line(field, line))?;
        }
        check_count("requires", self.requires.as_ref().map_or(0, Vec::len), LIST_ITEMS)
    }

    /// Changes the body and returns the names of the fields that the request sets.
    fn change_body(&self, set: &mut WorkingSet, call: &Call) -> Step<Vec<&'static str>> {
        let mut body = set.body(&self.task)?;
        let mut changed = Vec::new();
        let mut change = |field, given: bool| {
            if given {
                changed.push(field);
            }
        };
        change("kind", self.kind.is_some());
        change("priority", self.priority.is_some());
        change("requires", self.requires.is_some());
        change("title", set_field(&mut body.title, self.title.as_ref()));
        change("description", set_field(&mut body.description, self.description.as_ref()));
        let details = &mut body.details;
        if let Some(criteria) = &self.criteria {
            set_criteria(details, criteria, |given| set.fleet.next(given));
        }
        change("criteria", self.criteria.is_some());
        change("labels", set_field(&mut details.labels, self.labels.as_ref()));
        change("specs", set_field(&mut details.specs, self.specs.as_ref()));
        change("references", set_field(&mut details.references, self.references.as_ref()));
        change("touches", set_field(&mut details.touches, self.touches.as_ref()));
        change("resources", set_field(&mut details.resources, self.resources.as_ref()));
        change("source", set_field(&mut details.source, self.source.clone().map(Some).as_ref()));
        let revision = self.source_revision.clone().map(Some);
        change("source_revision", set_field(&mut details.source_revision, revision.as_ref()));
        if changed.is_empty() {
            let wrong = "names no field to change";
            return Err(Refusal::field("the edit", wrong, "name at least one field").into());
        }
        body.updated_at = call.now.wall;
        set.bodies.put(body);
        Ok(changed)
    }
}

fn set_field<T: Clone>(field: &mut T, given: Option<&T>) -> bool {
    if let Some(value) = given {
        field.clone_from(value);
    }
    given.is_some()
}

fn answer(set: &WorkingSet, call: &Call, id: &TaskId) -> Step<TaskAnswer> {
    Ok(TaskAnswer { task: full(set, call, id)?, ending: None, entries: Vec::new() })
}

fn conflict(task: &Task, what: &str, next: &str) -> Refusal {
    let state = if task.held { "held" } else { task.lifecycle.as_str() };
    Refusal::new(Code::StateConflict, format!("{} is {state}, so it cannot be {what}", task.id)).next(next)
}

impl Rule for OpenTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        let task = set.existing_task(&self.task)?;
        if task.lifecycle != Lifecycle::Planned {
            return Err(conflict(&task, "opened", "only a planned task is opened").into());
        }
        set.record(EventKind::TaskOpened, About::task(&task.id, json!({})));
        let revision = set.fleet.next(task.revision);
        put(set, call.now, Task { lifecycle: Lifecycle::Open, revision, ..task })?;
        answer(set, call, &self.task)
    }
}

impl Rule for DeferTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        self.reopening.iter().try_for_each(|text| check_text("reopening", text, TEXT_BYTES, false))?;
        if self.until.is_some_and(|until| until <= call.now.wall) {
            return Err(Refusal::field("until", "is not in the future", "name a later moment").into());
        }
        if self.until.is_some_and(|until| until.0 > WALL_MS_MAX) {
            let remedy = "leave it out to put the task off until somebody resumes it";
            return Err(Refusal::field("until", "is beyond the year 9999", remedy).into());
        }
        let task = set.existing_task(&self.task)?;
        if task.held || task.lifecycle.is_finished() {
            let next = if task.held { "release it first" } else { "take other work: `tenure ready`" };
            return Err(conflict(&task, "deferred", next).into());
        }
        let until = self.until.unwrap_or(DEFERRED_WITHOUT_DATE);
        let data = json!({ "until": self.until, "reason": self.reason, "reopening": self.reopening });
        set.record(EventKind::TaskDeferred, About::task(&task.id, data));
        let mut body = set.body(&task.id)?;
        body.details.deferred_reason = Some(self.reason.clone());
        body.details.deferred_reopening.clone_from(&self.reopening);
        set.bodies.put(body);
        let revision = set.fleet.next(task.revision);
        put(set, call.now, Task { deferred_until: Some(until), revision, ..task })?;
        answer(set, call, &self.task)
    }
}

impl Rule for ResumeTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        let task = set.existing_task(&self.task)?;
        if task.deferred_until.is_none() {
            return Err(conflict(&task, "resumed", "only a deferred task is resumed").into());
        }
        let revision = set.fleet.next(task.revision);
        end_deferral(set, call, Task { revision, ..task })?;
        answer(set, call, &self.task)
    }
}

/// Ends a deferral: by hand, or in the background once its date has passed. That a moment passed is no edit, so only who
/// ends it by hand gives the task a new revision.
pub fn end_deferral(set: &mut WorkingSet, call: &Call, task: Task) -> Step<()> {
    set.record(EventKind::TaskResumed, About::task(&task.id, json!({})));
    let mut body = set.body(&task.id)?;
    body.details.deferred_reason = None;
    body.details.deferred_reopening = None;
    set.bodies.put(body);
    put(set, call.now, Task { deferred_until: None, ..task })
}

impl Rule for ArchiveTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        let task = set.existing_task(&self.task)?;
        if !task.lifecycle.is_finished() {
            return Err(conflict(&task, "archived", "close or cancel it first").into());
        }
        if !task.archived {
            set.record(EventKind::TaskArchived, About::task(&task.id, json!({})));
            let revision = set.fleet.next(task.revision);
            put(set, call.now, Task { archived: true, revision, ..task })?;
        }
        answer(set, call, &self.task)
    }
}

impl Rule for ReopenTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let task = set.existing_task(&self.task)?;
        if !task.lifecycle.is_finished() {
            return Err(conflict(&task, "reopened", "only a finished task is reopened").into());
        }
        let about = About::task(&task.id, json!({ "reason": self.reason }));
        let number = set.record(EventKind::TaskReopened, about);
        keep_entry(set, call, number, &task.id, None, intervention(&self.reason))?;
        let id = task.id.clone();
        let revision = set.fleet.next(task.revision);
        put(
            set,
            call.now,
            Task {
                lifecycle: Lifecycle::Open,
                resolution: None,
                successor: None,
                archived: false,
                revision,
                ..task
            },
        )?;
        after_lifecycle(set, call, &id)?;
        check_reopened(set, &id)?;
        answer(set, call, &id)
    }
}

/// Refuses when a reopened task closes a circle: as long as it was over, edges to and from it could be added that
/// nobody had to wait for.
fn check_reopened(set: &mut WorkingSet, id: &TaskId) -> Step<()> {
    for edge in waits_on(set, id)? {
        check_wait(set, &edge.task, id)?;
    }
    for edge in [set.dependencies_of(id)?, set.dependencies_on(id)?].concat() {
        match edge.kind {
            DependencyKind::Blocks => check_wait(set, &edge.task, &edge.on)?,
            DependencyKind::Parent => check_parent(set, &edge.task, &edge.on)?,
            DependencyKind::Related
            | DependencyKind::DiscoveredFrom
            | DependencyKind::Duplicates
            | DependencyKind::Supersedes => {}
        }
    }
    Ok(())
}

/// Why an operator stepped in, for the task's record.
fn intervention(reason: &str) -> Words<'_> {
    Words { kind: EntryKind::Intervention, text: reason, data: EntryData::default() }
}

impl Rule for ForceRelease {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let task = set.existing_task(&self.task)?;
        let Some(attempt) = set.current_attempt(&task)? else {
            return Err(conflict(&task, "force-released", "nobody holds it").into());
        };
        let about = About::attempt(&attempt.id, json!({ "reason": self.reason, "forced": true }));
        let number = set.record(EventKind::TaskReleased, about);
        keep_entry(set, call, number, &task.id, Some(&attempt.id), intervention(&self.reason))?;
        set.attempts.put(Attempt {
            state: AttemptState::Cancelled,
            current: false,
            ended_at: Some(call.now.fleet),
            ..attempt
        });
        put(set, call.now, Task { held: false, reserved: None, ..task })?;
        answer(set, call, &self.task)
    }
}
