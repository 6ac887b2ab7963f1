//! What a rule can need to know: rows by key, rows by question, parts of queues, pages of lists.

use super::records::Side;
use crate::model::attempt::EntryKind;
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::event::{EventKind, StoredEvent};
use crate::model::handle::Handle;
use crate::model::ids::{
    AttemptId, ConversationId, EventNumber, OperationId, PrincipalName, ProjectKey, ReporterId, SessionId,
    TaskId, TokenId,
};
use crate::model::task::{LabelCount, Queue, Rank};
use crate::model::time::WallTime;
use crate::search::query::Query;

/// Which queue of a project a window looks into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Ready tasks, and deferred ones whose date has passed.
    Ready,
    /// Tasks whose current attempt has expired.
    Recovery,
}

/// Something that a rule needs to know and that has not been loaded yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A project by its key.
    Project(ProjectKey),
    /// The bindings of a repository.
    Bindings(String),
    /// The tallies of a project.
    Tallies(ProjectKey),
    /// How many of a project's tasks changed their status by the mere passing of time.
    Moments(ProjectKey),
    /// A principal by name.
    Principal(PrincipalName),
    /// A person's account by name.
    Account(PrincipalName),
    /// The administrators that are not disabled.
    Administrators,
    /// A token by its id.
    Token(TokenId),
    /// A reporter by its id.
    Reporter(ReporterId),
    /// A session by id.
    Session(SessionId),
    /// The open sessions of a principal.
    OpenSessionsOf(PrincipalName),
    /// The open sessions of a conversation.
    SessionsIn(ConversationId),
    /// The session with a handle.
    Handle(Handle),
    /// When a session last claimed in a project.
    Served(SessionId, ProjectKey),
    /// The deciding row of a task.
    Task(TaskId),
    /// The body of a task.
    Body(TaskId),
    /// The task with an alias.
    Alias(ProjectKey, String),
    /// The aliases of a task.
    AliasesOf(TaskId),
    /// All edges that start at a task.
    DependenciesOf(TaskId),
    /// All edges that end at a task.
    DependenciesOn(TaskId),
    /// The typed blockers of a task.
    Blockers(TaskId),
    /// An attempt by id.
    Attempt(AttemptId),
    /// The newest attempts of a task: as many as are shown, and one that tells that there are more.
    AttemptsOf(TaskId),
    /// The current attempts of a session.
    CurrentAttemptsOf(SessionId),
    /// The current attempts in a project.
    CurrentAttemptsIn(ProjectKey),
    /// The newest entries of a task's record, as far as they fit into a page.
    NewestEntries {
        /// The task.
        task: TaskId,
        /// Only entries of these kinds.
        kinds: &'static [EntryKind],
        /// At most so many.
        count: u32,
    },
    /// An entry of a task's record.
    Entry(EventNumber),
    /// The receipt of an operation.
    Receipt(PrincipalName, OperationId),
    /// The next rows of a queue.
    Queue {
        /// The project.
        project: ProjectKey,
        /// Which queue.
        source: Source,
        /// Only rows after this place.
        after: Rank,
        /// At most so many.
        count: u32,
    },
    /// Rows of a list, in pages.
    Page(Page),
}

