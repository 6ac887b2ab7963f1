//! What stands in the way of a task: edges to other tasks, and typed blockers.

use super::task::TaskAnswer;
use super::view::{AsOf, Neighbour};
use super::{Answer, input, operation, output};
use crate::model::dependency::DependencyKind;
use crate::model::ids::TaskId;
use crate::model::task::BlockerKind;

input! {
    /// Add an edge between two tasks
    ///
    /// Read it as a sentence: TASK waits for ON (blocks), TASK is a child of ON (parent), TASK was discovered from
    /// ON, duplicates ON, supersedes ON, or is related to ON.
    pub struct AddDependency {
        /// The task that has the relation
        pub task: TaskId,
        /// The task it has it to
        pub on: TaskId,
        /// What the relation is
        #[serde(default = "blocks")]
        #[cfg_attr(feature = "cli", arg(long, default_value = "blocks"))]
        pub kind: DependencyKind,
        /// A child that its objective may be closed without
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub optional: bool,
    }
}
operation!(AddDependency -> TaskAnswer, "dependency.add", Post "/tasks/{task}/dependencies", Write, Session, None,
    [NotFound, DependencyCycle, StateConflict]);

input! {
    /// List the tasks that a task has a relation to
    ///
    /// In the order of their ids. With `reverse`, the tasks that have the relation to it: those that wait for it
    /// (blocks), its children (parent).
    pub struct ListDependencies {
        /// The task
        pub task: TaskId,
        /// What the relation is
        #[serde(default = "blocks")]
        #[cfg_attr(feature = "cli", arg(long, default_value = "blocks"))]
        pub kind: DependencyKind,
        /// The tasks that have the relation to it
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub reverse: bool,
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
        /// Where the page before this one ended
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub cursor: Option<String>,
    }
}
operation!(ListDependencies -> DependencyList, "dependency.list", Get "/tasks/{task}/dependencies", Read, Anyone, None,
    [NotFound, EpochChanged]);

output! {
    /// Tasks that one has a relation to, or that have it to that one.
    pub struct DependencyList {
        /// The other tasks.
        pub tasks: Vec<Neighbour>,
        /// How many there are in all.
        pub total: u64,
        /// Give it to read on; absent when this is the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
        /// The committed state that it is true at.
        pub as_of: AsOf,
    }
}
impl Answer for DependencyList {}

fn blocks() -> DependencyKind {
    DependencyKind::Blocks
}

input! {
    /// Remove an edge between two tasks
    pub struct RemoveDependency {
        /// The task that has the relation
        pub task: TaskId,
        /// The task it has it to
        pub on: TaskId,
        /// What the relation is
        #[serde(default = "blocks")]
        #[cfg_attr(feature = "cli", arg(long, default_value = "blocks"))]
        pub kind: DependencyKind,
    }
}
operation!(RemoveDependency -> TaskAnswer, "dependency.remove", Post "/tasks/{task}/dependencies/remove", Write,
    Session, None, [NotFound, StateConflict]);

input! {
    /// Raise a typed blocker: a reason other than a task
    pub struct RaiseBlocker {
        /// The task that is blocked
        pub task: TaskId,
        /// What kind of reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub kind: BlockerKind,
        /// The reason in words
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
        /// What would resolve it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub reopening: Option<String>,
    }
}
operation!(RaiseBlocker -> TaskAnswer, "blocker.raise", Post "/tasks/{task}/blockers", Write, Session, None,
    [NotFound, StateConflict]);

input! {
    /// Resolve a typed blocker
    pub struct ResolveBlocker {
        /// The task that is blocked
        pub task: TaskId,
        /// The blocker's number within the task
        #[cfg_attr(feature = "cli", arg(value_parser = super::arguments::number::<u64>(1..)))]
        pub number: u64,
        /// How it was resolved
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(ResolveBlocker -> TaskAnswer, "blocker.resolve", Post "/tasks/{task}/blockers/{number}/resolve", Write,
    Session, None, [NotFound, StateConflict]);
