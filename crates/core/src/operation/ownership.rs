//! The loop: claim, heartbeat, note, checkpoint, hand off, release, close; and taking over what expired.

use std::collections::BTreeMap;

use super::view::{AttemptView, RecoveryPacket, TaskView};
use super::{Answer, input, operation, output};
use crate::model::attempt::{AttemptMode, Disposition, Evidence, TreeState};
use crate::model::ids::{
    AttemptId, Digest, EventNumber, Generation, OperationId, PrincipalName, ProjectKey, TaskId,
};
#[cfg(feature = "cli")]
use crate::model::task::Lifecycle;
use crate::model::task::Resolution;
use crate::model::time::FleetTime;

input! {
    /// Take a task, or the next one that is eligible
    ///
    /// A session that names a task it holds, or names none while it holds one there, gets that one back. Expired
    /// work is taken over in recovery mode, after fresh work of equal priority.
    pub struct Claim {
        /// The task; the next eligible one when absent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub task: Option<TaskId>,
        /// The projects to take from when no task is named
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub projects: Vec<ProjectKey>,
        /// Take a further task although one is held already
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub another: bool,
        /// Leave expired work to others
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub no_recovery: bool,
        /// How long to wait inside the call until the claim can be granted, in milliseconds (up to 60000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub wait_ms: Option<i64>,
    }
}
operation!(Claim -> Claimed, "claim", Post "/claims", Write, Session, None,
    [NotFound, AmbiguousProject, LeaseHeld, Reserved, NotReady, LimitReached, NothingEligible, ManualRecovery]);

output! {
    /// What a claim gave.
    pub struct Claimed {
        /// The task.
        pub task: TaskView,
        /// The attempt.
        pub attempt: AttemptId,
        /// The task's ownership number.
        pub generation: Generation,
        /// When the lease ends, in fleet time.
        pub deadline: FleetTime,
        /// How long the lease lasts from now, in milliseconds.
        #[serde(default)]
        pub expires_in_ms: i64,
        /// How often to heartbeat, in milliseconds.
        pub heartbeat_ms: i64,
        /// Whether it was held already.
        pub resumed: bool,
        /// Whether it is fresh work or taken over.
        pub mode: AttemptMode,
        /// The operation id that the lease token is derived from.
        pub claim_operation: OperationId,
        /// What the expired attempt left, when it is taken over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recovery: Option<RecoveryPacket>,
        /// The handoff text of the attempt before, if it left one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub handoff: Option<String>,
        /// Which operator ended the attempt before or reopened the task, and why, if that came last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub intervention: Option<String>,
        /// What to do next.
        pub next: String,
    }
}
impl Answer for Claimed {
    const TIMED: bool = true;
    fn at(&mut self, now: FleetTime) {
        self.expires_in_ms = self.deadline.since_ms(now).max(0);
    }
}

input! {
    /// Renew the lease of a held task
    pub struct Heartbeat {
        /// The task
        pub task: TaskId,
    }
}
operation!(Heartbeat -> Alive, "heartbeat", Post "/tasks/{task}/heartbeat", Light, Session, Required, []);

output! {
    /// What a heartbeat tells.
    pub struct Alive {
        /// The attempt.
        pub attempt: AttemptId,
        /// When the lease ends, in fleet time.
        pub deadline: FleetTime,
        /// How long the lease lasts from now, in milliseconds.
        #[serde(default)]
        pub expires_in_ms: i64,
        /// How often to heartbeat, in milliseconds.
        pub heartbeat_ms: i64,
        /// Whether somebody asked the holder to stop.
        pub cancel_requested: bool,
        /// Whether the task changed since it was claimed.
        pub task_changed: bool,
        /// Whether something that the task waits for is open: it could not be claimed now.
        pub blocked: bool,
        /// Whether progress is overdue.
        pub progress_overdue: bool,
        /// What to do next, when something calls for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub next: Option<String>,
    }
}
impl Answer for Alive {
    const TIMED: bool = true;
    fn at(&mut self, now: FleetTime) {
        self.expires_in_ms = self.deadline.since_ms(now).max(0);
    }
}

input! {
    /// Record a remark on a task
    ///
    /// The holder's note counts as progress. A former holder whose lease ended may still store a recovery note,
    /// which changes nothing.
    pub struct WriteNote {
        /// The task
        pub task: TaskId,
        /// The text; `-` reads standard input
        pub text: String,
        /// Store it although the lease has ended
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub recovery: bool,
    }
}
operation!(WriteNote -> Recorded, "note", Post "/tasks/{task}/notes", Write, Session, Optional, [NotFound]);

output! {
    /// What was recorded.
    pub struct Recorded {
        /// The entry's number in the record.
        pub number: EventNumber,
        /// The task.
        pub task: TaskId,
        /// What to do next, when something calls for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub next: Option<String>,
    }
}
impl Answer for Recorded {}

