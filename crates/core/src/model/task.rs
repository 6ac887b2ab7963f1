//! A task: an intended outcome. The hot row holds what decides; the body holds what people read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{AttemptId, Capability, Digest, Generation, PrincipalName, ProjectKey, TaskId};
use super::text_enum::text_enum;
use super::time::{FleetTime, WallTime};

text_enum! {
    /// What kind of outcome a task intends.
    Kind {
        /// A change of code.
        Code = "code",
        /// Any other work.
        General = "general",
        /// Done through its children; never claimed itself.
        Objective = "objective",
    }
}

text_enum! {
    /// The stored part of a task's state; everything else is derived.
    Lifecycle {
        /// Written down, not yet offered.
        Planned = "planned",
        /// Offered as soon as nothing stands in its way.
        Open = "open",
        /// Finished with its outcome.
        Done = "done",
        /// Finished without its outcome.
        Cancelled = "cancelled",
    }
}

impl Lifecycle {
    /// Whether the task is over, with or without its outcome.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

text_enum! {
    /// Why a task is over.
    Resolution {
        /// The outcome was produced.
        Done = "done",
        /// The outcome was already there, with evidence.
        AlreadyDelivered = "already_delivered",
        /// Not wanted any more.
        Cancelled = "cancelled",
        /// Judged wrong to do.
        Rejected = "rejected",
        /// Another task is the same; that one stands in its place.
        Duplicate = "duplicate",
        /// Another task replaces it; that one stands in its place.
        Superseded = "superseded",
        /// Given up.
        Abandoned = "abandoned",
    }
}

impl Resolution {
    /// The lifecycle that a resolution ends in.
    #[must_use]
    pub fn lifecycle(self) -> Lifecycle {
        match self {
            Self::Done | Self::AlreadyDelivered => Lifecycle::Done,
            Self::Cancelled | Self::Rejected | Self::Duplicate | Self::Superseded | Self::Abandoned => {
                Lifecycle::Cancelled
            }
        }
    }

    /// Whether another task must be named that stands in this one's place.
    #[must_use]
    pub fn needs_successor(self) -> bool {
        matches!(self, Self::Duplicate | Self::Superseded)
    }
}

text_enum! {
    /// Which queue a task stands in, as far as facts that do not depend on time can tell.
    /// Kept by the rules in every write, counted per project, and indexed.
    Queue {
        /// Put away.
        Archived = "archived",
        /// Finished without its outcome.
        Cancelled = "cancelled",
        /// Finished with its outcome.
        Done = "done",
        /// Not yet offered.
        Planned = "planned",
        /// Has a current attempt, live or expired.
        Held = "held",
        /// Its own or an ancestor's blockers are open.
        Blocked = "blocked",
        /// Put off until a date or until somebody resumes it.
        Deferred = "deferred",
        /// An open objective: it waits for its children or to be closed.
        Objective = "objective",
        /// Nothing stands in its way.
        Ready = "ready",
    }
}

/// The date of a deferral that only a person or agent ends.
pub const DEFERRED_WITHOUT_DATE: WallTime = WallTime(i64::MAX);

/// The most urgent priority is 0, the least urgent is 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(#[schemars(range(min = 0, max = 4))] u8);

impl Priority {
    /// The least urgent.
    pub const LOWEST: Self = Self(4);

    /// The number, 0 to 4.
    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(2)
    }
}

