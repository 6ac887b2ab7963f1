//! Edges between tasks, always read in one direction: the first task has the relation to the second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::TaskId;
use super::text_enum::text_enum;

text_enum! {
    /// What an edge from `task` to `on` says.
    DependencyKind {
        /// `task` waits for `on`.
        Blocks = "blocks",
        /// `task` is a child of `on`.
        Parent = "parent",
        /// They have to do with each other.
        Related = "related",
        /// `task` was found while working on `on`.
        DiscoveredFrom = "discovered_from",
        /// `task` is the same as `on`.
        Duplicates = "duplicates",
        /// `task` replaces `on`.
        Supersedes = "supersedes",
    }
}

/// One edge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// The task that has the relation.
    pub task: TaskId,
    /// What the relation is.
    pub kind: DependencyKind,
    /// The task it has it to.
    pub on: TaskId,
    /// A child that its objective may be closed without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}
