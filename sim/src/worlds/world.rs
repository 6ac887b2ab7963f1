//! One state of a small world, and every step that can be taken from it.

use std::rc::Rc;
use std::sync::OnceLock;

use tenure_core::envelope::{Caller, Envelope, Fence};
use tenure_core::model::attempt::{Disposition, Evidence};
use tenure_core::model::ids::{AttemptId, Epoch, OperationId, TaskId};
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::Refusal;
use tenure_core::model::time::{FleetTime, WallTime};
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::ownership::{
    Claim, Close, Dispose, HandOff, Heartbeat, Release, WriteCheckpoint,
};
use tenure_core::operation::project::{CreateProject, PolicyInput};
use tenure_core::operation::record::RecordOverdue;
use tenure_core::operation::session::OpenSession;
use tenure_core::operation::task::CreateTask;
use tenure_core::secret::{Proof, SessionSecret};
use tenure_engine::Command;
use tenure_engine::clock::FleetClock;
use tenure_engine::execute::{Committed, run_batch};

use super::Flaw;
use super::memory::{Memory, Rows, StepClocks};
use super::step::{
    AGENTS, Ask, Bounds, Fate, LEASE_MS, NAMES, Step, TASKS, TICK_MS, WALL_MS, Wall, session, task,
};

/// What an agent was told it holds.
#[derive(Clone)]
pub struct Grant {
    /// Task and generation.
    pub attempt: AttemptId,
    /// What proves it.
    pub token: Proof,
    /// The fleet's incarnation in which it was granted.
    pub epoch: Epoch,
}

/// A request that an agent sent.
#[derive(Clone)]
pub struct Sent {
    /// What was asked.
    pub ask: Ask,
    /// The request.
    pub command: Command,
    /// The answer, if it was accepted and committed. The agent may not have heard it.
    pub accepted: Option<String>,
}

/// An agent as far as its own knowledge goes.
#[derive(Clone, Default)]
pub struct Agent {
    /// The last grant that it heard of.
    pub grant: Option<Grant>,
    /// Its last request.
    pub last: Option<Rc<Sent>>,
    sent: u32,
}

/// One state.
#[derive(Clone)]
pub struct World {
    /// What is stored.
    pub rows: Rows,
    /// What the agents know.
    pub agents: [Agent; AGENTS],
    /// The moment it truly is, in fleet time: what an independent watch shows.
    pub truth: FleetTime,
    /// For each task, the generations whose lease was seen to have ended.
    pub ended: [u64; TASKS],
    /// For each task, the highest generation that was ever granted.
    pub granted: [u64; TASKS],
    clock: FleetClock,
    monotonic: i64,
    wall: i64,
    used: Bounds,
}

/// What a step did.
pub struct Taken {
    /// The state after it.
    pub after: World,
    /// What was sent, and what came of it: an answer, a refusal, or nothing that anybody heard.
    pub told: Option<(Rc<Sent>, Result<String, Refusal>)>,
    /// The moment at which the command truly had the lock.
    pub moment: FleetTime,
}

fn secret(agent: usize) -> SessionSecret {
    SessionSecret::new([agent as u8 + 1; 32])
}

/// What proves an agent's session. It is the same every time and costs more than a step.
fn proof(agent: usize) -> Proof {
    static PROOFS: OnceLock<[Proof; AGENTS]> = OnceLock::new();
    PROOFS.get_or_init(|| std::array::from_fn(|agent| secret(agent).session_proof()))[agent].clone()
}

/// How long things last in these worlds.
fn durations() -> Durations {
    Durations { lease_ms_min: LEASE_MS, lease_ms_default: LEASE_MS, ..Durations::default() }
}

impl World {
    /// The first state: everybody has a session, and nobody has begun.
    #[must_use]
    pub fn first() -> Self {
        let clocks = StepClocks::at(0, WALL_MS);
        let rows = Rows::founded(WallTime(WALL_MS));
        let clock = FleetClock::join(&rows.fleet, &clocks);
        let mut world = Self {
            rows,
            agents: Default::default(),
            truth: FleetTime(0),
            ended: [0; TASKS],
            granted: [0; TASKS],
            clock,
            monotonic: 0,
            wall: WALL_MS,
            used: Bounds { ticks: 0, generations: 0, waits: 0, deaths: 0, restarts: 0 },
        };
        for agent in 0..AGENTS {
            let open = OpenSession {
                session: session(agent),
                proof_hash: secret(agent).session_proof().hash(),
                name: NAMES[agent].parse().expect("a name"),
                conversation: None,
                parent: None,
                harness: None,
                workstation: None,
                capabilities: Vec::new(),
            };
            world.set_up(agent, open);
        }
        let policy = PolicyInput::default();
        world.set_up(0, CreateProject { key: "w".parse().expect("a key"), name: None, policy });
        for index in 0..TASKS {
            let after = index.checked_sub(1).map(task);
            let title = format!("task {index}");
            let mut input = serde_json::json!({ "project": "w", "title": title });
            if let Some(after) = after {
                input["blocked_by"] = serde_json::json!([after]);
            }
            let create: CreateTask = serde_json::from_value(input).expect("a task's input");
            world.set_up(0, create);
        }
        world.agents = Default::default();
        world.rows.receipts = Default::default();
        world
    }

