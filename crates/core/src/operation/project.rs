//! Projects, their policy and the places that are bound to them.

use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::model::ids::ProjectKey;
use crate::model::project::{Policy, PolicyPart, Recovery, Workflow};
use crate::model::time::WallTime;

input! {
    /// Create a project
    pub struct CreateProject {
        /// Its key: 1 to 16 of a-z, 0-9 and -, first a letter; task ids begin with it
        pub key: ProjectKey,
        /// Its name for people; the key when absent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub name: Option<String>,
        /// What it demands
        #[serde(default)]
        #[cfg_attr(feature = "cli", command(flatten))]
        pub policy: PolicyInput,
    }
}
operation!(CreateProject -> ProjectAnswer, "project.create", Post "/projects", Write, Session, None,
    [AlreadyExists, NotYetBuilt]);

/// The parts of a policy that a request may set.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(deny_unknown_fields)]
pub struct PolicyInput {
    /// How work is completed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long))]
    pub workflow: Option<Workflow>,
    /// Who may take over expired work
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long))]
    pub recovery: Option<Recovery>,
    /// Length of a lease in milliseconds (30000 to 14400000)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<i64>(1..)))]
    pub lease_ms: Option<i64>,
    /// Most live attempts in the project at once; 0 for no limit
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<u32>(0..)))]
    pub attempts_max: Option<u32>,
    /// Most live attempts of one agent in the project at once; 0 for no limit
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<u32>(0..)))]
    pub attempts_per_principal_max: Option<u32>,
}

impl PolicyInput {
    /// The parts that a request sets.
    pub fn parts(&self) -> impl Iterator<Item = PolicyPart> {
        let parts = [
            (self.workflow.is_some(), PolicyPart::Workflow),
            (self.recovery.is_some(), PolicyPart::Recovery),
            (self.lease_ms.is_some(), PolicyPart::LeaseMs),
            (self.attempts_max.is_some(), PolicyPart::AttemptsMax),
            (self.attempts_per_principal_max.is_some(), PolicyPart::AttemptsPerPrincipalMax),
        ];
        parts.into_iter().filter_map(|(is_set, part)| is_set.then_some(part))
    }
}

output! {
    /// A project.
    pub struct ProjectView {
        /// Its key.
        pub key: ProjectKey,
        /// Its name for people.
        pub name: String,
        /// What it demands.
        pub policy: Policy,
        /// What agents may change of that; people change all of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub agents_may: Vec<PolicyPart>,
        /// Raised by every edit; an edit names the one it saw.
        pub revision: u64,
        /// How many tasks have each status, as `stats` counts them.
        pub tasks: std::collections::BTreeMap<String, u64>,
        /// When it was created, in milliseconds since 1970.
        pub created_at: WallTime,
    }
}

output! {
    /// One project.
    pub struct ProjectAnswer {
        /// The project.
        pub project: ProjectView,
    }
}
impl Answer for ProjectAnswer {}

input! {
    /// List projects by key
    pub struct ListProjects {
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
operation!(ListProjects -> ProjectList, "project.list", Get "/projects", Read, Anyone, None, [EpochChanged]);

output! {
    /// Projects in the order of their keys.
    pub struct ProjectList {
        /// By key.
        pub projects: Vec<ProjectView>,
        /// Where to go on; absent at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for ProjectList {}

input! {
    /// Show a project and its policy
    pub struct ShowProject {
        /// The project's key
        pub project: ProjectKey,
    }
}
operation!(ShowProject -> ProjectAnswer, "project.show", Get "/projects/{project}", Read, Anyone, None, [NotFound]);

input! {
    /// Change a project's name, or what agents may change of its policy
    ///
    /// The rest of the policy is a person's to set: see `project policy`.
    pub struct EditProject {
        /// The project's key
        pub project: ProjectKey,
        /// The revision that was seen
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<u64>(1..)))]
        pub revision: u64,
        /// Its name for people
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub name: Option<String>,
        /// What it demands
        #[serde(default)]
        #[cfg_attr(feature = "cli", command(flatten))]
        pub policy: PolicyInput,
    }
}
operation!(EditProject -> ProjectAnswer, "project.edit", Patch "/projects/{project}", Write, Session, None,
    [NotFound, RevisionConflict, OperatorRequired, NotYetBuilt]);

input! {
    /// Set a project's policy, and what agents may change of it (operators only)
    pub struct SetPolicy {
        /// The project's key
        pub project: ProjectKey,
        /// The revision that was seen
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<u64>(1..)))]
        pub revision: u64,
        /// What it demands
        #[serde(default)]
        #[cfg_attr(feature = "cli", command(flatten))]
        pub policy: PolicyInput,
        /// What agents may change of it from now on, separated by commas; alone: nothing
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_name = "PARTS", value_delimiter = ',', num_args = 0..))]
        pub agents_may: Option<Vec<PolicyPart>>,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(SetPolicy -> ProjectAnswer, "project.policy", Post "/projects/{project}/policy", Write, Operator, None,
    [NotFound, RevisionConflict, NotYetBuilt]);

input! {
    /// Bind a place in a repository to a project
    ///
    /// Inside a repository the longest bound folder wins. Clones and worktrees of one repository share its binding.
    pub struct BindProject {
        /// The project's key
        pub project: ProjectKey,
        /// The repository's identity: normalised remote URL or canonical Git directory
        #[cfg_attr(feature = "cli", arg(long))]
        pub repository: String,
        /// The folder inside it; the whole repository when empty
        #[serde(default)]
        #[cfg_attr(feature = "cli", arg(long, default_value = ""))]
        pub folder: String,
    }
}
operation!(BindProject -> BindingAnswer, "project.bind", Post "/projects/{project}/bindings", Write, Session, None,
    [NotFound, AlreadyExists]);

input! {
    /// Remove the binding of a place in a repository
    pub struct UnbindProject {
        /// The project's key
        pub project: ProjectKey,
        /// The repository's identity
        #[cfg_attr(feature = "cli", arg(long))]
        pub repository: String,
        /// The folder inside it; the whole repository when empty
        #[serde(default)]
        #[cfg_attr(feature = "cli", arg(long, default_value = ""))]
        pub folder: String,
    }
}
operation!(UnbindProject -> BindingAnswer, "project.unbind", Post "/projects/{project}/unbind", Write, Session,
    None, [NotFound]);

output! {
    /// A binding.
    pub struct BindingView {
        /// The repository's identity.
        pub repository: String,
        /// The folder inside it; empty for the whole repository.
        pub folder: String,
        /// The project.
        pub project: ProjectKey,
    }
}

output! {
    /// One binding.
    pub struct BindingAnswer {
        /// The binding.
        pub binding: BindingView,
    }
}
impl Answer for BindingAnswer {}

input! {
    /// Find the project of a place in a repository
    pub struct ResolveProject {
        /// The repository's identities, the surest first
        #[cfg_attr(feature = "cli", arg(long = "repository"))]
        pub repositories: Vec<String>,
        /// The folder inside it
        #[serde(default)]
        #[cfg_attr(feature = "cli", arg(long, default_value = ""))]
        pub folder: String,
    }
}
operation!(ResolveProject -> BindingAnswer, "project.resolve", Post "/projects/resolve", Read, Anyone, None,
    [NotFound]);
