//! A store in memory that can be copied in a moment, and whose lock, commit and crash are steps.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use tenure_core::model::account::{Account, Role};
use tenure_core::model::attempt::{Attempt, AttemptState};
use tenure_core::model::dependency::Dependency;
use tenure_core::model::event::{EventKind, Fleet, Receipt};
use tenure_core::model::ids::{Digest, Epoch, EventNumber};
use tenure_core::model::project::{Binding, Project, Tally};
use tenure_core::model::reporter::Reporter;
use tenure_core::model::session::{Principal, Served, Session};
use tenure_core::model::task::{Alias, Blocker, Body, Rank, Task};
use tenure_core::model::time::{FleetTime, Now, WallTime};
use tenure_core::model::token::TokenRecord;
use tenure_core::working_set::records::{AttemptIndex, EnabledIn, SessionIndex, Side};
use tenure_core::working_set::table::{Record, Table};
use tenure_core::working_set::{Moments, Need, Newest, Page, Rows as PageRows, Window, WorkingSet};
use tenure_engine::clock::Clocks;
use tenure_engine::store::batch::Store;
use tenure_engine::store::driver::{Class, StoreError};
use tenure_engine::store::is_changed;

use super::Flaw;

/// Rows of one kind. Copies share what they have in common.
pub type Shelf<R> = Rc<BTreeMap<<R as Record>::Key, Rc<R>>>;

/// Everything that is stored. Texts of tasks' records are not: no promise of these worlds depends on them.
#[derive(Clone)]
pub struct Rows {
    /// The fleet row.
    pub fleet: Fleet,
    /// Projects.
    pub projects: Shelf<Project>,
    /// Bindings.
    pub bindings: Shelf<Binding>,
    /// Tallies.
    pub tallies: Shelf<Tally>,
    /// Principals.
    pub principals: Shelf<Principal>,
    /// Accounts of people.
    pub accounts: Shelf<Account>,
    /// Tokens of agents and machines.
    pub tokens: Shelf<TokenRecord>,
    /// Reporters.
    pub reporters: Shelf<Reporter>,
    /// Sessions.
    pub sessions: Shelf<Session>,
    /// When sessions claimed where.
    pub served: Shelf<Served>,
    /// Deciding rows of tasks.
    pub tasks: Shelf<Task>,
    /// Bodies of tasks.
    pub bodies: Shelf<Body>,
    /// Other names of tasks.
    pub aliases: Shelf<Alias>,
    /// Edges.
    pub dependencies: Shelf<Dependency>,
    /// Typed blockers.
    pub blockers: Shelf<Blocker>,
    /// Attempts.
    pub attempts: Shelf<Attempt>,
    /// Receipts.
    pub receipts: Shelf<Receipt>,
}

/// Runs an expression for every shelf and the table of a working set that belongs to it.
macro_rules! every_shelf {
    ($apply:ident($rows:expr, $set:expr), $($name:ident),+) => {
        $($apply(&mut $rows.$name, &$set.$name);)+
    };
}

impl Rows {
    /// A store whose fleet was founded and that holds nothing.
    #[must_use]
    pub fn founded(wall: WallTime) -> Self {
        Self {
            fleet: Fleet {
                id: "worlds".to_owned(),
                epoch: Epoch(1),
                time: FleetTime(0),
                wall,
                event: EventNumber(1),
                floor: 0,
                head: Digest([0; 32]),
            },
            projects: Shelf::<Project>::default(),
            bindings: Shelf::<Binding>::default(),
            tallies: Shelf::<Tally>::default(),
            principals: Shelf::<Principal>::default(),
            accounts: Shelf::<Account>::default(),
            tokens: Shelf::<TokenRecord>::default(),
            reporters: Shelf::<Reporter>::default(),
            sessions: Shelf::<Session>::default(),
            served: Shelf::<Served>::default(),
            tasks: Shelf::<Task>::default(),
            bodies: Shelf::<Body>::default(),
            aliases: Shelf::<Alias>::default(),
            dependencies: Shelf::<Dependency>::default(),
            blockers: Shelf::<Blocker>::default(),
            attempts: Shelf::<Attempt>::default(),
            receipts: Shelf::<Receipt>::default(),
        }
    }

