//! A store that is nothing but a working set: what a rule needs and is not there does not exist.

use tenure_core::envelope::{Call, Envelope};
use tenure_core::model::event::Fleet;
use tenure_core::model::handle::Handle;
use tenure_core::model::ids::{Digest, Epoch, EventNumber, ProjectKey, TaskId};
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::Refusal;
use tenure_core::model::session::Session;
use tenure_core::model::task::{Queue, Task};
use tenure_core::model::time::{FleetTime, Now};
use tenure_core::operation::Answer;
use tenure_core::operation::project::{CreateProject, PolicyInput};
use tenure_core::operation::record::{ApplyImport, ImportAnswer, ImportFormat, PreviewImport};
use tenure_core::rules::Rule;
use tenure_core::working_set::records::Side;
use tenure_core::working_set::{Moments, Need, Newest, Stop, WorkingSet};

use crate::oracle::EVALUATED_AT;

/// The store of one test, with one project and one session.
pub struct Store {
    /// Everything there is.
    pub set: WorkingSet,
    operations: u32,
}

/// The project that everything is imported into.
pub fn project() -> ProjectKey {
    "imp".parse().expect("a valid key")
}

impl Store {
    pub fn new() -> Self {
        let fleet = Fleet {
            id: "test".to_owned(),
            epoch: Epoch(1),
            time: FleetTime(0),
            wall: EVALUATED_AT,
            event: EventNumber(0),
            head: Digest([0; 32]),
            floor: 0,
        };
        let mut store = Self { set: WorkingSet::new(fleet), operations: 0 };
        let create = CreateProject { key: project(), name: None, policy: PolicyInput::default() };
        store.run(&create).expect("created");
        store
    }

    fn call(&mut self) -> Call {
        self.operations += 1;
        let id = "0123456789abcdef0123456789abcdef";
        let session = Session {
            id: id.parse().expect("a valid id"),
            principal: "alice".parse().expect("a valid name"),
            conversation: None,
            parent: None,
            proof_hash: Digest([1; 32]),
            handle: Handle::of(id, 0),
            harness: None,
            workstation: None,
            capabilities: Vec::new(),
            open: true,
            opened_at: EVALUATED_AT,
            machine: None,
            present_until: FleetTime(i64::MAX),
        };
        let envelope = Envelope {
            operation_id: Some(format!("op-{}", self.operations).parse().expect("a valid id")),
            token_hash: Some(Digest([2; 32])),
            ..Envelope::default()
        };
        let now = Now { fleet: FleetTime(i64::from(self.operations)), wall: EVALUATED_AT };
        Call { session: Some(session), ..Call::new(Epoch(1), now, envelope, Durations::default()) }
    }

    /// Decides as an engine does: what is needed is looked for, a refusal is taken back, an answer is kept.
    pub fn run<O: Rule>(&mut self, operation: &O) -> Result<O::Answer, Refusal> {
        let call = self.call();
        self.run_as(operation, &call)
    }

    fn run_as<O: Rule>(&mut self, operation: &O, call: &Call) -> Result<O::Answer, Refusal>
    where
        O::Answer: Answer,
    {
        self.set.begin();
        for _ in 0..1000 {
            match operation.decide(&mut self.set, call) {
                Ok(answer) => {
                    self.set.keep(call, None);
                    return Ok(answer);
                }
                Err(Stop::Refused(refusal)) => {
                    self.set.undo();
                    return Err(*refusal);
                }
                Err(Stop::Need(needs)) => {
                    self.set.undo();
                    needs.into_iter().for_each(|need| self.find(need));
                }
            }
        }
        panic!("a rule never has enough");
    }

    fn find(&mut self, need: Need) {
        let set = &mut self.set;
        match need {
            Need::Project(key) => set.projects.load_absent(key),
            Need::Tallies(key) => set.tallies.cover(key),
            Need::Moments(key) => drop(set.moments.insert(key, Moments::default())),
            Need::Task(id) => set.tasks.load_absent(id),
            Need::Body(id) => set.bodies.load_absent(id),
            Need::Alias(key, alias) => set.aliases.load_absent((key, alias)),
            Need::AliasesOf(id) => set.aliases.cover(id),
            Need::DependenciesOf(id) => set.dependencies.cover(Side::Of(id)),
            Need::DependenciesOn(id) => set.dependencies.cover(Side::On(id)),
            Need::Blockers(id) => set.blockers.cover(id),
            Need::Attempt(id) => set.attempts.load_absent(id),
            Need::NewestEntries { task, kinds, count } => {
                let known = set.entries.known(&task).into_iter();
                let total = known.filter(|entry| kinds.contains(&entry.kind)).count() as u64;
                set.newest.insert((task, kinds), Newest { count, total });
            }
            other => panic!("{other:?} is not expected"),
        }
    }

    pub fn apply(&mut self, text: &str) -> Result<ImportAnswer, Refusal> {
        let text = text.to_owned();
        self.run(&ApplyImport { project: Some(project()), format: ImportFormat::Beads, text })
    }

    /// Imports an export of a fleet, with its own projects.
    pub fn apply_fleet(&mut self, text: &str) -> Result<ImportAnswer, Refusal> {
        let text = text.to_owned();
        self.run(&ApplyImport { project: None, format: ImportFormat::Tenure, text })
    }

    /// A preview needs neither session nor operation id.
    pub fn preview(&mut self, text: &str) -> Result<ImportAnswer, Refusal> {
        let text = text.to_owned();
        let mut call = self.call();
        call.session = None;
        call.envelope = Envelope::default();
        self.run_as(&PreviewImport { project: Some(project()), format: ImportFormat::Beads, text }, &call)
    }

    /// The id of the task with an alias.
    pub fn id(&self, alias: &str) -> TaskId {
        let key = (project(), alias.to_owned());
        self.set.aliases.get(&key).flatten().unwrap_or_else(|| panic!("{alias}")).task.clone()
    }

    /// The task with an alias.
    pub fn task(&self, alias: &str) -> Task {
        self.set.tasks.get(&self.id(alias)).flatten().expect("a task").clone()
    }

    /// The aliases of the ready tasks, sorted.
    pub fn ready(&self) -> Vec<String> {
        let aliases = self.set.aliases.dirty().filter_map(|(_, alias)| alias);
        let mut ready: Vec<String> = aliases
            .filter(|alias| {
                let task = self.set.tasks.get(&alias.task).flatten().expect("a task");
                task.queue() == Queue::Ready
            })
            .map(|alias| alias.alias.clone())
            .collect();
        ready.sort();
        ready
    }

    /// Everything that a store would hold, as text.
    pub fn everything(&self) -> String {
        let set = &self.set;
        let rows = |rows: Vec<String>| rows.join("\n");
        [
            rows(set.projects.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.tallies.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.tasks.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.bodies.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.aliases.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.dependencies.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.blockers.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.attempts.dirty().map(|row| format!("{row:?}")).collect()),
            rows(set.entries.dirty().map(|row| format!("{row:?}")).collect()),
            format!("{} events", set.events.len()),
        ]
        .join("\n\n")
    }
}
