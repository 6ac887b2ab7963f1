//! A world without a store: everything there is lies in the working set, so a need is met by saying "no more".

use serde::de::DeserializeOwned;
use tenure_core::envelope::{Call, Caller, Envelope, Fence};
use tenure_core::model::account::Role;
use tenure_core::model::attempt::Attempt;
use tenure_core::model::event::Fleet;
use tenure_core::model::ids::{AttemptId, Digest, Epoch, EventNumber, OperationId, SessionId, TaskId};
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::session::Session;
use tenure_core::model::task::Rank;
use tenure_core::model::time::{FleetTime, Now, WallTime};
use tenure_core::operation::Operation;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::ownership::{Claim, Claimed};
use tenure_core::operation::session::OpenSession;
use tenure_core::secret::SessionSecret;
use tenure_core::working_set::records::{AttemptIndex, EnabledIn, SessionIndex, Side};
use tenure_core::working_set::{Moments, Need, Newest, Stop, Window, WorkingSet};

/// A fleet in memory, its clock, and the sessions that act on it.
pub struct World {
    pub set: WorkingSet,
    pub now: Now,
    operations: u64,
}

/// One acting session and its secret.
#[derive(Clone)]
pub struct Agent {
    pub session: SessionId,
    pub secret: SessionSecret,
}

impl World {
    pub fn new() -> Self {
        let fleet = Fleet {
            id: "test".to_owned(),
            epoch: Epoch(1),
            time: FleetTime(0),
            wall: WallTime(0),
            event: EventNumber(0),
            head: Digest([0; 32]),
            floor: 0,
        };
        let now = Now { fleet: FleetTime(1_000), wall: WallTime(1_700_000_000_000) };
        Self { set: WorkingSet::new(fleet), now, operations: 0 }
    }

    /// A world with the project `p` and an agent named `a`.
    pub fn with_project() -> (Self, Agent) {
        let mut world = Self::new();
        let agent = world.agent("a");
        world.ok(&agent, from(serde_json::json!({ "key": "p" }), "project.create"));
        (world, agent)
    }

    /// Both clocks go on.
    pub fn pass(&mut self, ms: i64) {
        self.now.fleet = self.now.fleet.plus_ms(ms);
        self.now.wall = WallTime(self.now.wall.0 + ms);
    }

    /// Opens a session under a name.
    pub fn agent(&mut self, name: &str) -> Agent {
        self.agent_offering(name, &[])
    }

    /// Opens a session that offers capabilities.
    pub fn agent_offering(&mut self, name: &str, capabilities: &[&str]) -> Agent {
        self.open(name, capabilities, None)
    }

    /// Opens a session that another one starts and vouches for.
    pub fn agent_of(&mut self, name: &str, parent: &Agent) -> Agent {
        self.open(name, &[], Some(parent))
    }

    fn open(&mut self, name: &str, capabilities: &[&str], parent: Option<&Agent>) -> Agent {
        self.operations += 1;
        let number = self.operations as u8;
        let secret = SessionSecret::new([number; 32]);
        let session: SessionId = format!("{number:032x}").parse().expect("a session id");
        let open = OpenSession {
            session: session.clone(),
            proof_hash: secret.session_proof().hash(),
            name: name.parse().expect("a name"),
            conversation: None,
            parent: parent.map(|parent| parent.session.clone()),
            harness: None,
            workstation: None,
            capabilities: capabilities.iter().map(|text| text.parse().expect("a capability")).collect(),
        };
        let proven = parent.map(|parent| self.envelope(parent)).unwrap_or_default();
        self.run(None, proven, &open.into()).expect("a session opens");
        Agent { session, secret }
    }

    pub fn next_operation(&mut self) -> OperationId {
        self.operations += 1;
        format!("op-{}", self.operations).parse().expect("an operation id")
    }

    /// Runs an operation of an agent without a fence.
    pub fn try_as(&mut self, agent: &Agent, operation: impl Into<AnyOperation>) -> Result<String, Refusal> {
        let envelope = self.envelope(agent);
        self.run(Some(agent), envelope, &operation.into())
    }

    /// The same, for operations that must be accepted.
    pub fn ok(&mut self, agent: &Agent, operation: impl Into<AnyOperation>) -> serde_json::Value {
        let answer = self.try_as(agent, operation).expect("accepted");
        serde_json::from_str(&answer).expect("an answer is JSON")
    }

