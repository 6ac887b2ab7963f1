//! The lines of an export between the first and the last: each read strictly, in the order of kinds and keys, and none
//! naming a record that is not there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::task::is_from_a_tracker;
use crate::import::{Wrong, value};
use crate::json;
use crate::model::attempt::Entry;
use crate::model::dependency::DependencyKind;
use crate::model::export::{AttemptLine, BlockerLine, DependencyLine, ProjectLine, TaskLine};
use crate::model::ids::{AttemptId, EventNumber, ProjectKey, TaskId};
use crate::model::limits::{EXPORT_DEPTH, IMPORT_RECORDS, WALL_MS_MAX, check_line, excerpt};
use crate::model::task::{DEFERRED_WITHOUT_DATE, Resolution};
use crate::model::time::WallTime;

/// A record and the line that it stands in.
pub(super) struct Numbered<T> {
    pub(super) number: u64,
    pub(super) line: T,
}

/// What a record is known by. The order of these is the order of an export's lines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Project(ProjectKey),
    Task(TaskId),
    Dependency(TaskId, DependencyKind, TaskId),
    Blocker(TaskId, u64),
    Entry(EventNumber),
    Attempt(AttemptId),
}

/// What was written and done about one task.
#[derive(Default)]
pub(super) struct Written {
    pub(super) blockers: Vec<BlockerLine>,
    pub(super) entries: Vec<Entry>,
    pub(super) attempts: Vec<AttemptLine>,
}

/// The records of a file.
pub(super) struct Records {
    pub(super) fleet: String,
    pub(super) lines: u64,
    pub(super) projects: BTreeMap<ProjectKey, Numbered<ProjectLine>>,
    pub(super) tasks: BTreeMap<TaskId, Numbered<TaskLine>>,
    pub(super) edges: Vec<Numbered<DependencyLine>>,
    written: BTreeMap<TaskId, Written>,
    last: Option<Key>,
}

impl Records {
    pub(super) fn new(fleet: String) -> Self {
        Self {
            fleet,
            // The frame is two.
            lines: 2,
            projects: BTreeMap::new(),
            tasks: BTreeMap::new(),
            edges: Vec::new(),
            written: BTreeMap::new(),
            last: None,
        }
    }

    /// Takes what was written about a task out of the records.
    pub(super) fn written(&mut self, task: &TaskId) -> Written {
        self.written.remove(task).unwrap_or_default()
    }

    /// Reads a line.
    pub(super) fn add(&mut self, number: u64, text: &str) -> Result<(), Wrong> {
        let value = value(text, EXPORT_DEPTH)?;
        self.lines += 1;
        let kind = value["record"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "project" => self.project(number, strict(value, &kind)?),
            "task" => self.task(number, strict(value, &kind)?),
            "dependency" => self.dependency(number, strict(value, &kind)?),
            "blocker" => self.blocker(strict(value, &kind)?),
            "entry" => self.entry(strict(value, &kind)?),
            "attempt" => self.attempt(strict(value, &kind)?),
            other => Err(format!("{:?} is no record that stands here", excerpt(other))),
        }
    }

    /// Records come by kind and key, and each once.
    fn in_order(&mut self, key: Key) -> Result<(), Wrong> {
        if self.last.as_ref().is_some_and(|last| *last >= key) {
            return Err("it stands after a record that comes after it, or is there twice".to_owned());
        }
        self.last = Some(key);
        Ok(())
    }

    /// A task that is named must be in the file.
    fn known(&self, id: &TaskId) -> Result<&TaskLine, Wrong> {
        let found = self.tasks.get(id).map(|task| &task.line);
        found.ok_or_else(|| format!("{id} is not in the file"))
    }

    fn project(&mut self, number: u64, line: ProjectLine) -> Result<(), Wrong> {
        self.in_order(Key::Project(line.key.clone()))?;
        check_line("name", &line.name).map_err(|refusal| refusal.detail)?;
        revision(line.revision)?;
        of_a_fleet("created_at", line.created_at)?;
        self.projects.insert(line.key.clone(), Numbered { number, line });
        Ok(())
    }

    fn task(&mut self, number: u64, line: TaskLine) -> Result<(), Wrong> {
        self.in_order(Key::Task(line.id.clone()))?;
        if !self.projects.contains_key(&line.id.project) {
            return Err(format!("its project {} is not in the file", line.id.project));
        }
        if self.tasks.len() == IMPORT_RECORDS {
            return Err(format!("the file has more than {IMPORT_RECORDS} tasks"));
        }
        revision(line.revision)?;
        let noted = noted(&line);
        noted("created_at", line.created_at)?;
        noted("updated_at", line.updated_at)?;
        if let Some(until) = line.deferred_until.filter(|until| *until != DEFERRED_WITHOUT_DATE) {
            moment("deferred_until", until)?;
        }
        self.tasks.insert(line.id.clone(), Numbered { number, line });
        Ok(())
    }

    fn dependency(&mut self, number: u64, line: DependencyLine) -> Result<(), Wrong> {
        self.in_order(Key::Dependency(line.task.clone(), line.kind, line.on.clone()))?;
        self.known(&line.task)?;
        if line.task == line.on && line.kind != DependencyKind::Blocks {
            return Err(format!("{} would have a relation to itself", line.task));
        }
        match (line.outside, self.projects.contains_key(&line.on.project)) {
            (None, _) => {
                self.known(&line.on)?;
            }
            (Some(_), false) => {}
            (Some(_), true) => {
                return Err(format!("{} is told to be outside, and its project is in the file", line.on));
            }
        }
        self.edges.push(Numbered { number, line });
        Ok(())
    }