    /// Whether both hold the same work and the same events. Receipts are for whoever asks to look at.
    #[must_use]
    pub fn same_work(&self, other: &Self) -> bool {
        fn same<R: Record + PartialEq>(left: &Shelf<R>, right: &Shelf<R>) -> bool {
            Rc::ptr_eq(left, right) || left == right
        }
        same(&self.tasks, &other.tasks)
            && same(&self.attempts, &other.attempts)
            && same(&self.sessions, &other.sessions)
            && self.fleet.event == other.fleet.event
            && self.fleet.epoch == other.fleet.epoch
    }

    fn moments(&self, project: &tenure_core::model::ids::ProjectKey, now: Now) -> Moments {
        let inside = |id: &tenure_core::model::ids::TaskId| id.project == *project;
        let due = self.tasks.values().filter(|task| {
            inside(&task.id) && !task.held && task.deferred_until.is_some_and(|until| until <= now.wall)
        });
        let expired = self
            .attempts
            .values()
            .filter(|attempt| attempt.current && inside(&attempt.id.task) && !attempt.is_live(now.fleet));
        Moments { deferred_due: due.count() as u64, expired: expired.count() as u64 }
    }
}

/// Clocks that only a step moves.
#[derive(Debug, Default)]
pub struct StepClocks {
    monotonic: AtomicI64,
    wall: AtomicI64,
}

impl StepClocks {
    /// Clocks that show this.
    #[must_use]
    pub fn at(monotonic: i64, wall: i64) -> Self {
        Self { monotonic: monotonic.into(), wall: wall.into() }
    }

    /// Lets time pass.
    pub fn pass(&self, ms: i64) {
        self.monotonic.fetch_add(ms, Relaxed);
        self.wall.fetch_add(ms, Relaxed);
    }
}

impl Clocks for StepClocks {
    fn monotonic_ms(&self) -> i64 {
        self.monotonic.load(Relaxed)
    }

    fn wall_ms(&self) -> i64 {
        self.wall.load(Relaxed)
    }
}

/// A store for one batch.
pub struct Memory<'w> {
    /// What the last commit left.
    pub kept: Rows,
    draft: Option<Rows>,
    late: Table<Receipt>,
    clocks: &'w StepClocks,
    wait_ms: i64,
    dies: bool,
    flaw: Option<Flaw>,
}

impl<'w> Memory<'w> {
    /// A store whose lock is had after `wait_ms`, and whose process dies right after the commit when `dies`.
    #[must_use]
    pub fn new(kept: Rows, clocks: &'w StepClocks, wait_ms: i64, dies: bool, flaw: Option<Flaw>) -> Self {
        Self { kept, draft: None, late: Table::default(), clocks, wait_ms, dies, flaw }
    }

    fn draft(&mut self) -> Result<&mut Rows, StoreError> {
        self.draft.as_mut().ok_or_else(|| StoreError::new(Class::Other, "no transaction is open"))
    }
}

impl Store for Memory<'_> {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        // Whoever reads the clock before the lock judges at the moment at which the wait began.
        if self.flaw != Some(Flaw::ClockBeforeLock) {
            self.clocks.pass(self.wait_ms);
        }
        self.draft = Some(self.kept.clone());
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.flaw == Some(Flaw::ClockBeforeLock) {
            self.clocks.pass(self.wait_ms);
        }
        self.kept =
            self.draft.take().ok_or_else(|| StoreError::new(Class::Other, "no transaction is open"))?;
        if self.dies {
            return Err(StoreError::new(Class::Lost, "the process died after its commit"));
        }
        put(&mut self.kept.receipts, &self.late);
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.draft = None;
        Ok(())
    }

    fn fleet(&mut self) -> Result<Fleet, StoreError> {
        Ok(self.draft()?.fleet.clone())
    }

    fn load(&mut self, set: &mut WorkingSet, needs: Vec<Need>, now: Now) -> Result<(), StoreError> {
        let rows = self.draft()?;
        needs.into_iter().for_each(|need| load(rows, set, need, now));
        Ok(())
    }

    fn load_ahead(&mut self, _set: &mut WorkingSet, _needs: &[Need], _now: Now) -> Result<(), StoreError> {
        Ok(())
    }

    fn flush(&mut self, set: &WorkingSet) -> Result<(), StoreError> {
        let flaw = self.flaw;
        let rows = self.draft()?;
        let begins_anew =
            set.events.first().is_some_and(|stored| stored.event.kind == EventKind::FleetRestored);
        let first = set.fleet.event.0 + 1 - set.events.len() as u64;
        let follow = (first..).zip(&set.events).all(|(number, stored)| stored.event.number.0 == number);
        assert!(follow && (begins_anew || first == rows.fleet.event.0 + 1), "a gap in the events");
        if flaw == Some(Flaw::TimeNotCommitted) && !is_changed(set) {
            return Ok(());
        }
        every_shelf!(
            put(rows, set),
            projects,
            bindings,
            tallies,
            principals,
            sessions,
            served,
            tasks,
            bodies,
            aliases,
            dependencies,
            blockers,
            attempts,
            reporters
        );
        rows.fleet = set.fleet.clone();
        if flaw == Some(Flaw::ReceiptOutside) {
            set.receipts.dirty().filter_map(|(_, row)| row.cloned()).for_each(|row| self.late.put(row));
        } else {
            put(&mut rows.receipts, &set.receipts);
        }
        Ok(())
    }
}

