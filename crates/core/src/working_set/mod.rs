//! The part of the store that a batch of commands looks at and changes, in memory.
//!
//! Rules read it and write it. What they ask for and is not loaded yet comes back as a [`Need`]: the engine
//! loads that and asks the rule again. A refused command is taken back whole; what remains at the end of the
//! batch is flushed in a few statements. Nothing here knows a database.

mod about;
mod need;
mod news;
pub mod records;
mod step;
pub mod table;
pub mod walk;

use std::collections::BTreeMap;

use crate::envelope::Call;
use crate::model::account::{Account, Role};
use crate::model::attempt::{Attempt, Entry, EntryKind};
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::event::{Actor, EVENT_VERSION, Event, EventKind, Fleet, Receipt, StoredEvent, chain_hash};
use crate::model::handle::Handle;
use crate::model::ids::{
    AttemptId, ConversationId, Digest, Epoch, EventNumber, OperationId, PrincipalName, ProjectKey,
    ReporterId, SessionId, TaskId, TokenId,
};
use crate::model::project::{Binding, Project, Tally};
use crate::model::refusal::Refusal;
use crate::model::reporter::Reporter;
use crate::model::session::{Principal, Served, Session};
use crate::model::task::{Alias, Blocker, Body, Queue, Task};
use crate::model::time::{FleetTime, WallTime};
use crate::model::token::TokenRecord;
pub use about::About;
pub use need::{Chosen, Completion, Found, Landings, Moments, Need, Newest, Page, Rows, Source, Window};
pub use news::News;
use records::{AttemptIndex, EnabledIn, SessionIndex, Side};
pub use step::{Step, Stop, together};
use table::{Record, Table};
use walk::Walk;

/// The rows, windows and pages that a batch knows, and the events it has appended.
pub struct WorkingSet {
    /// The fleet row, as it will be when the batch commits.
    pub fleet: Fleet,
    /// Projects.
    pub projects: Table<Project>,
    /// Bindings.
    pub bindings: Table<Binding>,
    /// Tallies.
    pub tallies: Table<Tally>,
    /// Principals.
    pub principals: Table<Principal>,
    /// Accounts of people.
    pub accounts: Table<Account>,
    /// Tokens of agents and machines.
    pub tokens: Table<TokenRecord>,
    /// Sessions.
    pub sessions: Table<Session>,
    /// When sessions claimed where.
    pub served: Table<Served>,
    /// Deciding rows of tasks.
    pub tasks: Table<Task>,
    /// Bodies of tasks.
    pub bodies: Table<Body>,
    /// Other names of tasks.
    pub aliases: Table<Alias>,
    /// Edges.
    pub dependencies: Table<Dependency>,
    /// Typed blockers.
    pub blockers: Table<Blocker>,
    /// Attempts.
    pub attempts: Table<Attempt>,
    /// Reporters.
    pub reporters: Table<Reporter>,
    /// Entries of tasks' records.
    pub entries: Table<Entry>,
    /// Receipts.
    pub receipts: Table<Receipt>,
    /// Loaded parts of queues.
    pub windows: BTreeMap<(ProjectKey, Source), Window>,
    /// Loaded pages.
    pub pages: BTreeMap<Page, Rows>,
    /// Loaded parts of tasks' records.
    pub newest: BTreeMap<(TaskId, &'static [EntryKind]), Newest>,
    /// Loaded counts.
    pub moments: BTreeMap<ProjectKey, Moments>,
    /// Events of the batch's accepted commands, to be stored.
    pub events: Vec<StoredEvent>,
    /// How far the current command's walks through the graph have come.
    pub walks: Vec<Walk>,
    drafts: Vec<(EventKind, About)>,
}

/// Runs one method on every table.
macro_rules! every_table {
    ($set:ident.$method:ident()) => {
        $set.projects.$method();
        $set.bindings.$method();
        $set.tallies.$method();
        $set.principals.$method();
        $set.accounts.$method();
        $set.tokens.$method();
        $set.sessions.$method();
        $set.served.$method();
        $set.tasks.$method();
        $set.bodies.$method();
        $set.aliases.$method();
        $set.dependencies.$method();
        $set.blockers.$method();
        $set.attempts.$method();
        $set.reporters.$method();
        $set.entries.$method();
        $set.receipts.$method();
    };
}

/// A row by its key: loaded, absent, or needed.
fn row<R: Record>(table: &Table<R>, key: &R::Key, need: impl FnOnce() -> Need) -> Step<Option<R>> {
    match table.get(key) {
        Some(found) => Ok(found.cloned()),
        None => Err(need().into()),
    }
}

/// The rows under an index: loaded, or needed.
fn rows<R: Record>(table: &Table<R>, index: &R::Index, need: impl FnOnce() -> Need) -> Step<Vec<R>> {
    match table.find(index) {
        Some(found) => Ok(found.into_iter().cloned().collect()),
        None => Err(need().into()),
    }
}

impl WorkingSet {
    /// An empty working set on a fleet row.
    #[must_use]
    pub fn new(fleet: Fleet) -> Self {
        Self {
            fleet,
            projects: Table::default(),
            bindings: Table::default(),
            tallies: Table::default(),
            principals: Table::default(),
            accounts: Table::default(),
            tokens: Table::default(),
            sessions: Table::default(),
            served: Table::default(),
            tasks: Table::default(),
            bodies: Table::default(),
            aliases: Table::default(),
            dependencies: Table::default(),
            blockers: Table::default(),
            attempts: Table::default(),
            reporters: Table::default(),
            entries: Table::default(),
            receipts: Table::default(),
            windows: BTreeMap::new(),
            pages: BTreeMap::new(),
            newest: BTreeMap::new(),
            moments: BTreeMap::new(),
            events: Vec::new(),
            walks: Vec::new(),
            drafts: Vec::new(),
        }
    }

