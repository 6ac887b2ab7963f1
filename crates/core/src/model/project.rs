//! A project: a body of work with its own key, bindings and policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::ProjectKey;
use super::task::Queue;
use super::text_enum::text_enum;
use super::time::WallTime;

text_enum! {
    /// How work in a project is completed.
    Workflow {
        /// The holder closes the task.
        Simple = "simple",
        /// A submission is reviewed, integrated and validated.
        Reviewed = "reviewed",
    }
}

text_enum! {
    /// Who may take over expired work.
    Recovery {
        /// Any eligible session.
        Auto = "auto",
        /// Nobody before an operator released it.
        Manual = "manual",
    }
}

text_enum! {
    /// A part of a policy, by the name of its field.
    PolicyPart {
        /// How work is completed.
        Workflow = "workflow",
        /// Who may take over expired work.
        Recovery = "recovery",
        /// Length of a lease.
        LeaseMs = "lease_ms",
        /// Most live attempts in the project at once.
        AttemptsMax = "attempts_max",
        /// Most live attempts of one principal at once.
        AttemptsPerPrincipalMax = "attempts_per_principal_max",
    }
}

/// What a project demands. Versioned with the project's revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Policy {
    /// How work is completed.
    pub workflow: Workflow,
    /// Who may take over expired work.
    pub recovery: Recovery,
    /// Length of a lease, in milliseconds; the deployment's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<i64>,
    /// Most live attempts in the project at once; no limit when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u32>,
    /// Most live attempts of one principal in the project at once; no limit when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts_per_principal_max: Option<u32>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            workflow: Workflow::Simple,
            recovery: Recovery::Auto,
            lease_ms: None,
            attempts_max: None,
            attempts_per_principal_max: None,
        }
    }
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its key; also its stable id, since a key is never changed nor given twice.
    pub key: ProjectKey,
    /// Its name for people.
    pub name: String,
    /// What it demands.
    pub policy: Policy,
    /// What agents may change of that; people change all of it.
    pub agents_may: Vec<PolicyPart>,
    /// Raised by every edit.
    pub revision: u64,
    /// The last task number that was issued.
    pub tasks_issued: u64,
    /// When it was created.
    pub created_at: WallTime,
}

/// A place in a repository that belongs to a project. The longest matching folder wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binding {
    /// The repository's identity: its normalised remote URL, else its canonical Git directory.
    pub repository: String,
    /// The folder inside it, without leading or trailing slash; empty for the whole repository.
    pub folder: String,
    /// The project.
    pub project: ProjectKey,
}

/// How many tasks of a project stand in one queue. Kept in the write that moves a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The project.
    pub project: ProjectKey,
    /// The queue.
    pub queue: Queue,
    /// How many.
    pub count: u64,
}
