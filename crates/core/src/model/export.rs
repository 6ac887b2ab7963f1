//! The lines of an export: everything that Tenure knows about tasks, as JSON, one record a line.
//!
//! A header, the records by kind and key, and a last line that vouches for all before it. The same state gives the same
//! bytes, so nothing here depends on the moment of the export. What is authority or a secret (sessions, lease tokens,
//! proofs, deadlines) has no field here, and events and receipts are a backup's.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::attempt::{Attempt, AttemptMode, AttemptState, Disposition, Entry};
use super::dependency::{Dependency, DependencyKind};
use super::ids::{AttemptId, Capability, Digest, Generation, PrincipalName, ProjectKey, TaskId};
use super::project::{Binding, Policy, Project};
use super::task::{
    Blocker, BlockerKind, Body, Details, Kind, Lifecycle, Priority, Reservation, Resolution, Task,
};
use super::time::{FleetTime, WallTime};

/// The name that an export's header gives its format.
pub const FORMAT: &str = "tenure-export";
/// The version of the format that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// One line. The kinds stand in the order in which their records follow each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// A project.
    Project(ProjectLine),
    /// A task.
    Task(Box<TaskLine>),
    /// An edge between two tasks.
    Dependency(DependencyLine),
    /// A typed blocker.
    Blocker(BlockerLine),
    /// A note, checkpoint, handoff, completion or lesson.
    Entry(Entry),
    /// One session's try at a task.
    Attempt(AttemptLine),
    /// The last line.
    End(End),
}

impl Line {
    /// The line as it is written, with its end.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("records are plain data and always serialise");
        text.push('\n');
        text
    }
}

/// What the file is, and whose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The id of the fleet that it was exported from.
    pub fleet: String,
}

impl Header {
    /// The header of a fleet's export.
    #[must_use]
    pub fn of(fleet: &str) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, fleet: fleet.to_owned() }
    }
}

/// What vouches for all lines before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How many they are, the header among them.
    pub lines: u64,
    /// The SHA-256 of their bytes, line ends included.
    pub sha256: Digest,
}

/// A place in a repository that is bound to the project of its line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The repository's identity.
    pub repository: String,
    /// The folder inside it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

/// A project with its policy and bindings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectLine {
    /// Its key.
    pub key: ProjectKey,
    /// Its name for people.
    pub name: String,
    /// What it demands.
    pub policy: Policy,
    /// The places that are bound to it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Place>,
    /// Raised by every edit.
    pub revision: u64,
    /// When it was created.
    pub created_at: WallTime,
}

impl ProjectLine {
    /// The line of a project.
    #[must_use]
    pub fn of(project: Project, bindings: Vec<Binding>) -> Self {
        let place = |binding: Binding| Place { repository: binding.repository, folder: binding.folder };
        Self {
            key: project.key,
            name: project.name,
            policy: project.policy,
            bindings: bindings.into_iter().map(place).collect(),
            revision: project.revision,
            created_at: project.created_at,
        }
    }
}

/// A task with all its fields. What is counted or derived (its queue, its open blockers) is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskLine {
    /// Its id.
    pub id: TaskId,
    /// One line.
    pub title: String,
    /// What kind of outcome it intends.
    pub kind: Kind,
    /// 0 most urgent to 4.
    pub priority: Priority,
    /// The stored state.
    pub lifecycle: Lifecycle,
    /// Why it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The task that stands in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<TaskId>,
    /// Put away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Names of it in other trackers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// What a session must offer to claim it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Capability>,
    /// Put off until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_until: Option<WallTime>,
    /// For whom a handoff keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reservation>,
    /// Markdown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Everything else that is read of it.
    #[serde(flatten)]
    pub details: Details,
    /// Raised by every edit.
    pub revision: u64,
    /// Raised by every claim.
    pub generation: Generation,
    /// When it was created.
    pub created_at: WallTime,
    /// When its fields were last edited.
    pub updated_at: WallTime,
}

impl TaskLine {
    /// The line of a task.
    #[must_use]
    pub fn of(task: Task, body: Body, mut aliases: Vec<String>) -> Self {
        aliases.sort();
        Self {
            id: task.id,
            title: body.title,
            kind: task.kind,
            priority: task.priority,
            lifecycle: task.lifecycle,
            resolution: task.resolution,
            successor: task.successor,
            archived: task.archived,
            aliases,
            requires: task.requires,
            deferred_until: task.deferred_until,
            reserved: task.reserved,
            description: body.description,
            details: body.details,
            revision: task.revision,
            generation: task.generation,
            created_at: body.created_at,
            updated_at: body.updated_at,
        }
    }
}