    /// One that knows nothing yet, not even the fleet row: for finding out what to ask for beside it.
    #[must_use]
    pub fn unread() -> Self {
        Self::new(Fleet {
            id: String::new(),
            epoch: Epoch(0),
            time: FleetTime(0),
            wall: WallTime(0),
            event: EventNumber(0),
            head: Digest([0; 32]),
            floor: 0,
        })
    }

    /// Starts a command: what an earlier one's walks found is not valid for it.
    pub fn begin(&mut self) {
        self.walks.clear();
    }

    /// Takes back everything that the current command did.
    pub fn undo(&mut self) {
        every_table!(self.undo());
        self.drafts.clear();
    }

    /// Keeps what the current command did and seals its events: number, time, actor, and on the last one the
    /// digest of the answer as stored.
    pub fn keep(&mut self, call: &Call, answer: Option<&str>) {
        every_table!(self.keep());
        let drafts = std::mem::take(&mut self.drafts);
        let last = drafts.len().saturating_sub(1);
        for (index, (kind, about)) in drafts.into_iter().enumerate() {
            let receipt = answer.filter(|_| index == last).map(receipt_digest);
            self.seal(call, kind, about, receipt);
        }
    }

    fn seal(&mut self, call: &Call, kind: EventKind, about: About, receipt: Option<Digest>) {
        let number = EventNumber(self.fleet.event.0 + 1);
        let mut actor = about.actor.unwrap_or_else(|| caller_of(call));
        actor.operation.clone_from(&call.envelope.operation_id);
        if actor.principal.is_some() {
            actor.machine = call.token.as_ref().and_then(TokenRecord::machine).cloned();
        }
        let event = Event {
            v: EVENT_VERSION,
            number,
            epoch: call.epoch,
            fleet_time: call.now.fleet,
            wall_time: call.now.wall,
            kind,
            actor,
            project: about.project,
            task: about.task,
            attempt: about.attempt,
            data: about.data,
            receipt,
        };
        let bytes = serde_json::to_string(&event).expect("an event is plain data and always serialises");
        let hash = chain_hash(&self.fleet.head, &bytes);
        self.fleet.event = number;
        self.fleet.head = hash;
        self.events.push(StoredEvent { event, bytes, hash });
    }

