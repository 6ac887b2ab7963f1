//! From what rules need to what is known: needs of one kind become one statement.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use tenure_core::model::account::Role;
use tenure_core::model::attempt::EntryKind;
use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::handle::Handle;
use tenure_core::model::ids::{AttemptId, EventNumber, PrincipalName, ProjectKey, SessionId, TaskId};
use tenure_core::model::ids::{ConversationId, OperationId, ReporterId, TokenId};
use tenure_core::model::limits::PAGE_ROWS;
use tenure_core::model::task::Rank;
use tenure_core::model::time::Now;
use tenure_core::working_set::records::{AttemptIndex, EnabledIn, SessionIndex, Side};
use tenure_core::working_set::{Need, Newest, Page, Source, WorkingSet};

use super::driver::{Driver, StoreError};
use super::rows::{foresee_by_index, foresee_by_key, load_by_index, load_by_key};
use super::{
    account, attempt, body, entry, graph, page, project, queue, receipt, reporter, session, task, token,
};

/// Needs, sorted by kind.
#[derive(Default)]
struct Wanted {
    projects: Vec<ProjectKey>,
    bindings: Vec<String>,
    tallies: Vec<ProjectKey>,
    principals: Vec<PrincipalName>,
    accounts: Vec<PrincipalName>,
    administrators: bool,
    tokens: Vec<TokenId>,
    reporters: Vec<ReporterId>,
    sessions: Vec<SessionId>,
    open_sessions: Vec<PrincipalName>,
    conversations: Vec<ConversationId>,
    handles: Vec<Handle>,
    served: Vec<(SessionId, ProjectKey)>,
    tasks: Vec<TaskId>,
    bodies: Vec<TaskId>,
    aliases: Vec<(ProjectKey, String)>,
    aliases_of: Vec<TaskId>,
    dependencies_of: Vec<TaskId>,
    dependencies_on: Vec<TaskId>,
    blockers: Vec<TaskId>,
    attempts: Vec<AttemptId>,
    current_of: Vec<SessionId>,
    current_in: Vec<ProjectKey>,
    entries: Vec<EventNumber>,
    receipts: Vec<(PrincipalName, OperationId)>,
    /// The most rows that anybody asked for, and how many asked.
    queues: BTreeMap<(ProjectKey, Source, Rank), (u32, u32)>,
    alone: Vec<Alone>,
}