    /// Creates a task of project `p` with the title `work`, unless `more` says otherwise.
    pub fn task(&mut self, agent: &Agent, more: &serde_json::Value) -> serde_json::Value {
        self.ok(
            agent,
            from(with(&serde_json::json!({ "project": "p", "title": "work" }), more), "task.create"),
        )
    }

    /// The code of a refusal.
    pub fn refused(&mut self, agent: &Agent, operation: impl Into<AnyOperation>) -> Code {
        self.try_as(agent, operation).expect_err("refused").code
    }

    /// Runs an operation under the fence of an attempt.
    pub fn fenced(
        &mut self,
        agent: &Agent,
        attempt: &AttemptId,
        operation: impl Into<AnyOperation>,
    ) -> Result<String, Refusal> {
        let mut envelope = self.envelope(agent);
        let claim = self.set.attempts.get(attempt).flatten().map(|attempt| attempt.claim_operation.clone());
        let claim = claim.unwrap_or_else(|| "none".parse().expect("an operation id"));
        envelope.fence = Some(Fence { attempt: attempt.clone(), token: agent.secret.lease_token(&claim) });
        self.run(Some(agent), envelope, &operation.into())
    }

    /// Claims a task, or the next of project `p`.
    pub fn claim(&mut self, agent: &Agent, task: Option<&str>) -> Result<Claimed, Refusal> {
        let claim = Claim {
            task: task.map(id),
            projects: if task.is_some() { Vec::new() } else { vec!["p".parse().expect("a key")] },
            another: true,
            no_recovery: false,
            wait_ms: None,
        };
        self.typed(agent, &claim)
    }

    /// Runs an operation and reads its answer.
    pub fn typed<O: Operation + Into<AnyOperation>>(
        &mut self,
        agent: &Agent,
        operation: &O,
    ) -> Result<O::Answer, Refusal>
    where
        O::Answer: DeserializeOwned,
    {
        let answer = self.try_as(agent, operation.clone())?;
        Ok(serde_json::from_str(&answer).expect("an answer reads back"))
    }

    pub fn envelope(&mut self, agent: &Agent) -> Envelope {
        let operation_id = self.next_operation();
        Envelope {
            caller: Some(Caller { session: agent.session.clone(), proof: agent.secret.session_proof() }),
            token_hash: Some(agent.secret.lease_token(&operation_id).hash()),
            operation_id: Some(operation_id),
            fence: None,
            epoch: Some(Epoch(1)),
            ..Envelope::default()
        }
    }

    pub fn call(&self, agent: Option<&Agent>, envelope: Envelope) -> Call {
        let session: Option<Session> =
            agent.and_then(|agent| self.set.sessions.get(&agent.session).flatten().cloned());
        Call { session, ..Call::new(Epoch(1), self.now, envelope, Durations::default()) }
    }

    /// Decides, keeps an acceptance and takes back a refusal, as the engine does.
    pub fn run(
        &mut self,
        agent: Option<&Agent>,
        envelope: Envelope,
        operation: &AnyOperation,
    ) -> Result<String, Refusal> {
        let call = self.call(agent, envelope);
        self.settle(&call, operation)
    }

    /// The same for a call that is made already.
    pub fn settle(&mut self, call: &Call, operation: &AnyOperation) -> Result<String, Refusal> {
        let decided = self.decide(call, operation);
        match &decided {
            Ok(answer) => self.set.keep(call, Some(answer)),
            Err(refusal) => {
                self.set.undo();
                let spec = operation.spec();
                assert!(spec.all_refusals().contains(&refusal.code), "{} lacks {}", spec.name, refusal.code);
                assert!(!refusal.detail.is_empty() && !refusal.steps().is_empty(), "{refusal:?}");
            }
        }
        decided
    }

    /// Decides and leaves keeping or taking back to the caller.
    pub fn decide(&mut self, call: &Call, operation: &AnyOperation) -> Result<String, Refusal> {
        self.set.begin();
        self.set.windows.clear();
        self.set.pages.clear();
        self.set.moments.clear();
        self.set.newest.clear();
        loop {
            match operation.decide(&mut self.set, call) {
                Ok(answer) => return Ok(answer),
                Err(Stop::Refused(refusal)) => return Err(*refusal),
                Err(Stop::Need(needs)) => {
                    self.set.undo();
                    for need in needs {
                        self.meet(need, call);
                    }
                }
            }
        }
    }

