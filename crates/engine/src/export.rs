//! Writing an export: one committed state as lines (`model/export.rs`), in one question and in bounded memory.
//!
//! Whoever waits for a slow reader does so after this: the lines go into a file first, and the question is over when the
//! last of them is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};

use tenure_core::model::dependency::Dependency;
use tenure_core::model::event::Fleet;
use tenure_core::model::export::{
    AttemptLine, BlockerLine, DependencyLine, Header, Line, ProjectLine, Seal, TaskLine,
};
use tenure_core::model::ids::{Anchor, ProjectKey, TaskId};
use tenure_core::model::project::{Binding, Project};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::task::{Alias, Blocker, Body, Lifecycle, Queue, Task};
use tenure_core::mutant::Mutant;
use tenure_core::working_set::table::{Record, Table};

use crate::store::driver::{Class, Driver, StoreError, Values};
use crate::store::rows::{Lookup, Stored, load_by_key};
use crate::store::state::in_one_state;
use crate::store::{attempt, body, entry, graph, page, project, task};

/// How many tasks are looked at at once. A body can be long, so the memory of an export is this many of the longest.
const TASKS: u32 = 64;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// How many lines.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Where the record ended.
    pub anchor: Anchor,
}

/// Why there is no export.
#[derive(Debug)]
pub enum ExportError {
    /// There is no such project.
    Unknown(ProjectKey),
    /// The store could not be read.
    Store(StoreError),
    /// The lines could not be written.
    Write(io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(key) => write!(f, "there is no project {key}"),
            Self::Store(error) => error.fmt(f),
            Self::Write(error) => write!(f, "the export could not be written: {error}"),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ExportError> for Refusal {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Unknown(key) => {
                Self::not_found("project", key).next("`tenure project list` shows the projects")
            }
            ExportError::Store(error) => crate::Failure::CannotTell(error).into(),
            ExportError::Write(error) if is_full(error.kind()) => {
                let detail = "the disk of the store has no room for the export while it is read";
                Self::new(Code::DiskFull, detail).next("make room, and repeat the command")
            }
            ExportError::Write(error) => {
                let detail = format!("the export could not be written: {}", error.kind());
                Self::new(Code::CannotTell, detail).next("check the disk, and repeat the command")
            }
        }
    }
}

fn is_full(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Writes the last committed state: of these projects, or of all when none are named. The same state gives the same
/// bytes.
pub fn write(
    driver: &mut dyn Driver,
    projects: &[ProjectKey],
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    in_one_state(driver, |driver, fleet| write_within(driver, &fleet, projects, out))
}

/// The same within a state, of which this is the fleet row.
pub(crate) fn write_within(
    driver: &mut dyn Driver,
    fleet: &Fleet,
    projects: &[ProjectKey],
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let mut chosen = project::every_project(driver)?;
    if let Some(unknown) = projects.iter().find(|key| chosen.iter().all(|project| project.key != **key)) {
        return Err(ExportError::Unknown(unknown.clone()));
    }
    chosen.retain(|project| projects.is_empty() || projects.contains(&project.key));
    let chosen: BTreeMap<ProjectKey, Project> =
        chosen.into_iter().map(|project| (project.key.clone(), project)).collect();
    let anchor = Anchor { event: fleet.event, hash: fleet.head };
    let mut lines = Lines { out, seal: Seal::default(), written: Exported { lines: 0, bytes: 0, anchor } };
    let mut header = Header::of(&fleet.id);
    if Mutant::ExportTellsWhen.is_on() {
        header.fleet = format!("{}-{}", fleet.id, fleet.event);
    }
    lines.write(&Line::Header(header))?;
    write_projects(driver, &chosen, &mut lines)?;
    let keys: Vec<&ProjectKey> = chosen.keys().collect();
    in_pages(driver, &keys, &mut |driver, tasks| write_tasks(driver, tasks, &mut lines))?;
    in_pages(driver, &keys, &mut |driver, tasks| write_edges(driver, &chosen, &tasks, &mut lines))?;
    in_pages(driver, &keys, &mut |driver, tasks| write_blockers(driver, &tasks, &mut lines))?;
    lines.write_answers(|each| {
        entry::every_entry(driver, &mut |entry| {
            if chosen.contains_key(&entry.task.project) { each(Line::Entry(entry)) } else { Ok(()) }
        })
    })?;
    in_pages(driver, &keys, &mut |driver, tasks| write_attempts(driver, &tasks, &mut lines))?;
    lines.finish()
}

/// The lines as they are written, and the seal over them.
struct Lines<'a> {
    out: &'a mut dyn Write,
    seal: Seal,
    written: Exported,
}

impl Lines<'_> {
    fn write(&mut self, line: &Line) -> Result<(), ExportError> {
        let text = line.text();
        self.seal.add(text.as_bytes());
        self.put(&text)
    }

    /// Writes the lines that a question hands over. A question knows only errors of the store, so what went wrong with a
    /// line is kept beside it.
    fn write_answers(
        &mut self,
        ask: impl FnOnce(&mut dyn FnMut(Line) -> Result<(), StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), ExportError> {
        let mut failed = None;
        let asked = ask(&mut |line| {
            self.write(&line).map_err(|error| {
                failed = Some(error);
                StoreError::new(Class::Other, "the export could not be written")
            })
        });
        failed.map_or(Ok(()), Err)?;
        Ok(asked?)
    }

    fn put(&mut self, text: &str) -> Result<(), ExportError> {
        self.written.lines += 1;
        self.written.bytes += text.len() as u64;
        self.out.write_all(text.as_bytes()).map_err(ExportError::Write)
    }

    fn finish(mut self) -> Result<Exported, ExportError> {
        let end = Line::End(std::mem::take(&mut self.seal).end());
        self.put(&end.text())?;
        self.out.flush().map_err(ExportError::Write)?;
        Ok(self.written)
    }
}

