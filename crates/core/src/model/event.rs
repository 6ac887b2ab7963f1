//! The record: facts in the past tense, numbered without gaps and chained by hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::{
    AttemptId, Digest, Epoch, EventCursor, EventNumber, OperationId, PrincipalName, ProjectKey, ReporterId,
    SessionId, TaskId,
};
use super::limits::RECEIPT_MS;
use super::text_enum::text_enum;
use super::time::{FleetTime, WallTime};

text_enum! {
    /// What happened.
    EventKind {
        /// The store was created.
        FleetCreated = "fleet_created",
        /// A backup was put in the place of the store: a new epoch begins, at a number that was never handed out.
        FleetRestored = "fleet_restored",
        /// A principal was first seen.
        PrincipalCreated = "principal_created",
        /// A session was opened.
        SessionOpened = "session_opened",
        /// A session was closed, by itself or by a later session of its conversation.
        SessionClosed = "session_closed",
        /// A project was created.
        ProjectCreated = "project_created",
        /// A project's name or policy changed.
        ProjectEdited = "project_edited",
        /// A person set a project's policy, or what agents may change of it.
        PolicySet = "policy_set",
        /// A place in a repository was bound to a project.
        ProjectBound = "project_bound",
        /// A binding was removed.
        ProjectUnbound = "project_unbound",
        /// A task was created.
        TaskCreated = "task_created",
        /// A task's fields changed.
        TaskEdited = "task_edited",
        /// A planned task was offered.
        TaskOpened = "task_opened",
        /// A task was put off.
        TaskDeferred = "task_deferred",
        /// A deferral was ended.
        TaskResumed = "task_resumed",
        /// A finished task was put away.
        TaskArchived = "task_archived",
        /// A task ended with its outcome.
        TaskClosed = "task_closed",
        /// A task ended without its outcome.
        TaskCancelled = "task_cancelled",
        /// An operator reopened a finished task.
        TaskReopened = "task_reopened",
        /// An edge was added.
        DependencyAdded = "dependency_added",
        /// An edge was removed.
        DependencyRemoved = "dependency_removed",
        /// A typed blocker was raised.
        BlockerRaised = "blocker_raised",
        /// A typed blocker was resolved.
        BlockerResolved = "blocker_resolved",
        /// A session took a task.
        TaskClaimed = "task_claimed",
        /// A lease ended before its holder did.
        LeaseExpired = "lease_expired",
        /// A restore ended a lease.
        AttemptVoided = "attempt_voided",
        /// The holder gave the task back.
        TaskReleased = "task_released",
        /// The holder gave the task back with a note.
        TaskHandedOff = "task_handed_off",
        /// A remark was recorded.
        NoteRecorded = "note_recorded",
        /// Progress was recorded.
        CheckpointRecorded = "checkpoint_recorded",
        /// A recovering session decided about what it found.
        DispositionRecorded = "disposition_recorded",
        /// The holder accepted the task's changed criteria.
        TaskReconciled = "task_reconciled",
        /// The holder was asked to stop.
        CancelRequested = "cancel_requested",
        /// A person was given an account.
        AccountCreated = "account_created",
        /// An account's role changed, or it was disabled or enabled.
        AccountEdited = "account_edited",
        /// An account's password was set, or hashed anew.
        PasswordChanged = "password_changed",
        /// A person proved with a password to be who they say, for something that leaves no event of its own.
        PersonAuthenticated = "person_authenticated",
        /// Somebody named an account, or a name that has none, and did not prove to be that person.
        AuthenticationRefused = "authentication_refused",
        /// A token was given to an agent or a machine.
        TokenCreated = "token_created",
        /// A token was replaced by another one.
        TokenRotated = "token_rotated",
        /// A token was taken back.
        TokenRevoked = "token_revoked",
        /// The holder let a helper renew the lease within a window.
        ReporterCreated = "reporter_created",
        /// A reporter was ended before its window was.
        ReporterEnded = "reporter_ended",
        /// A file of another tracker was imported.
        ImportApplied = "import_applied",
    }
}

/// Who did it: the caller and the ways it acted through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    /// The principal; absent for what the coordinator does by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<PrincipalName>,
    /// The machine that it acted from, as that machine's token says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<PrincipalName>,
    /// The reporter that acted for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reporter: Option<ReporterId>,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The session that started this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// One event as it is stored: these bytes are hashed and never rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The version of this layout.
    pub v: u32,
    /// Its number, without gaps within an epoch.
    pub number: EventNumber,
    /// The fleet's incarnation.
    pub epoch: Epoch,
    /// When, in fleet time.
    pub fleet_time: FleetTime,
    /// When, by the wall clock.
    pub wall_time: WallTime,
    /// What happened.
    pub kind: EventKind,
    /// Who did it.
    pub actor: Actor,
    /// The project it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectKey>,
    /// The task it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The attempt it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// The facts of this kind of event.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// On the last event of a command: the SHA-256 of the answer as stored in its receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Digest>,
}

impl Event {
    /// Whether it begins an epoch right after this event, however far its number is from it. Everything else carries
    /// the next number and the same epoch.
    #[must_use]
    pub fn begins_epoch_after(&self, last: EventNumber, epoch: Epoch) -> bool {
        let after = self.data.get("after").and_then(Value::as_u64);
        self.kind == EventKind::FleetRestored
            && self.epoch > epoch
            && self.number > last
            && after == Some(last.0)
    }
}

/// The version of the event layout that this program writes.
pub const EVENT_VERSION: u32 = 1;

/// An event's bytes and its link in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The parsed event.
    pub event: Event,
    /// The stored bytes.
    pub bytes: String,
    /// SHA-256 over the previous hash and the bytes.
    pub hash: Digest,
}

/// The link that follows `previous` when these bytes are appended.
#[must_use]
pub fn chain_hash(previous: &Digest, bytes: &str) -> Digest {
    crate::secret::digest("tenure event chain v1", &[&previous.0, bytes.as_bytes()])
}

/// The stored answer of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Who called.
    pub principal: PrincipalName,
    /// Under which id.
    pub operation_id: OperationId,
    /// The operation's name.
    pub operation: String,
    /// SHA-256 of the request.
    pub fingerprint: Digest,
    /// The incarnation in which it was given.
    pub epoch: Epoch,
    /// When.
    pub at: WallTime,
    /// The answer, verbatim; absent once only the tombstone is kept.
    pub answer: Option<String>,
}

impl Receipt {
    /// From when on receipts are kept with their answers; of older ones only the tombstone counts.
    #[must_use]
    pub fn kept_since(now: WallTime) -> WallTime {
        now.minus_ms(RECEIPT_MS)
    }
}

/// The fleet row: counters, the chain's head and the highest time that was ever committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// The fleet's id, drawn when the store was created.
    pub id: String,
    /// Its incarnation.
    pub epoch: Epoch,
    /// The highest fleet time that was ever committed.
    pub time: FleetTime,
    /// The wall time of that commit.
    pub wall: WallTime,
    /// The number of the last event.
    pub event: EventNumber,
    /// The hash of the last event.
    pub head: Digest,
    /// Numbers within a record (generations, revisions, the tasks of a new project) were handed out up to this one
    /// before the fleet was restored, and are not given again.
    pub floor: u64,
}

impl Fleet {
    /// The last event, as a place in the record.
    #[must_use]
    pub fn last(&self) -> EventCursor {
        EventCursor { epoch: self.epoch, number: self.event }
    }

    /// The next number of a counter within a record that stood at this one.
    #[must_use]
    pub fn next(&self, counted: u64) -> u64 {
        counted.max(self.floor) + 1
    }
}