/// An edge. It is exported with the task that has the relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyLine {
    /// The task that has the relation.
    pub task: TaskId,
    /// What the relation is.
    pub kind: DependencyKind,
    /// The task it has it to.
    pub on: TaskId,
    /// A child that its objective may be closed without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Where the other task stood, if that is of a project which is not exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Lifecycle>,
}

impl DependencyLine {
    /// The line of an edge.
    #[must_use]
    pub fn of(edge: Dependency, outside: Option<Lifecycle>) -> Self {
        Self { task: edge.task, kind: edge.kind, on: edge.on, optional: edge.optional, outside }
    }
}

/// A typed blocker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockerLine {
    /// The task that is blocked.
    pub task: TaskId,
    /// Its number within the task.
    pub number: u64,
    /// What kind of reason.
    pub kind: BlockerKind,
    /// The reason in words.
    pub reason: String,
    /// What would resolve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopening: Option<String>,
    /// Who raised it.
    pub raised_by: PrincipalName,
    /// When it was raised.
    pub created_at: WallTime,
    /// When it was resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<WallTime>,
}

impl From<Blocker> for BlockerLine {
    fn from(blocker: Blocker) -> Self {
        Self {
            task: blocker.task,
            number: blocker.number,
            kind: blocker.kind,
            reason: blocker.reason,
            reopening: blocker.reopening,
            raised_by: blocker.principal,
            created_at: blocker.created_at,
            resolved_at: blocker.resolved_at,
        }
    }
}

/// Who worked on a task, and how it ended. What gave authority is not told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptLine {
    /// Task and generation.
    pub id: AttemptId,
    /// Who made it.
    pub principal: PrincipalName,
    /// How it began.
    pub mode: AttemptMode,
    /// Where it stands, as recorded.
    pub state: AttemptState,
    /// Whether it is the task's current attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub current: bool,
    /// The generation of the expired attempt that it recovers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovers: Option<Generation>,
    /// What it decided about the work it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<Disposition>,
    /// When it began, in the fleet's own time.
    pub started_at: FleetTime,
    /// When it ended, in the fleet's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<FleetTime>,
}

impl From<Attempt> for AttemptLine {
    fn from(attempt: Attempt) -> Self {
        Self {
            id: attempt.id,
            principal: attempt.principal,
            mode: attempt.mode,
            state: attempt.state,
            current: attempt.current,
            recovers: attempt.recovers,
            disposition: attempt.disposition,
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
        }
    }
}

/// The name of a fleet's task in every other fleet: an alias there, by which an import knows it again.
#[must_use]
pub fn identity(fleet: &str, task: &TaskId) -> String {
    format!("{fleet}/{task}")
}

/// Whether a name is that of some fleet's task.
#[must_use]
pub fn is_identity(name: &str) -> bool {
    let is_fleet = |text: &str| text.len() == 32 && text.bytes().all(|b| b"0123456789abcdef".contains(&b));
    name.split_once('/').is_some_and(|(fleet, task)| is_fleet(fleet) && task.parse::<TaskId>().is_ok())
}

/// Counts and hashes lines, as the last line of an export does of all before it.
#[derive(Debug, Clone, Default)]
pub struct Seal {
    lines: u64,
    hash: Sha256,
}

impl Seal {
    /// Takes a further line, its end included.
    pub fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        self.hash.update(line);
    }

    /// What the last line says after these.
    #[must_use]
    pub fn end(self) -> End {
        End { lines: self.lines, sha256: Digest(self.hash.finalize().into()) }
    }
}

/// What stands before the values of a last line.
const END: &str = r#"{"record":"end","#;

/// What a line says if it is the last one of an export: whole, with its end.
#[must_use]
pub fn read_end(line: &[u8]) -> Option<End> {
    if !line.starts_with(END.as_bytes()) || line.last() != Some(&b'\n') {
        return None;
    }
    let end: End = serde_json::from_slice(line).ok()?;
    (Line::End(end.clone()).text().as_bytes() == line).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_is_read_as_it_is_written_and_no_other_is_one() {
        let mut seal = Seal::default();
        seal.add(b"a\n");
        let end = seal.clone().end();
        let text = Line::End(end.clone()).text();
        // As `printf 'a\n' | sha256sum` prints it.
        let sha256 = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7";
        assert_eq!(text, format!("{{\"record\":\"end\",\"lines\":1,\"sha256\":\"{sha256}\"}}\n"));
        assert_eq!(read_end(text.as_bytes()), Some(end));
        for other in [text.trim_end(), &text.replace(':', ": "), "{\"record\":\"end\",\"lines\":1}\n", "\n"] {
            assert_eq!(read_end(other.as_bytes()), None, "{other}");
        }
        assert_eq!(Line::Header(Header::of("f")).text().lines().count(), 1);
    }
}
