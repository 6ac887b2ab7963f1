//! One state of a small world, and every step that can be taken from it.

use std::rc::Rc;

use tenure_core::envelope::Envelope;
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::Refusal;
use tenure_core::model::time::{FleetTime, WallTime};
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::project::{CreateProject, PolicyInput};
use tenure_core::operation::record::RecordOverdue;
use tenure_core::operation::task::CreateTask;
use tenure_core::rules::restore::{Floors, Told};
use tenure_engine::Command;
use tenure_engine::clock::FleetClock;
use tenure_engine::execute::{Committed, run_batch};
use tenure_engine::restore::restore;

use super::Flaw;
use super::agent::{Agent, Sent, grant, open};
use super::memory::{Memory, Rows, StepClocks};
use super::step::{AGENTS, Ask, Bounds, Fate, LEASE_MS, NAMES, Step, TASKS, TICK_MS, WALL_MS, Wall, task};

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
    /// How often a backup was put back.
    pub incarnation: u8,
    backup: Option<Rows>,
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

/// How far the counters of some rows have come. Of the counters within a record only generations have a part in a
/// world's future.
fn floors(rows: &Rows) -> Floors {
    let fleet = &rows.fleet;
    Floors {
        epoch: fleet.epoch,
        event: fleet.event,
        time: fleet.time,
        tasks: rows.projects.values().map(|project| (project.key.clone(), project.tasks_issued)).collect(),
        counters: rows.tasks.values().map(|task| task.generation.0).fold(fleet.floor, u64::max),
    }
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
            agents: std::array::from_fn(Agent::new),
            truth: FleetTime(0),
            ended: [0; TASKS],
            granted: [0; TASKS],
            incarnation: 0,
            backup: None,
            clock,
            monotonic: 0,
            wall: WALL_MS,
            used: Bounds { ticks: 0, generations: 0, waits: 0, deaths: 0, restarts: 0, restores: 0 },
        };
        for agent in 0..AGENTS {
            world.set_up(agent, open(agent, 0));
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
        world.agents = std::array::from_fn(Agent::new);
        world.rows.receipts = Default::default();
        world
    }

    fn set_up(&mut self, agent: usize, operation: impl Into<AnyOperation>) {
        let command = self.agents[agent].command(operation.into(), None);
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
        if self.used.restores < bounds.restores {
            steps.push(if self.backup.is_none() { Step::Backup } else { Step::Restore });
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
        if knows.session < self.incarnation {
            asks.push(Ask::Open);
        }
        asks
    }

    /// Takes a step.
    #[must_use]
    pub fn take(&self, step: Step, flaw: Option<Flaw>) -> Taken {
        let mut after = self.clone();
        let told = match step {
            Step::Agent(agent, ask, fate) => {
                let sent = self.agents[agent].request(ask, self.incarnation);
                after.send(agent, sent, fate, flaw)
            }
            Step::Overdue => {
                let operation = AnyOperation::from(RecordOverdue {});
                let id = format!("overdue-{}", self.rows.fleet.event).parse().expect("an id");
                let envelope = Envelope { operation_id: Some(id), ..Envelope::default() };
                let command = Command { operation, envelope };
                let (committed, rows, moment) = after.run(command, Fate::Answered, flaw);
                committed.expect("a healthy store");
                after.take_over(rows, moment);
                None
            }
            Step::Tick => {
                after.monotonic += TICK_MS;
                after.wall += TICK_MS;
                after.truth = self.truth.plus_ms(TICK_MS);
                after.used.ticks += 1;
                None
            }
            Step::Restart(wall) => {
                after.used.restarts += 1;
                after.restart(wall);
                None
            }
            Step::Backup => {
                after.backup = Some(self.rows.clone());
                None
            }
            Step::Restore => {
                after.put_back();
                None
            }
        };
        Taken { moment: after.truth, after, told }
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

    /// The backup takes the place of the store, and another process serves it.
    fn put_back(&mut self) {
        let kept = self.backup.take().expect("only a backup that was taken is put back");
        // The store went on from the backup, so it lacks no event of it.
        let told = Told::by(floors(&self.rows), 0);
        let floors = Floors::after(floors(&kept), kept.fleet.wall, told, WallTime(self.wall));
        let clocks = StepClocks::at(self.monotonic, self.wall);
        let mut store = Memory::new(kept, &clocks, 0, false, None);
        restore(&mut store, &clocks, &floors).expect("a healthy store");
        self.rows = store.kept;
        self.used.restores += 1;
        self.incarnation += 1;
        self.restart(Wall::True);
    }

    /// Sends a request and lets the agent know what came of it, if anybody hears.
    fn send(
        &mut self,
        agent: usize,
        mut sent: Sent,
        fate: Fate,
        flaw: Option<Flaw>,
    ) -> Option<(Rc<Sent>, Result<String, Refusal>)> {
        let is_new = sent.ask != Ask::Again;
        let (committed, rows, moment) = self.run(sent.command.clone(), fate, flaw);
        self.take_over(rows, moment);
        let knows = &mut self.agents[agent];
        match &knows.last {
            Some(last) if !is_new => {
                sent = Sent { ask: last.ask, accepted: last.accepted.clone(), ..sent };
            }
            _ => knows.sent += 1,
        }
        let told = match committed {
            Ok(committed) => {
                let answer = committed.answers.into_iter().next().expect("one answer for one command");
                self.used.waits += u8::from(fate == Fate::Waits);
                self.used.ticks += u8::from(fate == Fate::Waits);
                Some(self.heard(agent, sent, answer))
            }
            Err(_) => {
                self.died(agent, sent);
                None
            }
        };
        self.forget_receipts();
        told
    }

    /// The process died after a commit, and the answer with it. Whether the request was accepted stands in the store,
    /// and only there: its receipt or its effect.
    fn died(&mut self, agent: usize, mut sent: Sent) {
        self.used.deaths += 1;
        if sent.accepted.is_none() && self.was_accepted(agent, &sent) {
            sent.accepted = Some(String::new());
        }
        self.agents[agent].last = Some(Rc::new(sent));
        self.restart(Wall::True);
    }

    /// The agent hears an answer. What it was told before it was told now is returned with it.
    fn heard(
        &mut self,
        agent: usize,
        mut sent: Sent,
        answer: Result<String, Refusal>,
    ) -> (Rc<Sent>, Result<String, Refusal>) {
        let asked = Rc::new(sent.clone());
        let knows = &mut self.agents[agent];
        if let Ok(answer) = &answer {
            if matches!(sent.ask, Ask::Claim(_) | Ask::ClaimNext) {
                knows.grant = Some(grant(agent, answer));
            }
            if sent.ask == Ask::Open {
                (knows.session, knows.epoch) = (self.incarnation, self.rows.fleet.epoch);
                knows.grant = None;
            }
            if sent.accepted.as_ref().is_none_or(String::is_empty) {
                sent.accepted = Some(answer.clone());
            }
        }
        knows.last = Some(Rc::new(sent));
        (asked, answer)
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
    fn take_over(&mut self, rows: Rows, moment: FleetTime) {
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
        let committed = run_batch(&mut store, &self.clock, &clocks, vec![command], None, durations());
        self.monotonic += wait_ms;
        self.wall += wait_ms;
        (committed, store.kept, self.truth.plus_ms(wait_ms))
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
                let whose = attempt.session.clone();
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
                    (last.ask, fence, last.accepted.is_some(), renewed, last.incarnation)
                });
                (agent.grant.as_ref().map(|grant| grant.attempt.clone()), last, agent.session)
            })
            .collect();
        let time = (self.truth, self.rows.fleet.time, self.wall - self.rows.fleet.wall.0);
        let used = (self.used.ticks, self.used.waits, self.used.deaths, self.used.restarts);
        let backup = self.backup.as_ref().map(|rows| (rows.fleet.time, rows.fleet.event));
        (tasks, attempts, agents, time, used, self.ended, self.granted, (self.incarnation, backup))
    }
}
