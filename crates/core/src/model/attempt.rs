//! An attempt: one session's try at a task, the lease that gives it authority, and what it recorded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{
    AttemptId, Digest, EventNumber, Generation, OperationId, PrincipalName, ReporterId, SessionId, TaskId,
};
use super::text_enum::text_enum;
use super::time::{FleetTime, WallTime};

text_enum! {
    /// Where an attempt stands. Expired is derived from the deadline until somebody records it.
    AttemptState {
        /// The session is working, as long as the lease lives.
        Active = "active",
        /// The lease ended first.
        Expired = "expired",
        /// Given back without a result.
        Released = "released",
        /// Given back with a note for the next.
        HandedOff = "handed_off",
        /// Finished the task.
        Closed = "closed",
        /// Ended because the task was cancelled or force-released.
        Cancelled = "cancelled",
        /// A restore of the fleet made it void. It is recovered like an expired one.
        Voided = "voided",
        /// Another tracker's attempt, over before it came here.
        Imported = "imported",
    }
}

text_enum! {
    /// How an attempt began.
    AttemptMode {
        /// On work that nobody had left unfinished.
        Fresh = "fresh",
        /// On what an expired attempt left.
        Recovery = "recovery",
    }
}

text_enum! {
    /// What a recovering session decided about the work it found.
    Disposition {
        /// Go on from the saved work.
        Resume = "resume",
        /// The result is already there.
        AlreadyDelivered = "already_delivered",
        /// Begin anew, for a stated reason.
        Restart = "restart",
        /// It cannot go on, for a stated reason.
        Blocked = "blocked",
    }
}

/// One session's try at a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Task and generation.
    pub id: AttemptId,
    /// The session that claimed.
    pub session: SessionId,
    /// Its principal.
    pub principal: PrincipalName,
    /// Where it stands.
    pub state: AttemptState,
    /// How it began.
    pub mode: AttemptMode,
    /// Whether it is the task's current attempt. At most one is.
    pub current: bool,
    /// SHA-256 of the lease token.
    pub token_hash: Digest,
    /// The claim's operation id, from which the client derives the token.
    pub claim_operation: OperationId,
    /// Length of the lease that a heartbeat renews, in milliseconds.
    pub lease_ms: i64,
    /// When the lease ends. Equality is expired.
    pub deadline: FleetTime,
    /// When it began.
    pub started_at: FleetTime,
    /// The last sign of life.
    pub heartbeat_at: FleetTime,
    /// The operation id of the last heartbeat: a repeated heartbeat answers the same.
    pub heartbeat_operation: Option<OperationId>,
    /// The last progress: a note, a checkpoint or evidence.
    pub progress_at: FleetTime,
    /// The digest of the task as it was agreed.
    pub task_digest: Digest,
    /// The expired attempt that this one recovers.
    pub recovers: Option<Generation>,
    /// What the recovering session decided.
    pub disposition: Option<Disposition>,
    /// Whether somebody asked the holder to stop.
    pub cancel_requested: bool,
    /// When it ended.
    pub ended_at: Option<FleetTime>,
    /// The reporter that was made for it last.
    pub reporter: Option<ReporterId>,
}

impl Attempt {
    /// Whether the lease gives authority at this moment.
    #[must_use]
    pub fn is_live(&self, now: FleetTime) -> bool {
        self.current && self.state == AttemptState::Active && !now.has_reached(self.deadline)
    }

    /// Where it stands at this moment, whether or not somebody recorded that its lease ended.
    #[must_use]
    pub fn state_at(&self, now: FleetTime) -> AttemptState {
        if self.state == AttemptState::Active && now.has_reached(self.deadline) {
            AttemptState::Expired
        } else {
            self.state
        }
    }
}

text_enum! {
    /// What an entry in a task's record is.
    EntryKind {
        /// A remark.
        Note = "note",
        /// Recorded progress.
        Checkpoint = "checkpoint",
        /// What the next one should know.
        Handoff = "handoff",
        /// A remark stored after its lease had ended; it changes nothing.
        RecoveryNote = "recovery_note",
        /// What a recovering session decided.
        Disposition = "disposition",
        /// Why an operator took it from its holder, or reopened it.
        Intervention = "intervention",
        /// How the task ended.
        Completion = "completion",
        /// A lesson for later work.
        Lesson = "lesson",
    }
}

text_enum! {
    /// What had become of the changes when a checkpoint was taken.
    TreeState {
        /// Uncommitted changes are in the checkout.
        Dirty = "dirty",
        /// Everything is committed, not pushed.
        Committed = "committed",
        /// The commit is on the remote.
        Pushed = "pushed",
    }
}

/// Where the work is in Git. Recorded as told; Tenure claims nothing about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct Evidence {
    /// The branch
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long))]
    pub branch: Option<String>,
    /// The commit, in full
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long))]
    pub commit: Option<String>,
    /// The commit that brought it into the target branch
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long))]
    pub merge_commit: Option<String>,
    /// The pull request, as a URL or `owner/repo#12`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long))]
    pub pull_request: Option<String>,
}

impl Evidence {
    /// The commit that the work is in; the one that brought it into the target branch if only that is told.
    #[must_use]
    pub fn landed_in(&self) -> Option<&str> {
        self.commit.as_deref().or(self.merge_commit.as_deref())
    }

    /// Whether nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The structured part of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EntryData {
    /// Who wrote it in another fleet, as the imported file says. It proves nothing: `principal` is who imported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<PrincipalName>,
    /// Where the work is in Git.
    #[serde(skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// What had become of the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeState>,
    /// What a recovering session decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposition: Option<Disposition>,
    /// Answers to the task's criteria, by criterion id.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub criteria: std::collections::BTreeMap<String, String>,
}

/// One entry of a task's record, numbered by the event that recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The event that recorded it.
    pub number: EventNumber,
    /// The task it belongs to.
    pub task: TaskId,
    /// The attempt that wrote it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// What it is.
    pub kind: EntryKind,
    /// Who wrote it.
    pub principal: PrincipalName,
    /// When, by the wall clock, in milliseconds since 1970.
    pub at: WallTime,
    /// The text, byte for byte as given.
    pub text: String,
    /// The structured part.
    #[serde(flatten)]
    pub data: EntryData,
}