    fn set_up(&mut self, agent: usize, operation: impl Into<AnyOperation>) {
        let command = self.command(agent, operation.into(), None, None);
        let (committed, rows, _) = self.run(command, Fate::Answered, None);
        let answers = committed.expect("a healthy store").answers;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        self.rows = rows;
        self.agents[agent].sent += 1;
    }

    /// Every step that can be taken within the bounds.
    #[must_use]
    pub fn steps(&self, bounds: &Bounds) -> Vec<Step> {
        let mut steps = Vec::new();
        for agent in 0..AGENTS {
            for ask in self.asks(agent, bounds) {
                steps.push(Step::Agent(agent, ask, Fate::Answered));
                if self.used.waits < bounds.waits && self.used.ticks < bounds.ticks {
                    steps.push(Step::Agent(agent, ask, Fate::Waits));
                }
                if self.used.deaths < bounds.deaths {
                    steps.push(Step::Agent(agent, ask, Fate::Dies));
                }
            }
        }
        if self.used.ticks < bounds.ticks {
            steps.push(Step::Tick);
        }
        if self.used.restarts < bounds.restarts {
            steps.extend([Wall::True, Wall::Ahead, Wall::Behind].map(Step::Restart));
        }
        if self.rows.attempts.values().any(|attempt| attempt.current) {
            steps.push(Step::Overdue);
        }
        steps
    }

    fn asks(&self, agent: usize, bounds: &Bounds) -> Vec<Ask> {
        let knows = &self.agents[agent];
        let mut asks = Vec::new();
        let may_grant = |index: usize| self.rows.tasks[&task(index)].generation.0 < bounds.generations;
        asks.extend((0..TASKS).filter(|index| may_grant(*index)).map(Ask::Claim));
        if (0..TASKS).all(may_grant) {
            asks.push(Ask::ClaimNext);
        }
        if knows.grant.is_some() {
            asks.extend([Ask::Heartbeat, Ask::Checkpoint, Ask::Close, Ask::Release, Ask::HandOff]);
            asks.push(Ask::Dispose);
        }
        if knows.last.is_some() {
            asks.push(Ask::Again);
        }
        asks
    }

    /// Takes a step.
    #[must_use]
    pub fn take(&self, step: Step, flaw: Option<Flaw>) -> Taken {
        let mut after = self.clone();
        let told = match step {
            Step::Agent(agent, ask, fate) => {
                let sent = self.request(agent, ask);
                after.send(Some((agent, sent)), fate, flaw)
            }
            Step::Overdue => {
                let operation = AnyOperation::from(RecordOverdue {});
                let id = format!("overdue-{}", self.rows.fleet.event).parse().expect("an id");
                let envelope = Envelope { operation_id: Some(id), ..Envelope::default() };
                let command = Command { operation, envelope };
                let (committed, rows, moment) = after.run(command, Fate::Answered, flaw);
                committed.expect("a healthy store");
                after.settle(rows, moment);
                None
            }
            Step::Tick => {
                after.pass();
                after.used.ticks += 1;
                None
            }
            Step::Restart(wall) => {
                after.used.restarts += 1;
                after.restart(wall);
                None
            }
        };
        Taken { moment: after.truth, after, told }
    }

    fn pass(&mut self) {
        self.monotonic += TICK_MS;
        self.wall += TICK_MS;
        self.truth = self.truth.plus_ms(TICK_MS);
    }

    /// Another process takes over. The watch follows by the rule that a join states, worked out here anew.
    fn restart(&mut self, wall: Wall) {
        self.wall += match wall {
            Wall::True => 0,
            Wall::Ahead => 3 * 3_600_000,
            Wall::Behind => -3 * 3_600_000,
        };
        self.monotonic = 7;
        let clocks = StepClocks::at(self.monotonic, self.wall);
        self.clock = FleetClock::join(&self.rows.fleet, &clocks);
        let away = (self.wall - self.rows.fleet.wall.0).clamp(0, 5_000);
        self.truth = self.rows.fleet.time.plus_ms(away);
    }

