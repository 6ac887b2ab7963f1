//! Tasks: writing them down, changing, offering, deferring and archiving them.

use std::collections::BTreeSet;

use serde_json::json;

use super::cycle::{check_parent, check_wait};
use super::readiness::{count_new, put};
use super::view::{full, summaries};
use super::{Rule, as_of, page_rows, project};
use crate::envelope::Call;
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::event::EventKind;
use crate::model::ids::{Epoch, Generation, TaskId};
use crate::model::limits::{LIST_ITEMS, TEXT_BYTES, TITLE_BYTES, check_count, check_line, check_text};
use crate::model::project::Project;
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{
    Alias, Body, Criterion, DEFERRED_WITHOUT_DATE, Details, Kind, Lifecycle, Queue, Task, folded_title,
};
use crate::operation::task::{
    ArchiveTask, CreateTask, CreatedTask, DeferTask, EditTask, FindTask, ForceRelease, ListTasks, OpenTask,
    ReopenTask, ResumeTask, ShowTask, TaskAnswer, TaskList,
};
use crate::working_set::{About, Need, Page, Rows, Step, WorkingSet, together};

/// How many likely duplicates are told.
const DUPLICATES_TOLD: usize = 5;

impl Rule for CreateTask {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        let mut needs = vec![
            Need::Project(self.project.clone()),
            Need::Tallies(self.project.clone()),
            Need::Page(titled(&self.project, &self.title)),
        ];
        for other in self.blocked_by.iter().chain(&self.parents) {
            needs.extend([Need::Task(other.clone()), Need::DependenciesOf(other.clone())]);
        }
        needs
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<CreatedTask> {
        self.check()?;
        let project = project::existing(set, &self.project)?;
        let likely_duplicates = self.likely_duplicates(set)?;
        let id = TaskId { project: project.key.clone(), number: project.tasks_issued + 1 };
        set.projects.put(Project { tasks_issued: id.number, ..project });
        introduce(set, &id);
        put(set, call.now, self.row(&id, call))?;
        set.bodies.put(self.body(&id, call));
        let data =
            json!({ "title": self.title, "kind": self.kind.unwrap_or(Kind::Code), "planned": self.planned });
        set.record(EventKind::TaskCreated, About::task(&id, data));
        for alias in &self.aliases {
            name(set, &id, alias)?;
        }
        self.connect(set, &id)?;
        count_new(set, call.now, &BTreeSet::from([id.clone()]))?;
        Ok(CreatedTask { task: full(set, call, &id)?, likely_duplicates })
    }
}

fn titled(project: &crate::model::ids::ProjectKey, title: &str) -> Page {
    Page::Titled { project: project.clone(), title: folded_title(title) }
}

/// A number that was never issued has no rows anywhere: nothing of it needs to be asked for.
pub fn introduce(set: &mut WorkingSet, id: &TaskId) {
    use crate::working_set::records::{AttemptIndex, Side};
    set.tasks.load_absent(id.clone());
    set.bodies.load_absent(id.clone());
    set.aliases.cover(id.clone());
    set.dependencies.cover(Side::Of(id.clone()));
    set.dependencies.cover(Side::On(id.clone()));
    set.blockers.cover(id.clone());
    set.attempts.cover(AttemptIndex::Task(id.clone()));
    set.entries.cover(id.clone());
}

/// Gives a task another name, which nobody else has in the project.
fn name(set: &mut WorkingSet, id: &TaskId, alias: &str) -> Step<()> {
    if let Some(taken) = set.alias(&id.project, alias)? {
        let detail = format!("the alias {alias:?} belongs to {} already", taken.task);
        return Err(Refusal::new(Code::AlreadyExists, detail).fact("task", taken.task.to_string()).into());
    }
    set.aliases.put(Alias { project: id.project.clone(), alias: alias.to_owned(), task: id.clone() });
    Ok(())
}

/// Refuses a list whose entries are too many, empty, too long or have control characters.
fn check_lines(field: &str, lines: &[String]) -> Result<(), Refusal> {
    check_count(field, lines.len(), LIST_ITEMS)?;
    lines.iter().try_for_each(|line| check_line(field, line))
}

fn check_criteria(criteria: &[String]) -> Result<(), Refusal> {
    check_count("criteria", criteria.len(), LIST_ITEMS)?;
    criteria.iter().try_for_each(|text| check_text("criteria", text, TEXT_BYTES, false))
}