input! {
    /// Record progress: where the work is and what is left
    pub struct WriteCheckpoint {
        /// The task
        pub task: TaskId,
        /// What is done and what is left; `-` reads standard input
        pub text: String,
        /// Where the work is in Git
        #[serde(default)]
        #[cfg_attr(feature = "cli", command(flatten))]
        pub evidence: Evidence,
        /// What has become of the changes
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub tree: Option<TreeState>,
    }
}
operation!(WriteCheckpoint -> Recorded, "checkpoint", Post "/tasks/{task}/checkpoints", Write, Session, Required, []);

input! {
    /// Give a task back with a note for the next, in one step
    pub struct HandOff {
        /// The task
        pub task: TaskId,
        /// What the next one should know; `-` reads standard input
        pub text: String,
        /// The agent it is kept for, for 30 minutes
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_name = "AGENT"))]
        pub to: Option<PrincipalName>,
        /// Where the work is in Git
        #[serde(default)]
        #[cfg_attr(feature = "cli", command(flatten))]
        pub evidence: Evidence,
        /// What has become of the changes
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub tree: Option<TreeState>,
    }
}
operation!(HandOff -> Ended, "handoff", Post "/tasks/{task}/handoff", Write, Session, Required, [NotFound]);

input! {
    /// Give a task back
    pub struct Release {
        /// The task
        pub task: TaskId,
        /// A remark for the record
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub note: Option<String>,
    }
}
operation!(Release -> Ended, "release", Post "/tasks/{task}/release", Write, Session, Required, []);

output! {
    /// How an attempt ended.
    pub struct Ended {
        /// The task as it is now.
        pub task: TaskView,
        /// The attempt that ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub attempt: Option<AttemptId>,
        /// Tasks that became ready by it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub freed: Vec<TaskId>,
        /// What to do next.
        pub next: String,
    }
}
impl Answer for Ended {}

input! {
    /// Finish a task with its outcome
    ///
    /// The holder closes under its lease, which ends with it. A task that nobody holds (an objective, for example) is
    /// closed by naming its revision; what somebody else holds is not closed. Evidence, note and lessons are recorded
    /// in the same step.
    ///
    /// Every criterion needs an answer, an objective needs its children finished, and work that was taken over from an
    /// expired attempt needs a disposition first: a refusal lists what is missing. Tasks that waited only for this one
    /// become ready, and the answer names them. What ends without its outcome is not closed but cancelled.
    pub struct Close {
        /// The task
        pub task: TaskId,
        /// The revision that was seen, when nobody holds it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<u64>(1..)))]
        pub revision: Option<u64>,
        /// Why it is over: done when absent; already_delivered needs evidence
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::resolution(Lifecycle::Done)))]
        pub resolution: Option<Resolution>,
        /// Where the work is in Git
        #[serde(default)]
        #[cfg_attr(feature = "cli", command(flatten))]
        pub evidence: Evidence,
        /// A remark for the record; `-` reads standard input
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub note: Option<String>,
        /// Something that later work should know; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "lesson"))]
        pub lessons: Vec<String>,
        /// How each criterion is met, by its id
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub criteria: BTreeMap<String, String>,
    }
}
operation!(Close -> Ended, "close", Post "/tasks/{task}/close", Write, Session, Optional,
    [NotFound, RevisionConflict, StateConflict, RequirementsMissing, TaskChanged, LeaseHeld]);

input! {
    /// Record what a recovering session decided about the work it found
    pub struct Dispose {
        /// The task
        pub task: TaskId,
        /// What was decided
        #[cfg_attr(feature = "cli", arg(long))]
        pub disposition: Disposition,
        /// Why; needed for restart and blocked
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: Option<String>,
    }
}
operation!(Dispose -> Recorded, "dispose", Post "/tasks/{task}/disposition", Write, Session, Required,
    [StateConflict]);

input! {
    /// Accept a task that changed while it was held
    pub struct Reconcile {
        /// The task
        pub task: TaskId,
        /// The digest of the task as it was read now
        #[cfg_attr(feature = "cli", arg(long))]
        pub digest: Digest,
    }
}
operation!(Reconcile -> Recorded, "reconcile", Post "/tasks/{task}/reconcile", Write, Session, Required,
    [TaskChanged]);

input! {
    /// Show what the last attempts at a task left
    pub struct ShowRecovery {
        /// The task
        pub task: TaskId,
    }
}
operation!(ShowRecovery -> Attempts, "attempts", Get "/tasks/{task}/attempts", Read, Anyone, None, [NotFound]);

output! {
    /// The attempts at a task and what they recorded.
    pub struct Attempts {
        /// Newest first, at most 50.
        pub attempts: Vec<AttemptView>,
        /// Whether there were older ones; `events` of the task tells of them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub more: bool,
        /// What the newest attempt that ended left, when it expired.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recovery: Option<RecoveryPacket>,
    }
}
impl Answer for Attempts {}