    fn send(
        &mut self,
        request: Option<(usize, Sent)>,
        fate: Fate,
        flaw: Option<Flaw>,
    ) -> Option<(Rc<Sent>, Result<String, Refusal>)> {
        let (agent, mut sent) = request?;
        let is_new = sent.ask != Ask::Again;
        let (committed, rows, moment) = self.run(sent.command.clone(), fate, flaw);
        self.settle(rows, moment);
        let answer = match committed {
            Ok(committed) => committed.answers.into_iter().next().expect("one answer for one command"),
            Err(_) => Ok(String::new()),
        };
        let heard = fate != Fate::Dies;
        let before = self.agents[agent].last.clone();
        if is_new {
            self.agents[agent].sent += 1;
        } else if let Some(before) = &before {
            sent.ask = before.ask;
            sent.accepted.clone_from(&before.accepted);
        }
        if !heard {
            self.used.deaths += 1;
            // Whether it happened stands in the store, and only there: its receipt or its effect.
            if sent.accepted.is_none() && self.was_accepted(agent, &sent) {
                sent.accepted = Some(String::new());
            }
            self.agents[agent].last = Some(Rc::new(sent));
            self.restart(Wall::True);
            self.forget_receipts();
            return None;
        }
        if fate == Fate::Waits {
            self.used.waits += 1;
            self.used.ticks += 1;
        }
        let asked = Rc::new(sent.clone());
        if let Ok(answer) = &answer {
            if matches!(sent.ask, Ask::Claim(_) | Ask::ClaimNext) {
                self.agents[agent].grant = Some(grant(agent, answer, self.rows.fleet.epoch));
            }
            if sent.accepted.as_ref().is_none_or(String::is_empty) {
                sent.accepted = Some(answer.clone());
            }
        }
        self.agents[agent].last = Some(Rc::new(sent));
        self.forget_receipts();
        Some((asked, answer))
    }

    /// Whether a request whose answer nobody heard left its receipt or its effect.
    fn was_accepted(&self, agent: usize, sent: &Sent) -> bool {
        let id = sent.command.envelope.operation_id.clone().expect("every request has an id");
        let by_heartbeat = self.rows.attempts.values().any(|a| a.heartbeat_operation.as_ref() == Some(&id));
        let by_claim = self.rows.attempts.values().any(|a| a.claim_operation == id);
        let name = NAMES[agent].parse().expect("a name");
        by_heartbeat || by_claim || self.rows.receipts.contains_key(&(name, id))
    }

    /// Receipts that no agent will ask for any more are of no consequence.
    fn forget_receipts(&mut self) {
        let wanted: Vec<_> = self
            .agents
            .iter()
            .filter_map(|agent| agent.last.as_ref()?.command.envelope.operation_id.clone())
            .collect();
        if self.rows.receipts.keys().any(|(_, id)| !wanted.contains(id)) {
            Rc::make_mut(&mut self.rows.receipts).retain(|(_, id), _| wanted.contains(id));
        }
    }

    /// Takes over what a commit left, and notes which leases were over at its moment.
    fn settle(&mut self, rows: Rows, moment: FleetTime) {
        self.rows = rows;
        self.truth = moment;
        for attempt in self.rows.attempts.values() {
            let index = usize::try_from(attempt.id.task.number - 1).expect("a small number");
            let generation = attempt.id.generation.0;
            self.granted[index] = self.granted[index].max(generation);
            if !attempt.current || moment.0 >= attempt.deadline.0 {
                self.ended[index] |= 1 << generation;
            }
        }
    }

    /// Runs one command in a batch of its own; also says at which true moment it had the lock.
    fn run(
        &mut self,
        command: Command,
        fate: Fate,
        flaw: Option<Flaw>,
    ) -> (Result<Committed, tenure_engine::store::driver::StoreError>, Rows, FleetTime) {
        let wait_ms = if fate == Fate::Waits { TICK_MS } else { 0 };
        let clocks = StepClocks::at(self.monotonic, self.wall);
        let mut store = Memory::new(self.rows.clone(), &clocks, wait_ms, fate == Fate::Dies, flaw);
        let committed = run_batch(&mut store, &self.clock, &clocks, vec![command], durations());
        self.monotonic += wait_ms;
        self.wall += wait_ms;
        (committed, store.kept, self.truth.plus_ms(wait_ms))
    }

