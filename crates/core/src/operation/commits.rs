//! The exact commits of a body of work, as its completions told them.

use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::model::attempt::Evidence;
use crate::model::ids::{PrincipalName, ProjectKey, TaskId};
use crate::model::time::WallTime;

input! {
    /// List the commits in which tasks landed, as their completions told them
    ///
    /// Of the tasks with a label, of an objective and everything below it, or of the tasks that are named: one of the
    /// three. The task that was closed first comes first: the order in which to pick the commits. Those that were closed
    /// without a commit, are unfinished or were cancelled are counted, so that all of it can be told from some of it.
    /// An objective has its result in its children; it is listed when it was closed with a commit of its own.
    pub struct ListCommits {
        /// The project of the label
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_name = "KEY"))]
        pub project: Option<ProjectKey>,
        /// Of the tasks with this label
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, short = 'l'))]
        pub label: Option<String>,
        /// Of this objective and everything below it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub objective: Option<TaskId>,
        /// Of these tasks
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub tasks: Vec<TaskId>,
        /// Instead, those that were closed without a commit
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub missing: bool,
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
operation!(ListCommits -> CommitList, "commits", Get "/commits", Read, Anyone, None, [NotFound, EpochChanged]);

output! {
    /// Where a task landed.
    pub struct Landed {
        /// The task.
        pub task: TaskId,
        /// Its title.
        pub title: String,
        /// The commit; the one that brought it into the target branch if only that was told. Absent where none was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub commit: Option<String>,
        /// All that its completion tells of Git.
        #[serde(default, skip_serializing_if = "Evidence::is_empty")]
        pub evidence: Evidence,
        /// When it was closed, in milliseconds since 1970; absent where nothing tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub at: Option<WallTime>,
        /// Who closed it; absent where nothing tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub by: Option<PrincipalName>,
    }
}

output! {
    /// Commits in the order in which their tasks were closed, and what became of the other tasks.
    pub struct CommitList {
        /// The commits, or with `missing` the tasks that lack one.
        pub commits: Vec<Landed>,
        /// How many tasks were closed with a commit.
        pub landed: u64,
        /// How many were closed without one; objectives aside.
        pub missing: u64,
        /// How many are not finished.
        pub unfinished: u64,
        /// How many were cancelled.
        pub cancelled: u64,
        /// Where to go on; absent at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for CommitList {}
