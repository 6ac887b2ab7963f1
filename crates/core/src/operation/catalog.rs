//! The list of operations, and what generic code needs to know of each.

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::{Access, Answer, Effect, Operation, Spec};
use crate::envelope::Call;
use crate::json;
use crate::model::refusal::Refusal;
use crate::model::time::FleetTime;
use crate::rules::Rule;
use crate::rules::patience::Patience;
use crate::rules::session::heard_of;
use crate::working_set::{Need, Step, WorkingSet};

/// Calls a macro with every operation: the one list. A surface that wants all operations starts here.
#[macro_export]
macro_rules! with_operations {
    ($callback:ident) => {
        $callback! {
            session::OpenSession, session::ShowSession, session::ListSessions, session::CloseSession,
            project::CreateProject, project::ListProjects, project::ShowProject, project::EditProject, project::SetPolicy,
            project::BindProject, project::UnbindProject, project::ResolveProject,
            task::CreateTask, task::EditTask, task::OpenTask, task::ShowTask, task::ListTasks, task::FindTask,
            task::DeferTask, task::ResumeTask, task::ArchiveTask, task::CancelTask,
            task::ReopenTask, task::ForceRelease,
            graph::AddDependency, graph::RemoveDependency, graph::ListDependencies, graph::RaiseBlocker, graph::ResolveBlocker,
            label::ListLabels, search::Search, commits::ListCommits,
            queue::Ready, queue::Explain, queue::Next, wait::Wait,
            ownership::Claim, ownership::Heartbeat, ownership::WriteNote, ownership::WriteCheckpoint,
            ownership::HandOff, ownership::Release, ownership::Close, ownership::Dispose, ownership::Reconcile,
            ownership::ShowRecovery,
            record::ListEvents, record::History, record::Statistics, digest::TellDigest,
            account::BootstrapAccount, account::CreateAccount, account::ListAccounts, account::EditAccount,
            account::SetPassword, account::RehashPassword, account::RecordAuthentications,
            reporter::CreateReporter, reporter::RevokeReporter, reporter::RenewLease, reporter::EndReporter,
            token::CreateToken, token::ListTokens, token::RotateToken, token::RevokeToken, whoami::WhoAmI,
            record::PreviewImport, record::ApplyImport, record::RecordOverdue,
            #[cfg(feature = "dummy-operation")] dummy::Echo,
        }
    };
}

/// What generic code knows of one operation.
pub struct Entry {
    /// What is constant about it.
    pub spec: Spec,
    /// Reads its input.
    pub read: fn(Value) -> Result<AnyOperation, Refusal>,
    /// The schema of its input.
    pub input: fn(&mut SchemaGenerator) -> Schema,
    /// The schema of its answer.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
}

/// Writes the enum of all operations and the functions that treat them alike.
macro_rules! any_operation {
    ($($(#[$meta:meta])* $module:ident::$name:ident,)+) => {
        /// Any one operation.
        #[derive(Debug, Clone)]
        pub enum AnyOperation {
            $($(#[$meta])* #[allow(missing_docs, reason = "the operation's own comment says what it is")] $name(super::$module::$name),)+
        }

        $($(#[$meta])* impl From<super::$module::$name> for AnyOperation {
            fn from(operation: super::$module::$name) -> Self {
                Self::$name(operation)
            }
        })+

        /// Every operation that has a surface: all but the coordinator's own.
        #[must_use]
        pub fn entries() -> Vec<Entry> {
            let all = vec![$($(#[$meta])* Entry {
                spec: <super::$module::$name as Operation>::SPEC,
                read: |value| json::parse::<super::$module::$name>(value).map(AnyOperation::from),
                input: |generator| generator.subschema_for::<super::$module::$name>(),
                answer: |generator| generator.subschema_for::<<super::$module::$name as Operation>::Answer>(),
            },)+];
            all.into_iter().filter(|entry| entry.spec.access != Access::Coordinator).collect()
        }

        impl AnyOperation {
            /// What is constant about it.
            #[must_use]
            pub fn spec(&self) -> Spec {
                match self { $($(#[$meta])* Self::$name(_) => <super::$module::$name as Operation>::SPEC,)+ }
            }

            /// Its input as it would travel.
            #[must_use]
            pub fn to_json(&self) -> String {
                match self { $($(#[$meta])* Self::$name(operation) => encode(operation),)+ }
            }

            /// What it will surely need, so that a batch can load it for all its commands at once.
            #[must_use]
            pub fn scope(&self, call: &Call) -> Vec<Need> {
                match self { $($(#[$meta])* Self::$name(operation) => operation.scope(call),)+ }
            }

            /// How long its caller lets it wait for another outcome, and what may bring one.
            #[must_use]
            pub fn patience(&self) -> Option<Patience> {
                match self { $($(#[$meta])* Self::$name(operation) => operation.patience(),)+ }
            }

            /// Decides it. The answer is returned as it is stored in a receipt.
            pub fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<String> {
                let answer = match self { $($(#[$meta])* Self::$name(operation) => {
                    operation.decide(set, call).map(|answer| encode(&answer))
                })+ }?;
                if self.spec().effect != Effect::Read {
                    heard_of(set, call)?;
                }
                Ok(answer)
            }

            /// The stored answer as it reads at the moment of answering.
            pub fn present(&self, stored: String, now: FleetTime) -> Result<String, String> {
                match self { $($(#[$meta])* Self::$name(_) => {
                    present::<<super::$module::$name as Operation>::Answer>(stored, now)
                })+ }
            }
        }
    };
}

with_operations!(any_operation);

fn encode(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("inputs and answers are plain data and always serialise")
}

fn present<A: Answer>(stored: String, now: FleetTime) -> Result<String, String> {
    if !A::TIMED {
        return Ok(stored);
    }
    let mut answer: A = serde_json::from_str(&stored).map_err(|error| error.to_string())?;
    answer.at(now);
    Ok(encode(&answer))
}