    fn request(&self, agent: usize, ask: Ask) -> Sent {
        let knows = &self.agents[agent];
        if ask == Ask::Again {
            let last = knows.last.as_ref().expect("only what was sent is sent again");
            return Sent { ask, command: last.command.clone(), accepted: None };
        }
        let held = knows.grant.as_ref();
        let of = || held.expect("only a holder asks this").attempt.task.clone();
        let claim = |task: Option<TaskId>| Claim {
            projects: if task.is_none() { vec!["w".parse().expect("a key")] } else { Vec::new() },
            task,
            another: false,
            no_recovery: false,
        };
        let operation: AnyOperation = match ask {
            Ask::Claim(index) => claim(Some(task(index))).into(),
            Ask::ClaimNext => claim(None).into(),
            Ask::Heartbeat => Heartbeat { task: of() }.into(),
            Ask::Checkpoint => serde_json::from_value::<WriteCheckpoint>(
                serde_json::json!({ "task": of(), "text": "so far" }),
            )
            .expect("a checkpoint's input")
            .into(),
            Ask::Close => serde_json::from_value::<Close>(serde_json::json!({ "task": of() }))
                .expect("a close's input")
                .into(),
            Ask::Release => Release { task: of(), note: None }.into(),
            Ask::HandOff => HandOff {
                task: of(),
                text: "go on".to_owned(),
                to: None,
                evidence: Evidence::default(),
                tree: None,
            }
            .into(),
            Ask::Dispose => Dispose { task: of(), disposition: Disposition::Resume, reason: None }.into(),
            Ask::Again => unreachable!("handled above"),
        };
        let fence = if matches!(ask, Ask::Claim(_) | Ask::ClaimNext) { None } else { held };
        let epoch = held.map(|grant| grant.epoch).filter(|_| fence.is_some());
        Sent { ask, command: self.command(agent, operation, fence, epoch), accepted: None }
    }

    fn command(
        &self,
        agent: usize,
        operation: AnyOperation,
        held: Option<&Grant>,
        epoch: Option<Epoch>,
    ) -> Command {
        let id: OperationId = format!("{}-{}", NAMES[agent], self.agents[agent].sent).parse().expect("an id");
        let envelope = Envelope {
            caller: Some(Caller { session: session(agent), proof: proof(agent) }),
            fence: held.map(|grant| Fence { attempt: grant.attempt.clone(), token: grant.token.clone() }),
            token_hash: held.is_none().then(|| secret(agent).lease_token(&id).hash()),
            operation_id: Some(id),
            epoch,
        };
        Command { operation, envelope }
    }

    /// What two states must have in common to have the same future. Numbers of events, names of requests and texts
    /// have no part in it.
    #[must_use]
    pub fn essence(&self) -> impl std::hash::Hash + use<> {
        let tasks: Vec<_> = self
            .rows
            .tasks
            .values()
            .map(|task| (task.lifecycle as u8, task.held, task.generation.0, task.own_blockers))
            .collect();
        let attempts: Vec<_> = self
            .rows
            .attempts
            .values()
            .map(|attempt| {
                let whose = attempt.session.to_string();
                let ends = (attempt.deadline.0, attempt.current, attempt.recovers.map(|g| g.0));
                (attempt.id.clone(), whose, attempt.state as u8, ends, attempt.disposition.is_some())
            })
            .collect();
        let agents: Vec<_> = self
            .agents
            .iter()
            .map(|agent| {
                let last = agent.last.as_ref().map(|last| {
                    let fence = last.command.envelope.fence.as_ref().map(|fence| fence.attempt.clone());
                    let renewed = self.rows.attempts.values().find_map(|attempt| {
                        (attempt.heartbeat_operation == last.command.envelope.operation_id)
                            .then(|| attempt.id.clone())
                    });
                    (last.ask, fence, last.accepted.is_some(), renewed)
                });
                (agent.grant.as_ref().map(|grant| (grant.attempt.clone(), grant.epoch)), last)
            })
            .collect();
        let time = (self.truth, self.rows.fleet.time, self.wall - self.rows.fleet.wall.0);
        let used = (self.used.ticks, self.used.waits, self.used.deaths, self.used.restarts);
        (tasks, attempts, agents, time, used, self.ended, self.granted, self.rows.fleet.epoch)
    }
}

/// What an answer to a claim grants.
fn grant(agent: usize, answer: &str, epoch: Epoch) -> Grant {
    let answer: serde_json::Value = serde_json::from_str(answer).expect("answers are JSON");
    let text = |field: &str| answer[field].as_str().expect("a text").to_owned();
    Grant {
        attempt: text("attempt").parse().expect("an attempt"),
        token: secret(agent).lease_token(&text("claim_operation").parse().expect("an operation's id")),
        epoch,
    }
}