impl TryFrom<u8> for Priority {
    type Error = String;
    fn try_from(number: u8) -> Result<Self, String> {
        if number <= 4 {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not a priority (0 most urgent to 4)"))
        }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

impl std::str::FromStr for Priority {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number: u8 =
            text.parse().map_err(|_| format!("{text:?} is not a priority (0 most urgent to 4)"))?;
        number.try_into()
    }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A handed-off task is kept for the agent it names until the window ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reservation {
    /// The agent it is kept for.
    pub principal: PrincipalName,
    /// When it opens to all.
    pub until: FleetTime,
}

/// The part of a task that decides: small, because every claim touches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The stored state.
    pub lifecycle: Lifecycle,
    /// Why it is over, if it is.
    pub resolution: Option<Resolution>,
    /// The task that stands in its place after a duplicate or superseded resolution.
    pub successor: Option<TaskId>,
    /// What kind of outcome it intends.
    pub kind: Kind,
    /// 0 most urgent to 4.
    pub priority: Priority,
    /// Put away; only a finished task can be.
    pub archived: bool,
    /// Raised by every edit of the task.
    pub revision: u64,
    /// Raised by every claim; the current attempt's number when there is one.
    pub generation: Generation,
    /// Whether an attempt is current: live, or expired and not yet recovered.
    pub held: bool,
    /// Unfinished blocking dependencies and open typed blockers of its own.
    pub own_blockers: u32,
    /// The same without those inside its own subtree: what it passes down to its children.
    pub outer_blockers: u32,
    /// How many of its parents hold it back: by what they wait for themselves, or by what stands above them.
    pub inherited_blockers: u32,
    /// Since when it has been ready, or will be by its deferral's date; orders the queue within a priority.
    pub ready_at: FleetTime,
    /// Put off until this wall time.
    pub deferred_until: Option<WallTime>,
    /// Kept for the agent that a handoff named.
    pub reserved: Option<Reservation>,
    /// What a session must offer to claim it.
    pub requires: Vec<Capability>,
}

impl Task {
    /// The id of the current attempt, if there is one.
    #[must_use]
    pub fn current_attempt(&self) -> Option<AttemptId> {
        self.held.then(|| AttemptId { task: self.id.clone(), generation: self.generation })
    }

    /// Whether something that it or an unfinished ancestor waits for is open.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.own_blockers > 0 || self.inherited_blockers > 0
    }

    /// The queue it stands in. Facts only: a deferral whose date has passed still counts as deferred here.
    #[must_use]
    pub fn queue(&self) -> Queue {
        match self.lifecycle {
            _ if self.archived => Queue::Archived,
            Lifecycle::Cancelled => Queue::Cancelled,
            Lifecycle::Done => Queue::Done,
            Lifecycle::Planned => Queue::Planned,
            Lifecycle::Open if self.held => Queue::Held,
            Lifecycle::Open if self.is_blocked() => Queue::Blocked,
            Lifecycle::Open if self.kind == Kind::Objective => Queue::Objective,
            Lifecycle::Open if self.deferred_until.is_some() => Queue::Deferred,
            Lifecycle::Open => Queue::Ready,
        }
    }

    /// Its place in the queue.
    #[must_use]
    pub fn rank(&self) -> Rank {
        Rank { priority: self.priority, ready_at: self.ready_at, number: self.id.number }
    }
}

/// The order of work: priority, then how long it has been ready, then number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Most urgent first.
    pub priority: Priority,
    /// Longest ready first.
    pub ready_at: FleetTime,
    /// Oldest first.
    pub number: u64,
}

impl Rank {
    /// Before every task.
    pub const FIRST: Self = Self { priority: Priority(0), ready_at: FleetTime(i64::MIN), number: 0 };
}

/// One acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    /// Its id within the task, e.g. `c1`; never given to another criterion of the task.
    pub id: String,
    /// What must hold.
    pub text: String,
}

/// What people and agents read of a task; not touched by a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The task it belongs to.
    pub task: TaskId,
    /// One line.
    pub title: String,
    /// Markdown, byte for byte as given.
    pub description: String,
    /// Everything else.
    pub details: Details,
    /// When the task was created.
    pub created_at: WallTime,
    /// When the task's fields were last edited.
    pub updated_at: WallTime,
}