/// What is asked for by itself.
enum Alone {
    Newest(TaskId, &'static [EntryKind], u32),
    AttemptsOf(TaskId),
    Moments(ProjectKey),
    Page(Page),
}

/// Loads everything that is needed. What the batch knows already is not asked for again.
pub fn load(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    needs: impl IntoIterator<Item = Need>,
    now: Now,
) -> Result<(), StoreError> {
    let mut wanted = Wanted::of(needs);
    for alone in take(&mut wanted.alone) {
        alone.load(driver, set, now)?;
    }
    if driver.is_far() {
        wanted.foresee(driver, set, now)?;
    }
    wanted.load_queues(driver, set, now)?;
    wanted.load_people(driver, set)?;
    wanted.load_places(driver, set)?;
    wanted.load_tasks(driver, set)?;
    wanted.load_work(driver, set)
}

/// Says what of the commonest needs a batch will ask for that knows nothing yet.
pub fn foresee(driver: &mut dyn Driver, needs: Vec<Need>, now: Now) -> Result<(), StoreError> {
    Wanted::of(needs).foresee(driver, &WorkingSet::unread(), now)
}

/// How many levels of the graph are read ahead at once, and how many tasks.
const AHEAD_LEVELS: usize = 16;
const AHEAD_TASKS: usize = 2_000;

/// Loads what a walk through the graph will ask for next: a rule that walks asks for one level at a time, and
/// after a few of them it is clear that it goes on.
pub fn load_ahead(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    needs: &[Need],
    now: Now,
) -> Result<(), StoreError> {
    let mut level: BTreeSet<TaskId> = needs.iter().filter_map(walked).cloned().collect();
    let mut seen = level.clone();
    for _ in 0..AHEAD_LEVELS {
        if level.is_empty() || seen.len() > AHEAD_TASKS {
            break;
        }
        let around = level.iter().flat_map(|id| {
            [Need::Task(id.clone()), Need::DependenciesOf(id.clone()), Need::DependenciesOn(id.clone())]
        });
        load(driver, set, around.collect::<Vec<_>>(), now)?;
        let mut next = BTreeSet::new();
        for id in level {
            let up = set.dependencies.known(&Side::Of(id.clone())).into_iter().map(|edge| &edge.on);
            let back = set.dependencies.known(&Side::On(id)).into_iter();
            let down = back.filter(|edge| edge.kind == DependencyKind::Parent).map(|edge| &edge.task);
            next.extend(up.chain(down).filter(|id| !seen.contains(*id)).cloned());
        }
        seen.extend(next.iter().cloned());
        level = next;
    }
    Ok(())
}

/// The task at which a walk through the graph stands, if it is one.
fn walked(need: &Need) -> Option<&TaskId> {
    match need {
        Need::Task(id) | Need::DependenciesOf(id) | Need::DependenciesOn(id) => Some(id),
        Need::Project(_)
        | Need::Bindings(_)
        | Need::Tallies(_)
        | Need::Moments(_)
        | Need::Principal(_)
        | Need::Account(_)
        | Need::Administrators
        | Need::Token(_)
        | Need::Reporter(_)
        | Need::Session(_)
        | Need::OpenSessionsOf(_)
        | Need::SessionsIn(_)
        | Need::Handle(_)
        | Need::Served(..)
        | Need::Body(_)
        | Need::Alias(..)
        | Need::AliasesOf(_)
        | Need::Blockers(_)
        | Need::Attempt(_)
        | Need::AttemptsOf(_)
        | Need::CurrentAttemptsOf(_)
        | Need::CurrentAttemptsIn(_)
        | Need::NewestEntries { .. }
        | Need::Entry(_)
        | Need::Receipt(..)
        | Need::Queue { .. }
        | Need::Page(_) => None,
    }
}

impl Wanted {
    fn of(needs: impl IntoIterator<Item = Need>) -> Self {
        let mut wanted = Self::default();
        for need in needs {
            match need {
                Need::Project(key) => wanted.projects.push(key),
                Need::Bindings(repository) => wanted.bindings.push(repository),
                Need::Tallies(project) => wanted.tallies.push(project),
                Need::Principal(name) => wanted.principals.push(name),
                Need::Account(name) => wanted.accounts.push(name),
                Need::Administrators => wanted.administrators = true,
                Need::Token(id) => wanted.tokens.push(id),
                Need::Reporter(id) => wanted.reporters.push(id),
                Need::Session(id) => wanted.sessions.push(id),
                Need::OpenSessionsOf(name) => wanted.open_sessions.push(name),
                Need::SessionsIn(conversation) => wanted.conversations.push(conversation),
                Need::Handle(handle) => wanted.handles.push(handle),
                Need::Served(session, project) => wanted.served.push((session, project)),
                Need::Task(id) => wanted.tasks.push(id),
                Need::Body(id) => wanted.bodies.push(id),
                Need::Alias(project, alias) => wanted.aliases.push((project, alias)),
                Need::AliasesOf(task) => wanted.aliases_of.push(task),
                Need::DependenciesOf(task) => wanted.dependencies_of.push(task),
                Need::DependenciesOn(task) => wanted.dependencies_on.push(task),
                Need::Blockers(task) => wanted.blockers.push(task),
                Need::Attempt(id) => wanted.attempts.push(id),
                Need::CurrentAttemptsOf(session) => wanted.current_of.push(session),
                Need::CurrentAttemptsIn(project) => wanted.current_in.push(project),
                Need::Entry(number) => wanted.entries.push(number),
                Need::Receipt(principal, operation) => wanted.receipts.push((principal, operation)),
                Need::Queue { project, source, after, count } => {
                    let (most, askers) = wanted.queues.entry((project, source, after)).or_default();
                    *most = count.max(*most);
                    *askers += 1;
                }
                Need::NewestEntries { task, kinds, count } => {
                    wanted.alone.push(Alone::Newest(task, kinds, count));
                }
                Need::AttemptsOf(task) => wanted.alone.push(Alone::AttemptsOf(task)),
                Need::Moments(project) => wanted.alone.push(Alone::Moments(project)),
                Need::Page(page) => wanted.alone.push(Alone::Page(page)),
            }
        }
        wanted
    }