    /// Appends an event of the current command and returns the number it will have.
    pub fn record(&mut self, kind: EventKind, about: About) -> EventNumber {
        self.drafts.push((kind, about));
        EventNumber(self.fleet.event.0 + self.drafts.len() as u64)
    }

    /// Whether the current command has appended an event.
    #[must_use]
    pub fn has_drafts(&self) -> bool {
        !self.drafts.is_empty()
    }

    /// A project.
    pub fn project(&self, key: &ProjectKey) -> Step<Option<Project>> {
        row(&self.projects, key, || Need::Project(key.clone()))
    }

    /// The bindings of a repository.
    pub fn bindings_of(&self, repository: &str) -> Step<Vec<Binding>> {
        let repository = repository.to_owned();
        rows(&self.bindings, &repository, || Need::Bindings(repository.clone()))
    }

    /// The tallies of a project.
    pub fn tallies_of(&self, project: &ProjectKey) -> Step<BTreeMap<Queue, u64>> {
        let tallies = rows(&self.tallies, project, || Need::Tallies(project.clone()))?;
        Ok(tallies.into_iter().map(|tally| (tally.queue, tally.count)).collect())
    }

    /// What the mere passing of time changed in a project.
    pub fn moments_of(&self, project: &ProjectKey) -> Step<Moments> {
        self.moments.get(project).copied().ok_or_else(|| Need::Moments(project.clone()).into())
    }

    /// A principal.
    pub fn principal(&self, name: &PrincipalName) -> Step<Option<Principal>> {
        row(&self.principals, name, || Need::Principal(name.clone()))
    }

    /// A person's account.
    pub fn account(&self, name: &PrincipalName) -> Step<Option<Account>> {
        row(&self.accounts, name, || Need::Account(name.clone()))
    }

    /// The administrators that are not disabled.
    pub fn administrators(&self) -> Step<Vec<Account>> {
        rows(&self.accounts, &EnabledIn(Role::Administrator), || Need::Administrators)
    }

    /// A token.
    pub fn token(&self, id: &TokenId) -> Step<Option<TokenRecord>> {
        row(&self.tokens, id, || Need::Token(id.clone()))
    }

    /// A reporter.
    pub fn reporter(&self, id: &ReporterId) -> Step<Option<Reporter>> {
        row(&self.reporters, id, || Need::Reporter(id.clone()))
    }

    /// A session.
    pub fn session(&self, id: &SessionId) -> Step<Option<Session>> {
        row(&self.sessions, id, || Need::Session(id.clone()))
    }

    /// The open sessions of a principal.
    pub fn open_sessions_of(&self, name: &PrincipalName) -> Step<Vec<Session>> {
        rows(&self.sessions, &SessionIndex::OpenOf(name.clone()), || Need::OpenSessionsOf(name.clone()))
    }

    /// The open sessions of a conversation.
    pub fn sessions_in(&self, conversation: &ConversationId) -> Step<Vec<Session>> {
        let index = SessionIndex::Conversation(conversation.clone());
        rows(&self.sessions, &index, || Need::SessionsIn(conversation.clone()))
    }

    /// The session with a handle.
    pub fn session_by_handle(&self, handle: &Handle) -> Step<Option<Session>> {
        let found =
            rows(&self.sessions, &SessionIndex::Handle(handle.clone()), || Need::Handle(handle.clone()))?;
        Ok(found.into_iter().next())
    }

    /// The event at which a session last claimed in a project; 0 if it never did.
    pub fn served_at(&self, session: &SessionId, project: &ProjectKey) -> Step<u64> {
        let key = (session.clone(), project.clone());
        let served = row(&self.served, &key, || Need::Served(session.clone(), project.clone()))?;
        Ok(served.map_or(0, |served| served.event))
    }