fn check_title(title: &str) -> Result<(), Refusal> {
    check_text("title", title, TITLE_BYTES, false)?;
    if title.contains(['\n', '\r']) {
        return Err(Refusal::field("title", "has more than one line", "move the rest to the description"));
    }
    Ok(())
}

impl CreateTask {
    fn check(&self) -> Result<(), Refusal> {
        check_title(&self.title)?;
        check_text("description", self.description.as_deref().unwrap_or(""), TEXT_BYTES, true)?;
        check_criteria(&self.criteria)?;
        let lists = [
            ("labels", &self.labels),
            ("specs", &self.specs),
            ("references", &self.references),
            ("aliases", &self.aliases),
            ("touches", &self.touches),
            ("resources", &self.resources),
        ];
        for (field, lines) in lists {
            check_lines(field, lines)?;
        }
        for (field, line) in [("source", &self.source), ("source_revision", &self.source_revision)] {
            line.iter().try_for_each(|line| check_line(field, line))?;
        }
        check_count("requires", self.requires.len(), LIST_ITEMS)?;
        check_count("blocked_by", self.blocked_by.len(), LIST_ITEMS)?;
        check_count("parents", self.parents.len(), LIST_ITEMS)
    }

    fn row(&self, id: &TaskId, call: &Call) -> Task {
        Task {
            id: id.clone(),
            lifecycle: if self.planned { Lifecycle::Planned } else { Lifecycle::Open },
            resolution: None,
            successor: None,
            kind: self.kind.unwrap_or(Kind::Code),
            priority: self.priority.unwrap_or_default(),
            archived: false,
            revision: 1,
            generation: Generation(0),
            held: false,
            own_blockers: 0,
            outer_blockers: 0,
            inherited_blockers: 0,
            ready_at: call.now.fleet,
            deferred_until: None,
            reserved: None,
            requires: self.requires.clone(),
        }
    }

    fn body(&self, id: &TaskId, call: &Call) -> Body {
        let mut details = Details {
            labels: self.labels.clone(),
            specs: self.specs.clone(),
            source: self.source.clone(),
            source_revision: self.source_revision.clone(),
            references: self.references.clone(),
            touches: self.touches.clone(),
            resources: self.resources.clone(),
            ..Details::default()
        };
        set_criteria(&mut details, &self.criteria);
        Body {
            task: id.clone(),
            title: self.title.clone(),
            description: self.description.clone().unwrap_or_default(),
            details,
            created_at: call.now.wall,
            updated_at: call.now.wall,
        }
    }

    fn likely_duplicates(&self, set: &WorkingSet) -> Step<Vec<TaskId>> {
        let Rows::Tasks(same) = set.page(&titled(&self.project, &self.title))? else {
            unreachable!("a page of tasks holds tasks")
        };
        let mut found = same.clone();
        for reference in &self.references {
            found.extend(set.alias(&self.project, reference)?.map(|alias| alias.task));
        }
        found.dedup();
        found.truncate(DUPLICATES_TOLD);
        Ok(found)
    }

    /// Puts the new task's edges in place. Only a task with parents can close a circle: nothing else leads to it.
    fn connect(&self, set: &mut WorkingSet, id: &TaskId) -> Step<()> {
        let waits = self.blocked_by.iter().map(|on| (DependencyKind::Blocks, on));
        let parents = self.parents.iter().map(|on| (DependencyKind::Parent, on));
        let found = self.discovered_from.iter().map(|on| (DependencyKind::DiscoveredFrom, on));
        for (kind, on) in waits.chain(parents).chain(found) {
            if on == id {
                return Err(Refusal::not_found("task", on).into());
            }
            let other = set.existing_task(on)?;
            if other.archived || (kind == DependencyKind::Parent && other.lifecycle.is_finished()) {
                let what = if other.archived { "archived" } else { other.lifecycle.as_str() };
                return Err(Refusal::new(Code::StateConflict, format!("{on} is {what}"))
                    .next("name another")
                    .into());
            }
            set.dependencies.load_absent((id.clone(), kind, on.clone()));
            set.dependencies.put(Dependency { task: id.clone(), kind, on: on.clone(), optional: false });
        }
        if self.parents.is_empty() {
            return Ok(());
        }
        for parent in &self.parents {
            check_parent(set, id, parent)?;
        }
        for on in &self.blocked_by {
            check_wait(set, id, on)?;
        }
        Ok(())
    }
}

