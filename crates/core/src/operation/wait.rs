//! Waiting: until there is work, or until something happens to a task.

use super::view::{AsOf, TaskSummary};
use super::{Answer, input, operation, output};
use crate::model::ids::{EventCursor, ProjectKey, TaskId};
use crate::model::text_enum::text_enum;

text_enum! {
    /// What a wait for a task waits for.
    Until {
        /// It is done or cancelled.
        Finished = "finished",
        /// The caller can claim it.
        Ready = "ready",
        /// Anything is recorded of it.
        Changed = "changed",
    }
}

input! {
    /// Wait until there is work to take, or until something happens to a task
    ///
    /// Nothing is reserved by waiting. Of several who wait for work, one is told per freed task; if it takes nothing,
    /// the next one is told.
    pub struct Wait {
        /// The task to wait for; any work that the caller can take when absent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub task: Option<TaskId>,
        /// The projects to wait for work in when no task is named
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub projects: Vec<ProjectKey>,
        /// What to wait for of a task: `finished` when absent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, requires = "task"))]
        pub until: Option<Until>,
        /// With `changed`: since when (EPOCH-NUMBER, as an answer's `as_of.event` says)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, requires = "until"))]
        pub after: Option<EventCursor>,
        /// Leave expired work to others
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long, conflicts_with = "task"))]
        pub no_recovery: bool,
        /// How long to wait inside the call, in milliseconds (up to 60000); 0 or absent looks once
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub wait_ms: Option<i64>,
    }
}
operation!(Wait -> Waited, "wait", Get "/wait", Read, Session, None,
    [NotFound, AmbiguousProject, NothingEligible, NotYet, StateConflict, ManualRecovery]);

output! {
    /// What was waited for has happened.
    pub struct Waited {
        /// The task: the one that was named, or the one that a claim would give now.
        pub task: TaskSummary,
        /// What to do next.
        pub next: String,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for Waited {}