fn put<R: Record>(shelf: &mut Shelf<R>, table: &Table<R>) {
    let mut dirty = table.dirty().peekable();
    if dirty.peek().is_none() {
        return;
    }
    let shelf = Rc::make_mut(shelf);
    for (key, row) in dirty {
        match row {
            Some(row) => shelf.insert(key.clone(), Rc::new(row.clone())),
            None => shelf.remove(key),
        };
    }
}

fn by_key<R: Record>(table: &mut Table<R>, shelf: &Shelf<R>, key: R::Key) {
    if table.get(&key).is_none() {
        match shelf.get(&key) {
            Some(row) => table.load(R::clone(row)),
            None => table.load_absent(key),
        }
    }
}

fn by_index<R: Record>(table: &mut Table<R>, shelf: &Shelf<R>, index: R::Index) {
    if table.find(&index).is_none() {
        shelf.values().filter(|row| row.indexes().contains(&index)).for_each(|row| table.load(R::clone(row)));
        table.cover(index);
    }
}

fn load(rows: &Rows, set: &mut WorkingSet, need: Need, now: Now) {
    match need {
        Need::Project(key) => by_key(&mut set.projects, &rows.projects, key),
        Need::Bindings(repository) => by_index(&mut set.bindings, &rows.bindings, repository),
        Need::Tallies(project) => by_index(&mut set.tallies, &rows.tallies, project),
        Need::Moments(project) => {
            let moments = rows.moments(&project, now);
            set.moments.insert(project, moments);
        }
        Need::Principal(name) => by_key(&mut set.principals, &rows.principals, name),
        Need::Account(name) => by_key(&mut set.accounts, &rows.accounts, name),
        Need::Token(id) => by_key(&mut set.tokens, &rows.tokens, id),
        Need::Reporter(id) => by_key(&mut set.reporters, &rows.reporters, id),
        Need::Administrators => {
            by_index(&mut set.accounts, &rows.accounts, EnabledIn(Role::Administrator));
        }
        Need::Session(id) => by_key(&mut set.sessions, &rows.sessions, id),
        Need::OpenSessionsOf(name) => by_index(&mut set.sessions, &rows.sessions, SessionIndex::OpenOf(name)),
        Need::SessionsIn(conversation) => {
            by_index(&mut set.sessions, &rows.sessions, SessionIndex::Conversation(conversation));
        }
        Need::Handle(handle) => by_index(&mut set.sessions, &rows.sessions, SessionIndex::Handle(handle)),
        Need::Served(session, project) => by_key(&mut set.served, &rows.served, (session, project)),
        Need::Task(id) => by_key(&mut set.tasks, &rows.tasks, id),
        Need::Body(id) => by_key(&mut set.bodies, &rows.bodies, id),
        Need::Alias(project, alias) => by_key(&mut set.aliases, &rows.aliases, (project, alias)),
        Need::AliasesOf(task) => by_index(&mut set.aliases, &rows.aliases, task),
        Need::DependenciesOf(task) => by_index(&mut set.dependencies, &rows.dependencies, Side::Of(task)),
        Need::DependenciesOn(task) => by_index(&mut set.dependencies, &rows.dependencies, Side::On(task)),
        Need::Blockers(task) => by_index(&mut set.blockers, &rows.blockers, task),
        Need::Attempt(id) => by_key(&mut set.attempts, &rows.attempts, id),
        Need::AttemptsOf(task) => by_index(&mut set.attempts, &rows.attempts, AttemptIndex::Task(task)),
        Need::CurrentAttemptsOf(session) => {
            by_index(&mut set.attempts, &rows.attempts, AttemptIndex::CurrentOf(session));
        }
        Need::CurrentAttemptsIn(project) => {
            by_index(&mut set.attempts, &rows.attempts, AttemptIndex::CurrentIn(project));
        }
        Need::NewestEntries { task, kinds, count } => {
            set.newest.insert((task, kinds), Newest { count, total: 0 });
        }
        Need::Entry(number) => set.entries.load_absent(number),
        Need::Receipt(principal, operation) => {
            by_key(&mut set.receipts, &rows.receipts, (principal, operation));
        }
        Need::Queue { project, source, after, count: _ } => {
            for task in rows.tasks.values().filter(|task| task.id.project == project) {
                set.tasks.load(Task::clone(task));
                set.bodies.load(Body::clone(&rows.bodies[&task.id]));
            }
            rows.attempts.values().for_each(|attempt| set.attempts.load(Attempt::clone(attempt)));
            let to = rows.tasks.values().map(|task| task.rank()).max().unwrap_or(Rank::FIRST);
            set.windows.insert((project, source), Window { from: after, to, complete: true });
        }
        Need::Page(page) => load_page(rows, set, page, now),
    }
}

