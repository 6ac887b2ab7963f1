//! What can be done: the ready queue, why a task is not in it, and the one thing to do next.

use std::collections::BTreeMap;

use super::view::{AsOf, AttemptView, TaskSummary};
use super::{Answer, input, operation, output};
use crate::model::ids::{AttemptId, ProjectKey, TaskId};
use crate::model::status::Status;

input! {
    /// List the tasks that can be claimed, in the order they would be
    ///
    /// Listing reserves nothing. An empty list comes with counts per reason and the next thing to check.
    pub struct Ready {
        /// The project
        #[cfg_attr(feature = "cli", arg(skip = "unset".parse::<ProjectKey>().expect("a valid key")))]
        pub project: ProjectKey,
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
        /// Where an earlier page ended
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub cursor: Option<String>,
    }
}
operation!(Ready -> ReadyList, "ready", Get "/ready", Read, Anyone, None, [NotFound, EpochChanged]);

output! {
    /// The ready queue.
    pub struct ReadyList {
        /// Tasks in the order they would be claimed.
        pub tasks: Vec<TaskSummary>,
        /// How many are ready in all.
        pub total: u64,
        /// How many of the project's other unfinished tasks are not ready, by status.
        pub reasons: BTreeMap<String, u64>,
        /// What to check when nothing is ready.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub next: Option<String>,
        /// Where to go on; absent at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for ReadyList {}

input! {
    /// Say why a task is or is not ready
    pub struct Explain {
        /// The task
        pub task: TaskId,
    }
}
operation!(Explain -> Explanation, "explain", Get "/tasks/{task}/explain", Read, Anyone, None, [NotFound]);

output! {
    /// One step of an explanation, from the task towards the reason.
    pub struct ExplainStep {
        /// The task that this step is about.
        pub task: TaskId,
        /// What is going on with it.
        pub status: Status,
        /// What it does to the task before it, in words with both names.
        pub because: String,
    }
}

output! {
    /// Why a task is or is not ready.
    pub struct Explanation {
        /// The task.
        pub task: TaskId,
        /// What is going on with it.
        pub status: Status,
        /// Whether it can be claimed.
        pub ready: bool,
        /// The leaf reason, in a sentence.
        pub reason: String,
        /// The chain from the task to the reason.
        pub chain: Vec<ExplainStep>,
        /// What to do about it.
        pub next: String,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for Explanation {}

input! {
    /// Say the one thing to do now
    pub struct Next {
        /// The project
        #[cfg_attr(feature = "cli", arg(skip = "unset".parse::<ProjectKey>().expect("a valid key")))]
        pub project: ProjectKey,
    }
}
operation!(Next -> NextStep, "next", Get "/next", Read, Session, None, [NotFound]);

output! {
    /// The one thing to do now.
    pub struct NextStep {
        /// What to do, in a sentence.
        pub do_now: String,
        /// The command that does it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub command: Option<String>,
        /// The task it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub task: Option<TaskId>,
        /// The attempts that the session holds.
        pub holds: Vec<AttemptId>,
        /// The attempt that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub attempt: Option<AttemptView>,
        /// How many tasks are not ready, by status, when there is nothing to do.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub reasons: BTreeMap<String, u64>,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for NextStep {}
