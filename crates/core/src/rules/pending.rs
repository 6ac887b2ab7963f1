//! Rules that are still to be written.
use super::Rule;
use crate::envelope::Call;
use crate::model::refusal::{Code, Refusal};
use crate::operation::{Operation, graph, ownership, project, queue, record, session, task};
use crate::working_set::{Step, WorkingSet};

macro_rules! pending {
    ($($name:ty),+ $(,)?) => {$(
        impl Rule for $name {
            fn decide(&self, _set: &mut WorkingSet, _call: &Call) -> Step<<Self as Operation>::Answer> {
                Err(Refusal::new(Code::NotYetBuilt, "to be written").into())
            }
        }
    )+};
}
pending!(
    session::OpenSession,
    session::ShowSession,
    session::ListSessions,
    session::CloseSession,
    project::CreateProject,
    project::ListProjects,
    project::ShowProject,
    project::EditProject,
    project::BindProject,
    project::UnbindProject,
    project::ResolveProject,
    task::CreateTask,
    task::EditTask,
    task::OpenTask,
    task::ShowTask,
    task::ListTasks,
    task::FindTask,
    task::DeferTask,
    task::ResumeTask,
    task::ArchiveTask,
    task::CancelTask,
    task::ReopenTask,
    task::ForceRelease,
    graph::AddDependency,
    graph::RemoveDependency,
    graph::RaiseBlocker,
    graph::ResolveBlocker,
    queue::Ready,
    queue::Explain,
    queue::Next,
    ownership::Claim,
    ownership::Heartbeat,
    ownership::WriteNote,
    ownership::WriteCheckpoint,
    ownership::HandOff,
    ownership::Release,
    ownership::Close,
    ownership::Dispose,
    ownership::Reconcile,
    ownership::ShowRecovery,
    record::ListEvents,
    record::History,
    record::Statistics,
    record::PreviewImport,
    record::ApplyImport,
    record::RecordOverdue
);