/// A page of a list that only questions read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    /// Events after a number, of the whole fleet or of one task.
    Events {
        /// Only events after this number.
        after: EventNumber,
        /// Only events of this task.
        task: Option<TaskId>,
        /// At most so many.
        count: u32,
    },
    /// The last events, of the whole fleet or of one task, in the order they happened.
    NewestEvents {
        /// Only events of this task.
        task: Option<TaskId>,
        /// At most so many.
        count: u32,
    },
    /// The newest event of some kinds of each task of a project, the newest first.
    Happened {
        /// The project.
        project: ProjectKey,
        /// Of these kinds.
        kinds: &'static [EventKind],
        /// Only events after this number.
        after: EventNumber,
        /// At most so many.
        count: u32,
    },
    /// The last event before a moment of the wall clock.
    Before {
        /// The moment.
        moment: WallTime,
    },
    /// Tasks of a project that a typed blocker keeps, in the order of their ids.
    Kept {
        /// The project.
        project: ProjectKey,
        /// At most so many.
        count: u32,
    },
    /// Tasks of a project in one of some queues, by number.
    Tasks {
        /// The project.
        project: ProjectKey,
        /// In any of these queues.
        queues: Vec<Queue>,
        /// Only tasks after this number.
        after: u64,
        /// At most so many.
        count: u32,
    },
    /// Tasks of a project in one of some queues that have all of some labels, by number.
    Labelled {
        /// The project.
        project: ProjectKey,
        /// All of these labels; at least one.
        labels: Vec<String>,
        /// In any of these queues.
        queues: Vec<Queue>,
        /// Only tasks after this number.
        after: u64,
        /// At most so many.
        count: u32,
    },
    /// The tasks that answer a query, the best first.
    Found {
        /// What is asked for.
        query: Query,
        /// Only tasks of this project.
        project: Option<ProjectKey>,
        /// Only tasks in any of these queues.
        queues: Vec<Queue>,
        /// At most so many.
        count: u32,
    },
    /// How tasks were closed last, in the order of their completions.
    Completions {
        /// Which tasks.
        of: Chosen,
        /// Those that tell no commit, instead of those that do.
        missing: bool,
        /// Only completions after this one, of this task.
        after: Option<(EventNumber, TaskId)>,
        /// At most so many.
        count: u32,
    },
    /// The labels of a project in their order, with the tasks that have each counted.
    Labels {
        /// The project.
        project: ProjectKey,
        /// Only labels after this one.
        after: String,
        /// At most so many.
        count: u32,
    },
    /// Edges of one kind on one side of a task, in the order of the other tasks.
    Edges {
        /// From which side.
        side: Side,
        /// Of this kind.
        kind: DependencyKind,
        /// Only edges whose other task comes after this one.
        after: Option<TaskId>,
        /// At most so many.
        count: u32,
    },
    /// The first required child of a task that is not finished.
    OpenChild {
        /// The parent.
        of: TaskId,
    },
    /// A few tasks of a project whose folded title is this one (see [`crate::model::task::folded_title`]).
    Titled {
        /// The project.
        project: ProjectKey,
        /// The folded title.
        title: String,
    },
    /// Every project.
    Projects,
    /// A part of the projects in the order of their keys.
    ProjectsAfter {
        /// Only projects whose key comes after this one.
        after: Option<ProjectKey>,
        /// At most so many.
        count: u32,
    },
    /// A part of the accounts in the order of their names.
    Accounts {
        /// Only names after this one.
        after: Option<PrincipalName>,
        /// At most so many.
        count: u32,
    },
    /// A part of the tokens in the order of their ids.
    Tokens {
        /// Only ids after this one.
        after: Option<TokenId>,
        /// At most so many.
        count: u32,
    },
    /// Open sessions, newest first.
    Sessions {
        /// At most so many.
        count: u32,
    },
    /// Receipts that still have their answer and are older than a moment, oldest first.
    AgedReceipts {
        /// Only receipts from before this moment.
        before: WallTime,
        /// At most so many.
        count: u32,
    },
    /// Projects with attempts whose lease ended unrecorded, or deferrals whose date has passed.
    Overdue {
        /// At most so many tasks.
        count: u32,
    },
}

/// What a page holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// Events with their bytes and hashes, and whether they were cut because a page is full.
    Events(Vec<StoredEvent>, bool),
    /// The newest event of each of some tasks, and how many tasks there are.
    Happened(Vec<StoredEvent>, u64),
    /// Edges, and how many there are of their kind on this side.
    Edges(Vec<Dependency>, u64),
    /// Tasks that answer a query, and how many there are.
    Found(Vec<Found>, u64),
    /// Completions, and what became of all the tasks that were chosen.
    Completions(Vec<Completion>, Landings),
    /// Labels, with the tasks that have each counted.
    Labels(Vec<LabelCount>),
    /// Ids of tasks; the rows themselves are loaded with them.
    Tasks(Vec<TaskId>),
    /// Keys of projects; the rows themselves are loaded with them.
    Projects(Vec<ProjectKey>),
    /// Names of accounts; the rows themselves are loaded with them.
    Accounts(Vec<PrincipalName>),
    /// Ids of tokens; the rows themselves are loaded with them.
    Tokens(Vec<TokenId>),
    /// Sessions; the rows themselves are loaded with them.
    Sessions(Vec<SessionId>),
    /// Keys of receipts; the rows themselves are loaded with them.
    Receipts(Vec<(PrincipalName, OperationId)>),
}

impl Rows {
    /// The events of a page of events, and whether they were cut because the page is full.
    #[must_use]
    pub fn events(&self) -> (&[StoredEvent], bool) {
        let Self::Events(events, cut) = self else { unreachable!("a page of events holds events") };
        (events, *cut)
    }

