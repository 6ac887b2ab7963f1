//! What happened while nobody looked: a digest of the record.

use super::view::{AsOf, TaskSummary};
use super::{Answer, input, operation, output};
use crate::model::attempt::Evidence;
use crate::model::event::EventKind;
use crate::model::ids::{EventCursor, PrincipalName, ProjectKey};
use crate::model::time::WallTime;

input! {
    /// Tell what happened in a project since a moment, and what waits for whom
    ///
    /// Each part tells its newest tasks first, every task once, and counts all of them.
    pub struct TellDigest {
        /// The project
        #[cfg_attr(feature = "cli", arg(skip = "unset".parse::<ProjectKey>().expect("a valid key")))]
        pub project: ProjectKey,
        /// Since when, in milliseconds since 1970
        #[cfg_attr(feature = "cli", arg(skip))]
        pub since: WallTime,
        /// At most so many tasks in each part (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
    }
}
operation!(TellDigest -> Digest, "digest", Get "/digest", Read, Anyone, None, [NotFound]);

output! {
    /// What happened to a task, last.
    pub struct Happened {
        /// When, in milliseconds since 1970.
        pub at: WallTime,
        /// What.
        pub kind: EventKind,
        /// Who did it; absent for what the coordinator does by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub by: Option<PrincipalName>,
        /// The task as it is now.
        pub task: TaskSummary,
        /// Where the result is in Git, if it is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub evidence: Option<Evidence>,
    }
}

output! {
    /// A part of a digest.
    pub struct Part {
        /// The newest first.
        pub tasks: Vec<Happened>,
        /// How many tasks there are in all.
        pub total: u64,
    }
}

output! {
    /// A task that waits for somebody.
    pub struct Waiting {
        /// The task.
        pub task: TaskSummary,
        /// For whom.
        pub on: String,
        /// Why.
        pub because: String,
    }
}

output! {
    /// What happened since a moment, and what waits for whom.
    pub struct Digest {
        /// Since when it tells, in milliseconds since 1970.
        pub since: WallTime,
        /// The last event before that: follow from here to read all of it.
        pub after: EventCursor,
        /// What ended: with its outcome, or cancelled.
        pub landed: Part,
        /// What was claimed.
        pub claimed: Part,
        /// What else changed: created, edited, put off, given back, expired.
        pub changed: Part,
        /// What waits for somebody now.
        pub waiting: Vec<Waiting>,
        /// Whether more waits than is shown.
        pub more_waiting: bool,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for Digest {}