    fn foresee(&self, driver: &mut dyn Driver, set: &WorkingSet, now: Now) -> Result<(), StoreError> {
        for ((project, source, after), (most, askers)) in &self.queues {
            let count = count(*source, *most, *askers);
            queue::foresee(driver, set, (project, *source), (*after, count), now)?;
        }
        foresee_by_key(driver, &set.principals, &session::PRINCIPALS, &self.principals)?;
        foresee_by_key(driver, &set.accounts, &account::BY_NAME, &self.accounts)?;
        foresee_by_key(driver, &set.tokens, &token::BY_ID, &self.tokens)?;
        foresee_by_key(driver, &set.reporters, &reporter::BY_ID, &self.reporters)?;
        foresee_by_key(driver, &set.sessions, &session::BY_ID, &self.sessions)?;
        foresee_by_key(driver, &set.served, &session::SERVED_AT, &self.served)?;
        foresee_by_key(driver, &set.projects, &project::BY_KEY, &self.projects)?;
        let tallies = self.tallies.clone();
        foresee_by_index(driver, &set.tallies, &project::TALLIES, tallies, ToString::to_string)?;
        foresee_by_key(driver, &set.tasks, &task::BY_ID, &self.tasks)?;
        foresee_by_key(driver, &set.bodies, &body::BY_TASK, &self.bodies)?;
        let of = self.dependencies_of.iter().cloned().map(Side::Of).collect();
        foresee_by_index(driver, &set.dependencies, &graph::OF, of, side_text)?;
        let on = self.dependencies_on.iter().cloned().map(Side::On).collect();
        foresee_by_index(driver, &set.dependencies, &graph::ON, on, side_text)?;
        let blockers = self.blockers.clone();
        foresee_by_index(driver, &set.blockers, &graph::BLOCKERS, blockers, ToString::to_string)?;
        foresee_by_key(driver, &set.attempts, &attempt::BY_ID, &self.attempts)?;
        let held = self.current_of.iter().cloned().map(AttemptIndex::CurrentOf).collect();
        foresee_by_index(driver, &set.attempts, &attempt::CURRENT_OF, held, attempt_text)?;
        let inside = self.current_in.iter().cloned().map(AttemptIndex::CurrentIn).collect();
        foresee_by_index(driver, &set.attempts, &attempt::CURRENT_IN, inside, attempt_text)?;
        foresee_by_key(driver, &set.receipts, &receipt::BY_ID, &self.receipts)
    }

    /// Commands that ask for the same rows take them from each other, so one more is loaded for each of them.
    fn load_queues(
        &mut self,
        driver: &mut dyn Driver,
        set: &mut WorkingSet,
        now: Now,
    ) -> Result<(), StoreError> {
        for ((project, source, after), (most, askers)) in take(&mut self.queues) {
            queue::load(driver, set, (&project, source), (after, count(source, most, askers)), now)?;
        }
        Ok(())
    }

    fn load_people(&mut self, driver: &mut dyn Driver, set: &mut WorkingSet) -> Result<(), StoreError> {
        load_by_key(driver, &mut set.principals, &session::PRINCIPALS, take(&mut self.principals))?;
        load_by_key(driver, &mut set.accounts, &account::BY_NAME, take(&mut self.accounts))?;
        load_by_key(driver, &mut set.tokens, &token::BY_ID, take(&mut self.tokens))?;
        load_by_key(driver, &mut set.reporters, &reporter::BY_ID, take(&mut self.reporters))?;
        if take(&mut self.administrators) {
            let enabled = vec![EnabledIn(Role::Administrator)];
            load_by_index(driver, &mut set.accounts, &account::ENABLED_IN, enabled, |role| {
                role.0.to_string()
            })?;
        }
        load_by_key(driver, &mut set.sessions, &session::BY_ID, take(&mut self.sessions))?;
        load_by_key(driver, &mut set.served, &session::SERVED_AT, take(&mut self.served))?;
        let open_of = take(&mut self.open_sessions).into_iter().map(SessionIndex::OpenOf).collect();
        load_by_index(driver, &mut set.sessions, &session::OPEN_OF, open_of, session_text)?;
        let conversations =
            take(&mut self.conversations).into_iter().map(SessionIndex::Conversation).collect();
        load_by_index(driver, &mut set.sessions, &session::IN_CONVERSATION, conversations, session_text)?;
        let handles = take(&mut self.handles).into_iter().map(SessionIndex::Handle).collect();
        load_by_index(driver, &mut set.sessions, &session::BY_HANDLE, handles, session_text)
    }