/// The less-read fields of a task, stored together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Details {
    /// What must hold for the outcome to be accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// The number of the last criterion id that was given.
    #[serde(skip_serializing_if = "is_zero")]
    pub criteria_given: u64,
    /// Labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Links to specifications.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub specs: Vec<String>,
    /// Where the task came from, e.g. another tracker's name and id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The revision of the source that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_revision: Option<String>,
    /// External references, e.g. `owner/repo#12` or a URL; never fetched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Paths and components that the work is expected to touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// Names of resources that the work needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Why it is deferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_reason: Option<String>,
    /// What would end the deferral.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_reopening: Option<String>,
    /// Fields of an imported record that Tenure has no place for, verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<serde_json::Value>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A label, and how many tasks have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelCount {
    /// The label.
    pub label: String,
    /// How many unfinished tasks have it.
    pub unfinished: u64,
    /// How many finished tasks have it, archived ones too.
    pub finished: u64,
}

/// Another tracker's or platform's name for a task, e.g. `bd-1e12` or `owner/repo#12`; unique in its project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The project the name is used in.
    pub project: ProjectKey,
    /// The name.
    pub alias: String,
    /// The task it means.
    pub task: TaskId,
}

text_enum! {
    /// Why work cannot go on, when it is not another task.
    BlockerKind {
        /// Something outside the fleet must happen first.
        Dependency = "dependency",
        /// An imported cycle of dependencies; goes when an edge of the cycle goes.
        DependencyCycle = "dependency_cycle",
        /// Nobody here has the capability.
        Capability = "capability",
        /// A person must decide.
        HumanDecision = "human_decision",
        /// A release of something upstream must appear.
        UpstreamRelease = "upstream_release",
        /// A check fails for a reason that is not the task's own.
        VerificationFailure = "verification_failure",
        /// A permission is missing.
        Permission = "permission",
        /// Another tracker said it was blocked and not by what.
        Imported = "imported",
    }
}

/// A typed reason that a task cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// The task that is blocked.
    pub task: TaskId,
    /// Its number within the task, from 1.
    pub number: u64,
    /// What kind of reason.
    pub kind: BlockerKind,
    /// The reason in words.
    pub reason: String,
    /// What would resolve it.
    pub reopening: Option<String>,
    /// Who raised it.
    pub principal: PrincipalName,
    /// When it was raised.
    pub created_at: WallTime,
    /// When it was resolved.
    pub resolved_at: Option<WallTime>,
}

/// The digest of what an attempt agreed to do: title, description, criteria and kind, and nothing else.
#[must_use]
pub fn task_digest(kind: Kind, body: &Body) -> Digest {
    let agreed = serde_json::json!([kind, body.title, body.description, body.details.criteria]);
    crate::secret::digest("tenure task v1", &[agreed.to_string().as_bytes()])
}

/// A title as it is compared: lower-case words with single spaces between them. A title without any word (`???`, an
/// emoji) is compared as it stands.
#[must_use]
pub fn folded_title(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let folded = words.map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    if folded.is_empty() { title.trim().to_owned() } else { folded }
}

/// Whether two titles are compared as the same. Most differ in their first letters, and nothing further is looked at.
#[must_use]
pub fn is_same_title(one: &str, other: &str) -> bool {
    fn letters(title: &str) -> impl Iterator<Item = char> {
        let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.flat_map(|word| word.chars().flat_map(char::to_lowercase).chain([' ']))
    }
    letters(one).eq(letters(other)) && (letters(one).next().is_some() || one.trim() == other.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_compared_by_their_words_or_else_as_they_stand() {
        assert_eq!(folded_title("  Fix: the PARSER! "), folded_title("fix the parser"));
        assert_ne!(folded_title("???"), folded_title("!!!"));
        assert_eq!(folded_title("🚀 "), folded_title("🚀"));
        let titles = [
            "  Fix: the PARSER! ",
            "fix the parser",
            "fix the",
            "???",
            " ???",
            "!!!",
            "🚀 ",
            "🚀",
            "Ünï",
            "ünÏ.",
        ];
        for (one, other) in titles.iter().flat_map(|one| titles.iter().map(move |other| (one, other))) {
            let same = folded_title(one) == folded_title(other);
            assert_eq!(is_same_title(one, other), same, "{one:?} {other:?}");
        }
    }
}
