//! What answers are made of: records as callers see them.

use super::output;
use crate::model::attempt::{AttemptMode, AttemptState, Disposition, Entry};
use crate::model::ids::{
    AttemptId, Capability, Digest, EventCursor, Generation, PrincipalName, ReporterId, SessionId, TaskId,
};
use crate::model::status::Status;
use crate::model::task::{BlockerKind, Criterion, Kind, Lifecycle, Priority, Reservation, Resolution};
use crate::model::time::{FleetTime, WallTime};

output! {
    /// The committed state that an answer is true at.
    pub struct AsOf {
        /// The last event.
        pub event: EventCursor,
        /// The fleet time.
        pub fleet_time: FleetTime,
    }
}

output! {
    /// A task in a list.
    pub struct TaskSummary {
        /// Its id.
        pub id: TaskId,
        /// One line.
        pub title: String,
        /// What is going on with it.
        pub status: Status,
        /// 0 most urgent to 4.
        pub priority: Priority,
        /// What kind of outcome it intends.
        pub kind: Kind,
        /// Names of it in other trackers.
        pub aliases: Vec<String>,
        /// Who holds it, if somebody does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub holder: Option<PrincipalName>,
        /// For whom a handoff keeps it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reserved_for: Option<PrincipalName>,
    }
}

output! {
    /// Another task, as seen from a task that has to do with it.
    pub struct Neighbour {
        /// Its id.
        pub id: TaskId,
        /// What is going on with it.
        pub status: Status,
        /// An objective can be closed without it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub optional: bool,
    }
}

output! {
    /// A typed blocker.
    pub struct BlockerView {
        /// Its number within the task.
        pub number: u64,
        /// What kind of reason.
        pub kind: BlockerKind,
        /// The reason.
        pub reason: String,
        /// What would resolve it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reopening: Option<String>,
        /// Who raised it.
        pub raised_by: PrincipalName,
        /// When it was resolved, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub resolved_at: Option<WallTime>,
    }
}

output! {
    /// A helper that may renew the lease of one attempt, within the window that its holder declared.
    pub struct ReporterView {
        /// What it is called by.
        pub reporter: ReporterId,
        /// What it watches, as its holder says.
        pub watches: String,
        /// When its window ends, in fleet time.
        pub until: FleetTime,
        /// How long its window still lasts, in milliseconds; 0 when it renews no more.
        pub window_ms: i64,
        /// Milliseconds since it renewed last; absent while it never did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub renewed_age_ms: Option<i64>,
    }
}

output! {
    /// An attempt.
    pub struct AttemptView {
        /// Task and generation.
        pub id: AttemptId,
        /// Who made it.
        pub principal: PrincipalName,
        /// In which session.
        pub session: SessionId,
        /// Where it stands at this moment.
        pub state: AttemptState,
        /// How it began.
        pub mode: AttemptMode,
        /// When its lease ends or ended, in fleet time.
        pub deadline: FleetTime,
        /// How long its lease still lasts, in milliseconds; 0 when it is over.
        pub expires_in_ms: i64,
        /// Milliseconds since its last sign of life.
        pub heartbeat_age_ms: i64,
        /// Milliseconds since its last progress.
        pub progress_age_ms: i64,
        /// Whether progress is overdue.
        pub stale: bool,
        /// The generation of the expired attempt that it recovers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recovers: Option<Generation>,
        /// What it decided about the work it found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub disposition: Option<Disposition>,
        /// Whether its holder was asked to stop.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub cancel_requested: bool,
        /// The long job that its holder declared last, and who watches it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reporter: Option<ReporterView>,
    }
}

output! {
    /// A task with everything a worker needs.
    pub struct TaskView {
        /// Its id.
        pub id: TaskId,
        /// One line.
        pub title: String,
        /// Markdown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub description: String,
        /// What must hold for the outcome to be accepted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub criteria: Vec<Criterion>,
        /// What is going on with it.
        pub status: Status,
        /// The stored state.
        pub lifecycle: Lifecycle,
        /// Why it is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub resolution: Option<Resolution>,
        /// The task that stands in its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub successor: Option<TaskId>,
        /// What kind of outcome it intends.
        pub kind: Kind,
        /// 0 most urgent to 4.
        pub priority: Priority,
        /// Labels.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub labels: Vec<String>,
        /// Names of it in other trackers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub aliases: Vec<String>,
        /// Links to specifications.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub specs: Vec<String>,
        /// External references.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub references: Vec<String>,
        /// Paths and components that the work is expected to touch.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub touches: Vec<String>,
        /// Names of resources that the work needs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub resources: Vec<String>,
        /// Where it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub source: Option<String>,
        /// The revision of the source that was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub source_revision: Option<String>,
        /// What a session must offer to claim it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub requires: Vec<Capability>,
        /// The tasks that it waits for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub waits_for: Vec<Neighbour>,
        /// The tasks that wait for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub waited_for_by: Vec<Neighbour>,
        /// The tasks that it is a child of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub parents: Vec<Neighbour>,
        /// Its children.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub children: Vec<Neighbour>,
        /// Other relations that it has: kind and task.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub relations: Vec<Relation>,
        /// Which relations have more tasks than are shown here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub left_out: Vec<LeftOut>,
        /// Its open typed blockers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub blockers: Vec<BlockerView>,
        /// Put off until then, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub deferred_until: Option<WallTime>,
        /// Why it is put off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub deferred_reason: Option<String>,
        /// What would end the deferral.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub deferred_reopening: Option<String>,
        /// For whom a handoff keeps it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reserved: Option<Reservation>,
        /// Its current attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub attempt: Option<AttemptView>,
        /// Raised by every edit; an edit names the one it saw.
        pub revision: u64,
        /// Raised by every claim.
        pub generation: Generation,
        /// The digest of title, description, criteria and kind.
        pub digest: Digest,
        /// When it was created, in milliseconds since 1970.
        pub created_at: WallTime,
        /// When its fields were last edited, in milliseconds since 1970.
        pub updated_at: WallTime,
        /// Fields of an imported record that have no place of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub imported: Option<serde_json::Value>,
    }
}

output! {
    /// A relation that blocks nothing.
    pub struct Relation {
        /// What it is, read from this task.
        pub kind: String,
        /// The other task.
        pub id: TaskId,
    }
}

output! {
    /// Tasks of one relation that an answer has no room for.
    pub struct LeftOut {
        /// The relation, as the answer calls it.
        pub relation: String,
        /// How many tasks are not shown.
        pub count: u64,
        /// The command that lists all of them.
        pub command: String,
    }
}

output! {
    /// What a recovering session must know of the attempt it takes over.
    pub struct RecoveryPacket {
        /// The attempt that expired.
        pub attempt: AttemptView,
        /// The task's checkpoints, handoff texts and notes, newest first, as far as they fit.
        pub entries: Vec<Entry>,
        /// How many older ones were left out; `history` has them.
        #[serde(default, skip_serializing_if = "is_zero")]
        pub left_out: u64,
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