    fn load_places(&mut self, driver: &mut dyn Driver, set: &mut WorkingSet) -> Result<(), StoreError> {
        load_by_key(driver, &mut set.projects, &project::BY_KEY, take(&mut self.projects))?;
        let repositories = take(&mut self.bindings);
        load_by_index(driver, &mut set.bindings, &project::BINDINGS, repositories, String::clone)?;
        let tallies = take(&mut self.tallies);
        load_by_index(driver, &mut set.tallies, &project::TALLIES, tallies, ToString::to_string)
    }

    fn load_tasks(&mut self, driver: &mut dyn Driver, set: &mut WorkingSet) -> Result<(), StoreError> {
        load_by_key(driver, &mut set.tasks, &task::BY_ID, take(&mut self.tasks))?;
        load_by_key(driver, &mut set.bodies, &body::BY_TASK, take(&mut self.bodies))?;
        load_by_key(driver, &mut set.aliases, &body::ALIASES, take(&mut self.aliases))?;
        let aliases_of = take(&mut self.aliases_of);
        load_by_index(driver, &mut set.aliases, &body::ALIASES_OF, aliases_of, ToString::to_string)?;
        let of = take(&mut self.dependencies_of).into_iter().map(Side::Of).collect();
        load_by_index(driver, &mut set.dependencies, &graph::OF, of, side_text)?;
        let on = take(&mut self.dependencies_on).into_iter().map(Side::On).collect();
        load_by_index(driver, &mut set.dependencies, &graph::ON, on, side_text)?;
        let blockers = take(&mut self.blockers);
        load_by_index(driver, &mut set.blockers, &graph::BLOCKERS, blockers, ToString::to_string)
    }

    fn load_work(&mut self, driver: &mut dyn Driver, set: &mut WorkingSet) -> Result<(), StoreError> {
        load_by_key(driver, &mut set.attempts, &attempt::BY_ID, take(&mut self.attempts))?;
        let of = take(&mut self.current_of).into_iter().map(AttemptIndex::CurrentOf).collect();
        load_by_index(driver, &mut set.attempts, &attempt::CURRENT_OF, of, attempt_text)?;
        let inside = take(&mut self.current_in).into_iter().map(AttemptIndex::CurrentIn).collect();
        load_by_index(driver, &mut set.attempts, &attempt::CURRENT_IN, inside, attempt_text)?;
        load_by_key(driver, &mut set.entries, &entry::BY_NUMBER, take(&mut self.entries))?;
        load_by_key(driver, &mut set.receipts, &receipt::BY_ID, take(&mut self.receipts))
    }
}

impl Alone {
    fn load(self, driver: &mut dyn Driver, set: &mut WorkingSet, now: Now) -> Result<(), StoreError> {
        match self {
            Self::Newest(task, kinds, count) => {
                let total = entry::load_newest(driver, &mut set.entries, (&task, kinds), count)?;
                set.newest.insert((task, kinds), Newest { count, total });
            }
            Self::AttemptsOf(task) => {
                if set.attempts.find(&AttemptIndex::Task(task.clone())).is_none() {
                    attempt::load_newest_of(driver, set, &task)?;
                }
            }
            Self::Moments(project) => {
                let moments = queue::moments(driver, &project, now)?;
                set.moments.insert(project, moments);
            }
            Self::Page(page) => {
                if !set.pages.contains_key(&page) {
                    page::load(driver, set, &page, now)?;
                }
            }
        }
        Ok(())
    }
}

/// How many rows of a queue are loaded for so many who ask for so many each.
fn count(source: Source, most: u32, askers: u32) -> u32 {
    match source {
        Source::Ready => (most + askers - 1).min(most.max(PAGE_ROWS)),
        Source::Recovery => most,
    }
}

fn session_text(index: &SessionIndex) -> String {
    match index {
        SessionIndex::OpenOf(name) => name.to_string(),
        SessionIndex::Conversation(conversation) => conversation.to_string(),
        SessionIndex::Handle(handle) => handle.to_string(),
    }
}

fn side_text(side: &Side) -> String {
    match side {
        Side::Of(task) | Side::On(task) => task.to_string(),
    }
}

fn attempt_text(index: &AttemptIndex) -> String {
    match index {
        AttemptIndex::Task(task) => task.to_string(),
        AttemptIndex::CurrentOf(session) => session.to_string(),
        AttemptIndex::CurrentIn(project) => project.to_string(),
    }
}