    /// Meets a need: what is not in the set does not exist.
    fn meet(&mut self, need: Need, call: &Call) {
        let set = &mut self.set;
        match need {
            Need::Project(key) => set.projects.load_absent(key),
            Need::Bindings(repository) => set.bindings.cover(repository),
            Need::Tallies(project) => set.tallies.cover(project),
            Need::Moments(project) => {
                let in_project = set.tasks.rows().filter(|task| task.id.project == project);
                let due = in_project.filter(|task| {
                    task.queue() == tenure_core::model::task::Queue::Deferred
                        && task.deferred_until.is_some_and(|until| until <= call.now.wall)
                });
                let deferred_due = due.count() as u64;
                let is_current = |attempt: &&Attempt| attempt.current && attempt.id.task.project == project;
                let current = set.attempts.rows().filter(is_current);
                let expired = current.filter(|attempt| !attempt.is_live(call.now.fleet)).count() as u64;
                set.moments.insert(project, Moments { deferred_due, expired });
            }
            Need::Principal(name) => set.principals.load_absent(name),
            Need::Account(name) => set.accounts.load_absent(name),
            Need::Token(id) => set.tokens.load_absent(id),
            Need::Reporter(id) => set.reporters.load_absent(id),
            Need::Administrators => set.accounts.cover(EnabledIn(Role::Administrator)),
            Need::Session(id) => set.sessions.load_absent(id),
            Need::OpenSessionsOf(name) => set.sessions.cover(SessionIndex::OpenOf(name)),
            Need::SessionsIn(conversation) => set.sessions.cover(SessionIndex::Conversation(conversation)),
            Need::Handle(handle) => set.sessions.cover(SessionIndex::Handle(handle)),
            Need::Served(session, project) => set.served.load_absent((session, project)),
            Need::Task(id) => set.tasks.load_absent(id),
            Need::Body(id) => set.bodies.load_absent(id),
            Need::Alias(project, alias) => set.aliases.load_absent((project, alias)),
            Need::AliasesOf(id) => set.aliases.cover(id),
            Need::DependenciesOf(id) => set.dependencies.cover(Side::Of(id)),
            Need::DependenciesOn(id) => set.dependencies.cover(Side::On(id)),
            Need::Blockers(id) => set.blockers.cover(id),
            Need::Attempt(id) => set.attempts.load_absent(id),
            Need::AttemptsOf(id) => set.attempts.cover(AttemptIndex::Task(id)),
            Need::CurrentAttemptsOf(session) => set.attempts.cover(AttemptIndex::CurrentOf(session)),
            Need::CurrentAttemptsIn(project) => set.attempts.cover(AttemptIndex::CurrentIn(project)),
            Need::NewestEntries { task, kinds, .. } => {
                let known = set.entries.known(&task).into_iter();
                let total = known.filter(|entry| kinds.contains(&entry.kind)).count() as u64;
                set.newest.insert((task, kinds), Newest { count: u32::MAX, total });
            }
            Need::Entry(number) => set.entries.load_absent(number),
            Need::Receipt(principal, operation) => set.receipts.load_absent((principal, operation)),
            Need::Queue { project, source, after, .. } => {
                let window = Window { from: after, to: Rank::FIRST, complete: true };
                set.windows.insert((project, source), window);
            }
            Need::Page(page) => {
                let rows = self.page(&page, call);
                self.set.pages.insert(page, rows);
            }
        }
    }
}

/// An input with further fields.
pub fn with(input: &serde_json::Value, more: &serde_json::Value) -> serde_json::Value {
    let mut input = input.clone();
    input.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    input
}

/// A task id.
pub fn id(text: &str) -> TaskId {
    text.parse().expect("a task id")
}

/// An operation from its name and JSON, as it would arrive.
pub fn from(json: serde_json::Value, name: &str) -> AnyOperation {
    let entries = tenure_core::operation::catalog::entries();
    let entry = entries.iter().find(|entry| entry.spec.name == name).expect("a known operation");
    (entry.read)(json).expect("a valid input")
}