/// Replaces the criteria; one whose text stays keeps its id, and an id is never given twice.
fn set_criteria(details: &mut Details, texts: &[String]) {
    let old = std::mem::take(&mut details.criteria);
    for text in texts {
        let kept = old.iter().find(|criterion| {
            criterion.text == *text && !details.criteria.iter().any(|taken| taken.id == criterion.id)
        });
        let criterion = match kept {
            Some(criterion) => criterion.clone(),
            None => {
                details.criteria_given += 1;
                Criterion { id: format!("c{}", details.criteria_given), text: text.clone() }
            }
        };
        details.criteria.push(criterion);
    }
}

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
        let data = json!({ "fields": changed, "revision": task.revision + 1 });
        set.record(EventKind::TaskEdited, About::task(&task.id, data));
        put(
            set,
            call.now,
            Task {
                kind: self.kind.unwrap_or(task.kind),
                priority: self.priority.unwrap_or(task.priority),
                requires: self.requires.clone().unwrap_or_else(|| task.requires.clone()),
                revision: task.revision + 1,
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
            set_criteria(details, criteria);
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
    Ok(TaskAnswer { task: full(set, call, id)?, entries: Vec::new() })
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
        put(set, call.now, Task { lifecycle: Lifecycle::Open, revision: task.revision + 1, ..task })?;
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
        let task = set.existing_task(&self.task)?;
        if task.held || task.lifecycle.is_finished() {
            return Err(conflict(&task, "deferred", "release it first").into());
        }
        let until = self.until.unwrap_or(DEFERRED_WITHOUT_DATE);
        let data = json!({ "until": self.until, "reason": self.reason, "reopening": self.reopening });
        set.record(EventKind::TaskDeferred, About::task(&task.id, data));
        let mut body = set.body(&task.id)?;
        body.details.deferred_reason = Some(self.reason.clone());
        body.details.deferred_reopening.clone_from(&self.reopening);
        set.bodies.put(body);
        put(set, call.now, Task { deferred_until: Some(until), revision: task.revision + 1, ..task })?;
        answer(set, call, &self.task)
    }
}

impl Rule for ResumeTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        let task = set.existing_task(&self.task)?;
        if task.deferred_until.is_none() {
            return Err(conflict(&task, "resumed", "only a deferred task is resumed").into());
        }
        end_deferral(set, call, task)?;
        answer(set, call, &self.task)
    }
}

/// Ends a deferral: by hand, or in the background once its date has passed.
pub fn end_deferral(set: &mut WorkingSet, call: &Call, task: Task) -> Step<()> {
    set.record(EventKind::TaskResumed, About::task(&task.id, json!({})));
    let mut body = set.body(&task.id)?;
    body.details.deferred_reason = None;
    body.details.deferred_reopening = None;
    set.bodies.put(body);
    put(set, call.now, Task { deferred_until: None, revision: task.revision + 1, ..task })
}

impl Rule for ArchiveTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        let task = set.existing_task(&self.task)?;
        if !task.lifecycle.is_finished() {
            return Err(conflict(&task, "archived", "close or cancel it first").into());
        }
        if !task.archived {
            set.record(EventKind::TaskArchived, About::task(&task.id, json!({})));
            put(set, call.now, Task { archived: true, revision: task.revision + 1, ..task })?;
        }
        answer(set, call, &self.task)
    }
}

impl Rule for ShowTask {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        let id = &self.task;
        vec![
            Need::Task(id.clone()),
            Need::Body(id.clone()),
            Need::AliasesOf(id.clone()),
            Need::DependenciesOf(id.clone()),
            Need::DependenciesOn(id.clone()),
            Need::Blockers(id.clone()),
        ]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        let task = full(set, call, &self.task)?;
        let entries = match self.entries {
            None => Vec::new(),
            Some(_) => {
                let rows = page_rows(self.entries)? as usize;
                set.entries_of(&self.task)?.into_iter().rev().take(rows).collect()
            }
        };
        Ok(TaskAnswer { task, entries })
    }
}