    /// The deciding row of a task.
    pub fn task(&self, id: &TaskId) -> Step<Option<Task>> {
        row(&self.tasks, id, || Need::Task(id.clone()))
    }

    /// The deciding row of a task that must exist.
    pub fn existing_task(&self, id: &TaskId) -> Step<Task> {
        self.task(id)?.ok_or_else(|| Refusal::not_found("task", id).into())
    }

    /// The body of a task that exists.
    pub fn body(&self, id: &TaskId) -> Step<Body> {
        let body = row(&self.bodies, id, || Need::Body(id.clone()))?;
        body.ok_or_else(|| Refusal::not_found("task", id).into())
    }

    /// The task with an alias.
    pub fn alias(&self, project: &ProjectKey, alias: &str) -> Step<Option<Alias>> {
        let key = (project.clone(), alias.to_owned());
        row(&self.aliases, &key, || Need::Alias(project.clone(), alias.to_owned()))
    }

    /// The aliases of a task.
    pub fn aliases_of(&self, task: &TaskId) -> Step<Vec<String>> {
        let found = rows(&self.aliases, task, || Need::AliasesOf(task.clone()))?;
        Ok(found.into_iter().map(|alias| alias.alias).collect())
    }

    /// All edges that start at a task.
    pub fn dependencies_of(&self, task: &TaskId) -> Step<Vec<Dependency>> {
        rows(&self.dependencies, &Side::Of(task.clone()), || Need::DependenciesOf(task.clone()))
    }

    /// All edges that end at a task.
    pub fn dependencies_on(&self, task: &TaskId) -> Step<Vec<Dependency>> {
        rows(&self.dependencies, &Side::On(task.clone()), || Need::DependenciesOn(task.clone()))
    }

    /// The first edges of one kind on one side of a task, in the order of the other tasks, and how many there are. A
    /// command that knows all of them, or has changed one, counts them here.
    pub fn neighbours(&self, side: &Side, kind: DependencyKind, count: u32) -> Step<(Vec<Dependency>, u64)> {
        if let Some(found) = self.dependencies.find(side) {
            let mut edges: Vec<Dependency> =
                found.into_iter().filter(|edge| edge.kind == kind).cloned().collect();
            edges.sort_by(|a, b| side.other(a).cmp(side.other(b)));
            let total = edges.len() as u64;
            edges.truncate(count as usize);
            return Ok((edges, total));
        }
        if self.dependencies.dirty().any(|((task, _, on), _)| side.is_at(task, on)) {
            return Err(match side {
                Side::Of(id) => Need::DependenciesOf(id.clone()),
                Side::On(id) => Need::DependenciesOn(id.clone()),
            }
            .into());
        }
        let page = Page::Edges { side: side.clone(), kind, after: None, count };
        let (edges, total) = self.page(&page)?.edges();
        Ok((edges.to_vec(), total))
    }

    /// Whether a command of this batch has changed a task or an edge, so that pages of the store tell what was.
    #[must_use]
    pub fn has_changed_graph(&self) -> bool {
        self.tasks.dirty().next().is_some() || self.dependencies.dirty().next().is_some()
    }

    /// The typed blockers of a task, resolved ones too.
    pub fn blockers_of(&self, task: &TaskId) -> Step<Vec<Blocker>> {
        rows(&self.blockers, task, || Need::Blockers(task.clone()))
    }

    /// An attempt.
    pub fn attempt(&self, id: &AttemptId) -> Step<Option<Attempt>> {
        row(&self.attempts, id, || Need::Attempt(id.clone()))
    }

    /// The current attempt of a task, live or expired.
    pub fn current_attempt(&self, task: &Task) -> Step<Option<Attempt>> {
        match task.current_attempt() {
            Some(id) => self.attempt(&id),
            None => Ok(None),
        }
    }

