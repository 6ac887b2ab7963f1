//! Which rows there are, what identifies each, and under which questions it is found.

use super::table::Record;
use crate::model::account::{Account, Role};
use crate::model::attempt::{Attempt, Entry};
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::event::Receipt;
use crate::model::handle::Handle;
use crate::model::ids::{
    AttemptId, ConversationId, EventNumber, OperationId, PrincipalName, ProjectKey, ReporterId, SessionId,
    TaskId, TokenId,
};
use crate::model::project::{Binding, Project, Tally};
use crate::model::reporter::Reporter;
use crate::model::session::{Principal, Served, Session};
use crate::model::task::{Alias, Blocker, Body, Queue, Rank, Task};
use crate::model::token::TokenRecord;

/// A row that is only ever found by its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ByKeyAlone {}

/// How tasks are found: in the order of a project's queue. Only queues that are taken from are indexed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InQueue {
    /// The project.
    pub project: ProjectKey,
    /// Ready or deferred.
    pub queue: Queue,
    /// The place in it.
    pub rank: Rank,
}

impl Record for Task {
    type Key = TaskId;
    type Index = InQueue;
    fn key(&self) -> TaskId {
        self.id.clone()
    }
    fn indexes(&self) -> Vec<InQueue> {
        let queue = self.queue();
        if matches!(queue, Queue::Ready | Queue::Deferred) {
            vec![InQueue { project: self.id.project.clone(), queue, rank: self.rank() }]
        } else {
            Vec::new()
        }
    }
}

impl Record for Body {
    type Key = TaskId;
    type Index = ByKeyAlone;
    fn key(&self) -> TaskId {
        self.task.clone()
    }
    fn indexes(&self) -> Vec<ByKeyAlone> {
        Vec::new()
    }
}

impl Record for Alias {
    type Key = (ProjectKey, String);
    type Index = TaskId;
    fn key(&self) -> Self::Key {
        (self.project.clone(), self.alias.clone())
    }
    fn indexes(&self) -> Vec<TaskId> {
        vec![self.task.clone()]
    }
}

/// From which side an edge is found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// All edges that start at a task.
    Of(TaskId),
    /// All edges that end at a task.
    On(TaskId),
}

impl Side {
    /// The task at the other end of an edge on this side.
    #[must_use]
    pub fn other<'a>(&self, edge: &'a Dependency) -> &'a TaskId {
        match self {
            Self::Of(_) => &edge.on,
            Self::On(_) => &edge.task,
        }
    }

    /// Whether an edge between these two is on this side.
    #[must_use]
    pub fn is_at(&self, task: &TaskId, on: &TaskId) -> bool {
        match self {
            Self::Of(id) => id == task,
            Self::On(id) => id == on,
        }
    }
}

impl Record for Dependency {
    type Key = (TaskId, DependencyKind, TaskId);
    type Index = Side;
    fn key(&self) -> Self::Key {
        (self.task.clone(), self.kind, self.on.clone())
    }
    fn indexes(&self) -> Vec<Side> {
        vec![Side::Of(self.task.clone()), Side::On(self.on.clone())]
    }
}

impl Record for Blocker {
    type Key = (TaskId, u64);
    type Index = TaskId;
    fn key(&self) -> Self::Key {
        (self.task.clone(), self.number)
    }
    fn indexes(&self) -> Vec<TaskId> {
        vec![self.task.clone()]
    }
}

/// How attempts are found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AttemptIndex {
    /// The newest attempts of a task.
    Task(TaskId),
    /// The current attempts of a session.
    CurrentOf(SessionId),
    /// The current attempts in a project.
    CurrentIn(ProjectKey),
}

impl Record for Attempt {
    type Key = AttemptId;
    type Index = AttemptIndex;
    fn key(&self) -> AttemptId {
        self.id.clone()
    }
    fn indexes(&self) -> Vec<AttemptIndex> {
        let mut indexes = vec![AttemptIndex::Task(self.id.task.clone())];
        if self.current {
            indexes.push(AttemptIndex::CurrentOf(self.session.clone()));
            indexes.push(AttemptIndex::CurrentIn(self.id.task.project.clone()));
        }
        indexes
    }
}