    /// The events of a page of what happened to tasks, and how many tasks there are in all.
    #[must_use]
    pub fn happened(&self) -> (&[StoredEvent], u64) {
        let Self::Happened(events, total) = self else {
            unreachable!("a page of what happened holds events")
        };
        (events, *total)
    }

    /// The edges of a page of edges, and how many there are in all.
    #[must_use]
    pub fn edges(&self) -> (&[Dependency], u64) {
        let Self::Edges(edges, total) = self else { unreachable!("a page of edges holds edges") };
        (edges, *total)
    }

    /// The tasks of a page of what was found, and how many there are in all.
    #[must_use]
    pub fn found(&self) -> (&[Found], u64) {
        let Self::Found(tasks, total) = self else { unreachable!("a page of what was found holds tasks") };
        (tasks, *total)
    }

    /// The completions of a page of them, and what became of all the tasks that were chosen.
    #[must_use]
    pub fn completions(&self) -> (&[Completion], Landings) {
        let Self::Completions(completions, landings) = self else {
            unreachable!("a page of completions holds them")
        };
        (completions, *landings)
    }

    /// The labels of a page of labels.
    #[must_use]
    pub fn labels(&self) -> &[LabelCount] {
        let Self::Labels(labels) = self else { unreachable!("a page of labels holds labels") };
        labels
    }

    /// The ids of a page of tasks.
    #[must_use]
    pub fn tasks(&self) -> &[TaskId] {
        let Self::Tasks(ids) = self else { unreachable!("a page of tasks holds tasks") };
        ids
    }

    /// The keys of a page of projects.
    #[must_use]
    pub fn projects(&self) -> &[ProjectKey] {
        let Self::Projects(keys) = self else { unreachable!("a page of projects holds projects") };
        keys
    }

    /// The names of a page of accounts.
    #[must_use]
    pub fn accounts(&self) -> &[PrincipalName] {
        let Self::Accounts(names) = self else { unreachable!("a page of accounts holds names") };
        names
    }

    /// The ids of a page of tokens.
    #[must_use]
    pub fn tokens(&self) -> &[TokenId] {
        let Self::Tokens(ids) = self else { unreachable!("a page of tokens holds ids") };
        ids
    }

    /// The ids of a page of sessions.
    #[must_use]
    pub fn sessions(&self) -> &[SessionId] {
        let Self::Sessions(ids) = self else { unreachable!("a page of sessions holds sessions") };
        ids
    }

    /// The keys of a page of receipts.
    #[must_use]
    pub fn receipts(&self) -> &[(PrincipalName, OperationId)] {
        let Self::Receipts(keys) = self else { unreachable!("a page of receipts holds receipts") };
        keys
    }
}

/// A way to choose a body of work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chosen {
    /// The tasks of a project that have a label.
    Labelled(ProjectKey, String),
    /// A task and everything below it.
    Below(TaskId),
    /// These tasks.
    Named(Vec<TaskId>),
}

/// How a finished task was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The task.
    pub task: TaskId,
    /// The entry that tells it; absent where none does.
    pub entry: Option<EventNumber>,
}

impl Completion {
    /// Its place among others: 0 where no entry tells of it.
    #[must_use]
    pub fn number(&self) -> EventNumber {
        self.entry.unwrap_or(EventNumber(0))
    }
}

/// What became of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Landings {
    /// Closed with a commit.
    pub landed: u64,
    /// Closed without one; objectives aside.
    pub missing: u64,
    /// Not finished.
    pub unfinished: u64,
    /// Cancelled.
    pub cancelled: u64,
}

/// A task that answers a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The task.
    pub task: TaskId,
    /// The entry that answers best; title and description do when absent.
    pub entry: Option<EventNumber>,
}

/// How many of a project's tasks changed their status by the mere passing of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moments {
    /// Deferred tasks whose date has passed.
    pub deferred_due: u64,
    /// Held tasks whose attempt has expired.
    pub expired: u64,
}

/// Which part of a task's record has been loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newest {
    /// So many were asked for.
    pub count: u32,
    /// How many of these kinds there are in the store.
    pub total: u64,
}

/// Which part of a queue has been loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Everything after this place …
    pub from: Rank,
    /// … up to and with this place is known …
    pub to: Rank,
    /// … and whether there is nothing behind it.
    pub complete: bool,
}