    /// The newest attempts of a task, oldest first: at least as many as are shown, and one more if there are more.
    pub fn newest_attempts_of(&self, task: &TaskId) -> Step<Vec<Attempt>> {
        rows(&self.attempts, &AttemptIndex::Task(task.clone()), || Need::AttemptsOf(task.clone()))
    }

    /// The current attempts of a session.
    pub fn current_attempts_of(&self, session: &SessionId) -> Step<Vec<Attempt>> {
        let index = AttemptIndex::CurrentOf(session.clone());
        rows(&self.attempts, &index, || Need::CurrentAttemptsOf(session.clone()))
    }

    /// The current attempts in a project.
    pub fn current_attempts_in(&self, project: &ProjectKey) -> Step<Vec<Attempt>> {
        let index = AttemptIndex::CurrentIn(project.clone());
        rows(&self.attempts, &index, || Need::CurrentAttemptsIn(project.clone()))
    }

    /// The newest entries of some kinds in a task's record, newest first, and how many of them the store has. What does
    /// not fit into a page of text is left out.
    pub fn newest_entries(
        &self,
        task: &TaskId,
        kinds: &'static [EntryKind],
        count: u32,
    ) -> Step<(Vec<Entry>, u64)> {
        let loaded = self.newest.get(&(task.clone(), kinds)).filter(|newest| newest.count >= count);
        let Some(loaded) = loaded else {
            return Err(Need::NewestEntries { task: task.clone(), kinds, count }.into());
        };
        let known = self.entries.known(task).into_iter().rev().filter(|entry| kinds.contains(&entry.kind));
        Ok((known.take(count as usize).cloned().collect(), loaded.total))
    }

    /// An entry that exists.
    pub fn entry(&self, number: &EventNumber) -> Step<Entry> {
        let entry = row(&self.entries, number, || Need::Entry(*number))?;
        entry.ok_or_else(|| Refusal::not_found("entry", number).into())
    }

    /// The receipt of an operation.
    pub fn receipt(&self, principal: &PrincipalName, operation: &OperationId) -> Step<Option<Receipt>> {
        let key = (principal.clone(), operation.clone());
        row(&self.receipts, &key, || Need::Receipt(principal.clone(), operation.clone()))
    }

    /// A page of a list.
    pub fn page(&self, page: &Page) -> Step<&Rows> {
        self.pages.get(page).ok_or_else(|| Need::Page(page.clone()).into())
    }

    /// Writes a task and keeps its project's tallies.
    pub fn put_task(&mut self, task: Task) -> Step<()> {
        let before = self.task(&task.id)?.map(|old| old.queue());
        let after = task.queue();
        let project = task.id.project.clone();
        if before != Some(after) {
            let tallies = self.tallies_of(&project)?;
            let count = |queue: Queue| tallies.get(&queue).copied().unwrap_or(0);
            let mut set = |queue, count| self.tallies.put(Tally { project: project.clone(), queue, count });
            if let Some(queue) = before {
                set(queue, count(queue) - 1);
            }
            set(after, count(after) + 1);
        }
        self.tasks.put(task);
        Ok(())
    }
}

/// The authenticated person, the calling session, or the one that a reporter acts for, as an actor; nobody for what the coordinator does by itself.
fn caller_of(call: &Call) -> Actor {
    let (session, reporter) = (call.session.as_ref(), call.reporter.as_ref());
    let person = call.account.as_ref().map(|account| account.name.clone());
    let principal = person.or_else(|| session.map(|session| session.principal.clone()));
    Actor {
        principal: principal.or_else(|| reporter.map(|reporter| reporter.principal.clone())),
        machine: None,
        reporter: reporter.map(|reporter| reporter.id.clone()),
        session: session.map(|session| &session.id).or(reporter.map(|reporter| &reporter.session)).cloned(),
        parent: session.and_then(|session| session.parent.clone()),
        operation: None,
    }
}

/// The digest by which the event chain vouches for a receipt.
#[must_use]
pub fn receipt_digest(answer: &str) -> Digest {
    crate::secret::digest("tenure receipt v1", &[answer.as_bytes()])
}