    fn blocker(&mut self, line: BlockerLine) -> Result<(), Wrong> {
        self.in_order(Key::Blocker(line.task.clone(), line.number))?;
        let noted = noted(self.known(&line.task)?);
        noted("created_at", line.created_at)?;
        line.resolved_at.map_or(Ok(()), |at| noted("resolved_at", at))?;
        self.written.entry(line.task.clone()).or_default().blockers.push(line);
        Ok(())
    }

    fn entry(&mut self, line: Entry) -> Result<(), Wrong> {
        self.in_order(Key::Entry(line.number))?;
        noted(self.known(&line.task)?)("at", line.at)?;
        self.written.entry(line.task.clone()).or_default().entries.push(line);
        Ok(())
    }

    fn attempt(&mut self, line: AttemptLine) -> Result<(), Wrong> {
        self.in_order(Key::Attempt(line.id.clone()))?;
        self.known(&line.id.task)?;
        let attempts = &mut self.written.entry(line.id.task.clone()).or_default().attempts;
        if line.current && attempts.iter().any(|attempt| attempt.current) {
            return Err(format!("{} would have two current attempts", line.id.task));
        }
        attempts.push(line);
        Ok(())
    }

    /// What can be said only once every record is known: names mean one task each, and whoever stands in a task's place
    /// has the edge that says so.
    pub(super) fn check(&self) -> Result<(), (u64, Wrong)> {
        let edges: BTreeSet<(&TaskId, DependencyKind, &TaskId)> =
            self.edges.iter().map(|edge| (&edge.line.task, edge.line.kind, &edge.line.on)).collect();
        let mut names = BTreeSet::new();
        for Numbered { number, line } in self.tasks.values() {
            let wrong = |text: String| Err((*number, text));
            for alias in &line.aliases {
                if !names.insert((&line.id.project, alias)) {
                    return wrong(format!("the alias {:?} is another task's already", excerpt(alias)));
                }
            }
            // Who has one and may have none is told with the task's state.
            let may_have_one = line.resolution.is_some_and(Resolution::needs_successor);
            let Some(successor) = line.successor.as_ref().filter(|_| may_have_one) else { continue };
            if self.tasks.contains_key(successor) {
                let (from, kind, on) = if line.resolution == Some(Resolution::Duplicate) {
                    (&line.id, DependencyKind::Duplicates, successor)
                } else {
                    (successor, DependencyKind::Supersedes, &line.id)
                };
                if !edges.contains(&(from, kind, on)) {
                    return wrong(format!("no record says that {from} {kind} {on}"));
                }
            } else if self.projects.contains_key(&successor.project) {
                return wrong(format!("its successor {successor} is not in the file"));
            }
        }
        Ok(())
    }
}

/// Refuses a moment that no calendar has. Other trackers may name one long before our era.
fn moment(field: &str, at: WallTime) -> Result<(), Wrong> {
    if (-2 * WALL_MS_MAX..=WALL_MS_MAX).contains(&at.0) {
        Ok(())
    } else {
        Err(format!("{field}: {} is no moment before the year 10000", at.0))
    }
}

/// What is said of the moments of a task: those of another tracker were kept as they were.
fn noted(task: &TaskLine) -> fn(&str, WallTime) -> Result<(), Wrong> {
    if is_from_a_tracker(task) { moment } else { of_a_fleet }
}

/// The same of a moment that a fleet noted itself.
fn of_a_fleet(field: &str, at: WallTime) -> Result<(), Wrong> {
    if at.0 < 0 {
        return Err(format!("{field}: {} is before 1970, and no fleet has noted such a moment", at.0));
    }
    moment(field, at)
}

/// Refuses what no count of edits is. The first of them makes the record.
fn revision(revision: u64) -> Result<(), Wrong> {
    if (1..=i64::MAX.unsigned_abs()).contains(&revision) {
        Ok(())
    } else {
        Err(format!("revision: {revision} is not a number of 1 to {}", i64::MAX))
    }
}

/// Reads a record of which nothing may be left over: what is read must be written again as it stood there.
pub(super) fn strict<T: DeserializeOwned + Serialize>(mut value: Value, kind: &str) -> Result<T, Wrong> {
    if let Value::Object(map) = &mut value {
        map.remove("record");
    }
    let read: T = json::parse(value.clone()).map_err(|refusal| refusal.detail)?;
    let written = serde_json::to_value(&read).expect("records are plain data and always serialise");
    match difference(&value, &written, "") {
        None => Ok(read),
        Some(field) => Err(format!("{field}: an export writes no such value in a record of kind {kind}")),
    }
}

/// The first place at which what was read is not what is written.
fn difference(read: &Value, written: &Value, place: &str) -> Option<String> {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            let inner = |name: &str| {
                let name = excerpt(name);
                if place.is_empty() { name } else { format!("{place}.{name}") }
            };
            let other = read.iter().find_map(|(name, read)| {
                written
                    .get(name)
                    .map_or_else(|| Some(inner(name)), |written| difference(read, written, &inner(name)))
            });
            other.or_else(|| written.keys().find(|name| !read.contains_key(*name)).map(|name| inner(name)))
        }
        (Value::Array(read), Value::Array(written)) if read.len() == written.len() => {
            let pairs = read.iter().zip(written).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (read, written))| difference(read, written, &format!("{place}[{index}]")))
        }
        (read, written) => (read != written).then(|| place.to_owned()),
    }
}