/// What is done with some tasks.
type EachTasks<'a> = dyn FnMut(&mut dyn Driver, Vec<Task>) -> Result<(), ExportError> + 'a;

/// Goes through the tasks of some projects by project and number, some of them at a time.
fn in_pages(
    driver: &mut dyn Driver,
    projects: &[&ProjectKey],
    each: &mut EachTasks<'_>,
) -> Result<(), ExportError> {
    for key in projects {
        let mut after = 0;
        loop {
            let tasks = page::by_number(driver, key, Queue::ALL, after, TASKS)?;
            let Some(last) = tasks.last() else { break };
            after = last.id.number;
            each(driver, tasks)?;
        }
    }
    Ok(())
}

fn write_projects(
    driver: &mut dyn Driver,
    chosen: &BTreeMap<ProjectKey, Project>,
    lines: &mut Lines<'_>,
) -> Result<(), ExportError> {
    let mut places: BTreeMap<ProjectKey, Vec<Binding>> = BTreeMap::new();
    for binding in project::every_binding(driver)? {
        places.entry(binding.project.clone()).or_default().push(binding);
    }
    for (key, project) in chosen {
        let bindings = places.remove(key).unwrap_or_default();
        lines.write(&Line::Project(ProjectLine::of(project.clone(), bindings)))?;
    }
    Ok(())
}

/// The rows that some tasks have under a lookup by their id.
fn rows_of<R: Stored>(
    driver: &mut dyn Driver,
    lookup: &Lookup,
    tasks: &[Task],
    each: &mut dyn FnMut(R),
) -> Result<(), StoreError> {
    let mut values = Values::default();
    tasks.iter().for_each(|task| values.shown(&task.id));
    // A lookup repeats its last key to fill up a statement; the database answers each once all the same.
    lookup.ask(driver, values, &mut |fields| {
        each(R::read(fields)?);
        Ok(())
    })
}

fn write_tasks(driver: &mut dyn Driver, tasks: Vec<Task>, lines: &mut Lines<'_>) -> Result<(), ExportError> {
    let mut bodies: BTreeMap<TaskId, Body> = BTreeMap::new();
    rows_of(driver, &body::BY_TASK, &tasks, &mut |body: Body| bodies.extend([(body.task.clone(), body)]))?;
    let mut aliases: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
    rows_of(driver, &body::ALIASES_OF, &tasks, &mut |row: Alias| {
        aliases.entry(row.task).or_default().push(row.alias);
    })?;
    for task in tasks {
        let body = bodies.remove(&task.id);
        let body = body.ok_or_else(|| StoreError::corrupt(format!("{} has no body", task.id)))?;
        let aliases = aliases.remove(&task.id).unwrap_or_default();
        lines.write(&Line::Task(Box::new(TaskLine::of(task, body, aliases))))?;
    }
    Ok(())
}

fn write_edges(
    driver: &mut dyn Driver,
    chosen: &BTreeMap<ProjectKey, Project>,
    tasks: &[Task],
    lines: &mut Lines<'_>,
) -> Result<(), ExportError> {
    let mut edges = BTreeSet::new();
    rows_of(driver, &graph::OF, tasks, &mut |edge: Dependency| edges.extend([edge]))?;
    let is_outside = |id: &TaskId| !chosen.contains_key(&id.project);
    let others = edges.iter().map(|edge| edge.on.clone()).filter(is_outside).collect();
    let mut outside: Table<Task> = Table::default();
    load_by_key(driver, &mut outside, &task::BY_ID, others)?;
    for edge in edges {
        let lifecycle = |id: &TaskId| -> Option<Lifecycle> { Some(outside.get(id)??.lifecycle) };
        let told = is_outside(&edge.on).then(|| lifecycle(&edge.on)).flatten();
        lines.write(&Line::Dependency(DependencyLine::of(edge, told)))?;
    }
    Ok(())
}

fn write_blockers(driver: &mut dyn Driver, tasks: &[Task], lines: &mut Lines<'_>) -> Result<(), ExportError> {
    let mut blockers: BTreeMap<(TaskId, u64), Blocker> = BTreeMap::new();
    rows_of(driver, &graph::BLOCKERS, tasks, &mut |row: Blocker| blockers.extend([(row.key(), row)]))?;
    for blocker in blockers.into_values() {
        lines.write(&Line::Blocker(BlockerLine::from(blocker)))?;
    }
    Ok(())
}

/// A task that was never claimed has no attempts.
fn write_attempts(driver: &mut dyn Driver, tasks: &[Task], lines: &mut Lines<'_>) -> Result<(), ExportError> {
    for task in tasks.iter().filter(|task| task.generation.0 > 0) {
        lines.write_answers(|each| {
            attempt::every_attempt_of(driver, &task.id, &mut |attempt| {
                each(Line::Attempt(AttemptLine::from(attempt)))
            })
        })?;
    }
    Ok(())
}