/// The pages that commands ask for. Questions are not asked in these worlds.
fn load_page(rows: &Rows, set: &mut WorkingSet, page: Page, now: Now) {
    let found = match &page {
        Page::Titled { .. } => PageRows::Tasks(Vec::new()),
        Page::AgedReceipts { .. } => PageRows::Receipts(Vec::new()),
        Page::Overdue { .. } => {
            let overdue = rows.attempts.values().filter(|attempt| {
                attempt.current && attempt.state == AttemptState::Active && !attempt.is_live(now.fleet)
            });
            let ids: Vec<_> = overdue
                .map(|attempt| {
                    set.attempts.load(Attempt::clone(attempt));
                    by_key(&mut set.tasks, &rows.tasks, attempt.id.task.clone());
                    attempt.id.task.clone()
                })
                .collect();
            PageRows::Tasks(ids)
        }
        Page::Projects => {
            for project in rows.projects.values() {
                set.projects.load(Project::clone(project));
            }
            PageRows::Projects(rows.projects.keys().cloned().collect())
        }
        Page::ProjectsAfter { after, count } => {
            let rest =
                rows.projects.iter().filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after));
            let part: Vec<_> = rest.take(*count as usize).collect();
            part.iter().for_each(|(_, project)| set.projects.load(Project::clone(project)));
            PageRows::Projects(part.into_iter().map(|(key, _)| key.clone()).collect())
        }
        Page::Sessions { .. } => {
            let open = rows.sessions.values().filter(|session| session.open);
            let ids: Vec<_> = open.map(|session| session.id.clone()).collect();
            ids.iter().for_each(|id| by_key(&mut set.sessions, &rows.sessions, id.clone()));
            PageRows::Sessions(ids)
        }
        Page::Edges { side, kind, .. } => {
            by_index(&mut set.dependencies, &rows.dependencies, side.clone());
            let known = set.dependencies.known(side).into_iter().filter(|edge| edge.kind == *kind);
            let edges: Vec<Dependency> = known.cloned().collect();
            let total = edges.len() as u64;
            PageRows::Edges(edges, total)
        }
        Page::Events { .. }
        | Page::Accounts { .. }
        | Page::Tokens { .. }
        | Page::NewestEvents { .. }
        | Page::Happened { .. }
        | Page::Before { .. }
        | Page::Kept { .. }
        | Page::Tasks { .. }
        | Page::Labelled { .. }
        | Page::Labels { .. }
        | Page::Found { .. }
        | Page::Completions { .. }
        | Page::OpenChild { .. } => {
            unreachable!("these worlds ask no questions and have no objectives: {page:?}")
        }
    };
    set.pages.insert(page, found);
}