impl Rule for ListTasks {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskList> {
        project::existing(set, &self.project)?;
        let rows = page_rows(self.limit)?;
        let after = self.cursor.as_deref().map_or(Ok(0), |text| parse_cursor(text, call.epoch))?;
        let page =
            Page::Tasks { project: self.project.clone(), queues: self.queues(), after, count: rows + 1 };
        let Rows::Tasks(found) = set.page(&page)? else { unreachable!("a page of tasks holds tasks") };
        let shown = &found[..found.len().min(rows as usize)];
        let cursor = shown.last().filter(|_| found.len() > shown.len());
        Ok(TaskList {
            cursor: cursor.map(|last| format!("{}.{}", call.epoch, last.number)),
            tasks: summaries(set, call, shown)?,
            as_of: as_of(set, call),
        })
    }
}

impl ListTasks {
    /// The queues in which the tasks of the wanted stored state stand.
    fn queues(&self) -> Vec<Queue> {
        let open = [Queue::Held, Queue::Blocked, Queue::Deferred, Queue::Objective, Queue::Ready];
        let mut queues = match self.lifecycle {
            None => [open.as_slice(), &[Queue::Planned, Queue::Done, Queue::Cancelled]].concat(),
            Some(Lifecycle::Open) => open.to_vec(),
            Some(Lifecycle::Planned) => vec![Queue::Planned],
            Some(Lifecycle::Done) => vec![Queue::Done],
            Some(Lifecycle::Cancelled) => vec![Queue::Cancelled],
        };
        if self.archived {
            queues.push(Queue::Archived);
        }
        queues.sort_unstable();
        queues
    }
}

fn parse_cursor(text: &str, epoch: Epoch) -> Result<u64, Refusal> {
    let wrong = || Refusal::field("cursor", "is not one that this list gave", "start without a cursor");
    let (of, number) = text.split_once('.').ok_or_else(wrong)?;
    if of.parse::<u64>().map_err(|_| wrong())? != epoch.0 {
        return Err(
            Refusal::new(Code::EpochChanged, "the cursor is from before a restore").next("start anew")
        );
    }
    number.parse().map_err(|_| wrong())
}

impl Rule for FindTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_line("alias", &self.alias)?;
        project::existing(set, &self.project)?;
        match set.alias(&self.project, &self.alias)? {
            Some(alias) => answer(set, call, &alias.task),
            None => {
                let alias = crate::model::limits::excerpt(&self.alias);
                let what = format!("task in {} with the alias", self.project);
                Err(Refusal::not_found(&what, alias).into())
            }
        }
    }
}

impl Rule for ReopenTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let task = set.existing_task(&self.task)?;
        if !task.lifecycle.is_finished() {
            return Err(conflict(&task, "reopened", "only a finished task is reopened").into());
        }
        set.record(EventKind::TaskReopened, About::task(&task.id, json!({ "reason": self.reason })));
        let id = task.id.clone();
        put(
            set,
            call.now,
            Task {
                lifecycle: Lifecycle::Open,
                resolution: None,
                successor: None,
                archived: false,
                revision: task.revision + 1,
                ..task
            },
        )?;
        super::readiness::after_lifecycle(set, call, &id)?;
        for edge in set.dependencies_of(&id)? {
            if edge.kind == DependencyKind::Blocks {
                check_wait(set, &id, &edge.on)?;
            }
        }
        answer(set, call, &id)
    }
}

impl Rule for ForceRelease {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let task = set.existing_task(&self.task)?;
        let Some(attempt) = set.current_attempt(&task)? else {
            return Err(conflict(&task, "force-released", "nobody holds it").into());
        };
        let about = About::attempt(&attempt.id, json!({ "reason": self.reason, "forced": true }));
        set.record(EventKind::TaskReleased, about);
        set.attempts.put(crate::model::attempt::Attempt {
            state: crate::model::attempt::AttemptState::Cancelled,
            current: false,
            ended_at: Some(call.now.fleet),
            ..attempt
        });
        put(set, call.now, Task { held: false, reserved: None, ..task })?;
        answer(set, call, &self.task)
    }
}

/// The moments after which time alone changes what is true of a task, for background work.
#[must_use]
pub fn deferral_is_over(task: &Task, call: &Call) -> bool {
    task.deferred_until.is_some_and(|until| until <= call.now.wall)
}

/// Tasks of a list, each with its row.
pub fn rows(set: &WorkingSet, ids: &[TaskId]) -> Step<Vec<Task>> {
    together(ids.iter().map(|id| set.existing_task(id)))
}