impl Record for Entry {
    type Key = EventNumber;
    type Index = TaskId;
    fn key(&self) -> EventNumber {
        self.number
    }
    fn indexes(&self) -> Vec<TaskId> {
        vec![self.task.clone()]
    }
}

impl Record for Project {
    type Key = ProjectKey;
    type Index = ByKeyAlone;
    fn key(&self) -> ProjectKey {
        self.key.clone()
    }
    fn indexes(&self) -> Vec<ByKeyAlone> {
        Vec::new()
    }
}

impl Record for Binding {
    type Key = (String, String);
    type Index = String;
    fn key(&self) -> Self::Key {
        (self.repository.clone(), self.folder.clone())
    }
    fn indexes(&self) -> Vec<String> {
        vec![self.repository.clone()]
    }
}

impl Record for Tally {
    type Key = (ProjectKey, Queue);
    type Index = ProjectKey;
    fn key(&self) -> Self::Key {
        (self.project.clone(), self.queue)
    }
    fn indexes(&self) -> Vec<ProjectKey> {
        vec![self.project.clone()]
    }
}

impl Record for Principal {
    type Key = PrincipalName;
    type Index = ByKeyAlone;
    fn key(&self) -> PrincipalName {
        self.name.clone()
    }
    fn indexes(&self) -> Vec<ByKeyAlone> {
        Vec::new()
    }
}

/// How accounts are found: those of a role that are not disabled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnabledIn(pub Role);

impl Record for Account {
    type Key = PrincipalName;
    type Index = EnabledIn;
    fn key(&self) -> PrincipalName {
        self.name.clone()
    }
    fn indexes(&self) -> Vec<EnabledIn> {
        if self.disabled { Vec::new() } else { vec![EnabledIn(self.role)] }
    }
}

impl Record for TokenRecord {
    type Key = TokenId;
    type Index = ByKeyAlone;
    fn key(&self) -> TokenId {
        self.id.clone()
    }
    fn indexes(&self) -> Vec<ByKeyAlone> {
        Vec::new()
    }
}

impl Record for Reporter {
    type Key = ReporterId;
    type Index = ByKeyAlone;
    fn key(&self) -> ReporterId {
        self.id.clone()
    }
    fn indexes(&self) -> Vec<ByKeyAlone> {
        Vec::new()
    }
}

/// How sessions are found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionIndex {
    /// The open sessions of a principal.
    OpenOf(PrincipalName),
    /// The open sessions of a conversation.
    Conversation(ConversationId),
    /// The session with this handle.
    Handle(Handle),
}

impl Record for Session {
    type Key = SessionId;
    type Index = SessionIndex;
    fn key(&self) -> SessionId {
        self.id.clone()
    }
    fn indexes(&self) -> Vec<SessionIndex> {
        let mut indexes = vec![SessionIndex::Handle(self.handle.clone())];
        if self.open {
            indexes.push(SessionIndex::OpenOf(self.principal.clone()));
            indexes.extend(self.conversation.clone().map(SessionIndex::Conversation));
        }
        indexes
    }
}

impl Record for Served {
    type Key = (SessionId, ProjectKey);
    type Index = ByKeyAlone;
    fn key(&self) -> Self::Key {
        (self.session.clone(), self.project.clone())
    }
    fn indexes(&self) -> Vec<ByKeyAlone> {
        Vec::new()
    }
}

impl Record for Receipt {
    type Key = (PrincipalName, OperationId);
    type Index = ByKeyAlone;
    fn key(&self) -> Self::Key {
        (self.principal.clone(), self.operation_id.clone())
    }
    fn indexes(&self) -> Vec<ByKeyAlone> {
        Vec::new()
    }
}
