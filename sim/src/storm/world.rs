//! One storm: everything that happens under one seed, in one thread and on a fake clock.

use std::collections::BTreeMap;

use serde_json::json;
use tenure_core::model::ids::OperationId;
use tenure_core::model::refusal::Refusal;
use tenure_engine::Command;

use super::agent::{Agent, Pending, Record, Temper, operation};
use super::check::{Judge, Verdict};
use super::coordinator::Coordinator;
use super::deeds::UNRESOLVED;
use super::store::{Plan, Store};
use super::time::{Agenda, Machine};
use super::told::Asking;
use super::trace::Trace;
use super::weather::{Bites, Weather};
use crate::history::Moment;
use crate::place::PROJECT;
use crate::seed::Seed;

/// The fleet of a storm.
pub(super) const FLEET: &str = "5707a000000000000000000000000000";
/// Leases of a storm: short, so that many end.
pub(super) const LEASE_MS: i64 = 8_000;
/// How long faults go on.
pub(super) const STORM_MS: i64 = 100_000;
/// How long everything may take to come to its end afterwards.
pub(super) const CALM_MS: i64 = 600_000;
/// Most tasks that a storm has.
pub(super) const TASKS_MAX: u64 = 40;

/// Where an answer goes: which agent, which life of it, and which of its sends.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(super) agent: usize,
    pub(super) life: u64,
    pub(super) id: OperationId,
    /// The number of the message among all that were sent.
    pub(super) message: u64,
}

/// What a client hears.
#[derive(Debug, Clone)]
pub(super) enum Heard {
    Answer(Result<String, Refusal>),
    CannotTell,
    Unreachable,
}

/// Something that is going to happen.
#[derive(Clone)]
pub(super) enum Happening {
    Arrive(Caller, Box<Command>),
    Hear(Caller, Heard),
    Act { agent: usize, life: u64 },
    LosePatience(Caller),
    ComeBack(usize),
    Commit { life: u64 },
    Tick { life: u64 },
    End { life: u64 },
    Trouble,
    Restart,
    Look,
}

/// What a client knows of something that it asked to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It was told that it is recorded.
    Accepted,
    /// It was told no, or nothing.
    Nothing,
}

/// Everything in a storm.
pub struct World {
    pub(super) dice: Seed,
    pub(super) weather: Weather,
    pub(super) agenda: Agenda<Happening>,
    pub(super) machine: Machine,
    /// How long a commit waits for company at most.
    pub(super) gather_ms: u64,
    pub(super) asleep_until: i64,
    pub(super) store: Store,
    pub(super) coordinator: Option<Coordinator<Caller>>,
    pub(super) lives: u64,
    pub(super) records: Vec<Record>,
    pub(super) agents: Vec<Agent>,
    pub(super) cut_until: Vec<i64>,
    pub(super) last_arrived: BTreeMap<usize, u64>,
    pub(super) requests: u64,
    pub(super) sends: u64,
    pub(super) is_calm: bool,
    /// What the judge knew when the backup was taken.
    pub(super) at_backup: Option<Judge>,
    /// Answers to messages up to this one say nothing about the store as it is now.
    pub(super) restored_after: u64,
    pub(super) ends: bool,
    /// What each text that was to be recorded came to, by the text.
    pub(super) texts: BTreeMap<String, Told>,
    /// What was asked and heard.
    pub(super) asking: Asking,
    /// How many calls the judged histories have.
    pub calls: u64,
    /// How often the record was exported, and came to another fleet and back.
    pub passages: u64,
    /// What the promises are checked by.
    pub judge: Judge,
    /// What has happened, as text.
    pub trace: Trace,
}

impl World {
    /// The world of a seed, with an empty store.
    #[must_use]
    pub fn new(seed: u64, store: Store) -> Self {
        let mut dice = Seed::of(seed, 1);
        let weather = Weather::of(&mut dice);
        let grain_ms = [1, 1, 500][usize::try_from(dice.below(3)).expect("below 3")];
        let gather_ms = [6, 60, 600][usize::try_from(dice.below(3)).expect("below 3")];
        let mut world = Self {
            weather,
            agenda: Agenda::of_grain(grain_ms),
            gather_ms,
            machine: Machine::default(),
            asleep_until: 0,
            store,
            coordinator: None,
            lives: 0,
            records: Vec::new(),
            agents: Vec::new(),
            cut_until: Vec::new(),
            last_arrived: BTreeMap::new(),
            requests: 0,
            sends: 0,
            is_calm: false,
            at_backup: None,
            restored_after: 0,
            ends: false,
            texts: BTreeMap::new(),
            asking: Asking::default(),
            calls: 0,
            passages: 0,
            judge: Judge::new(LEASE_MS),
            trace: Trace::default(),
            dice,
        };
        world.populate();
        world
    }

    /// Two honest agents, a careless one, one that comes to its end, two processes of one session, and another session
    /// that wants a name that is in use.
    fn populate(&mut self) {
        let tempers = [Temper::Honest, Temper::Honest, Temper::Careless, Temper::Doomed, Temper::Honest];
        for (name, temper) in ["ada", "bob", "cyd", "dan", "eve"].into_iter().zip(tempers) {
            let name = name.parse().expect("a valid name");
            self.records.push(Record::draw(&name, &mut self.dice));
            self.add_agent(self.records.len() - 1, temper);
        }
        self.add_agent(4, Temper::Careless);
        let name = self.records[0].name.clone();
        self.records.push(Record::draw(&name, &mut self.dice));
        self.add_agent(5, Temper::Careless);
    }

    fn add_agent(&mut self, record: usize, temper: Temper) {
        // One clock in three is wrong, by up to a half.
        let pace = if self.dice.below(3) == 0 { 500 + self.below(1001) } else { 1000 };
        let (calling, trusting, is_gone) = (None, false, false);
        self.agents.push(Agent { record, temper, pace, life: 0, calling, trusting, is_gone });
        self.cut_until.push(0);
    }

    pub(super) fn below(&mut self, limit: u64) -> i64 {
        i64::try_from(self.dice.below(limit)).expect("fake times are small")
    }

    /// Plays the storm to its end.
    pub fn run(&mut self) -> Verdict {
        self.start();
        self.set_up()?;
        for agent in 0..self.agents.len() {
            let pause = self.below(2_000);
            self.agenda.note(pause, Happening::Act { agent, life: 0 });
        }
        self.agenda.note(1_000, Happening::Trouble);
        self.agenda.note(500, Happening::Look);
        while !self.ends {
            let happening = self.agenda.next().expect("the look-out never ends by itself");
            self.happen(happening)?;
        }
        self.last_words()
    }

    /// How much has happened.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.agenda.steps
    }

    /// What has bitten.
    #[must_use]
    pub fn bites(&self) -> &Bites {
        &self.weather.bites
    }

    /// The present moment as a history has it.
    pub(super) fn moment(&self) -> Moment {
        let order = i64::try_from(self.agenda.steps).expect("there are not that many steps");
        Moment { order, ms: self.judge.time }
    }

    pub(super) fn say(&mut self, words: &str) {
        self.trace.say(self.agenda.now, words);
    }

    /// A project and its first tasks, made in peace by somebody who leaves again. The last two tasks never end: one
    /// has a blocker that nobody resolves, and one waits for it.
    fn set_up(&mut self) -> Verdict {
        let name = "zoe".parse().expect("a valid name");
        let mut record = Record::draw(&name, &mut self.dice);
        let mut zoe = Agent {
            record: 0,
            temper: Temper::Honest,
            pace: 1000,
            life: 0,
            calling: None,
            trusting: false,
            is_gone: false,
        };
        let title = |number: u32| json!({ "project": PROJECT, "title": format!("task {number}") });
        let policy = json!({ "lease_ms": LEASE_MS });
        let mut asked = vec![operation("project.create", json!({ "key": PROJECT, "policy": policy }))];
        asked.extend((1..=6).map(|number| operation("task.create", title(number))));
        let mut waits = title(7);
        waits["blocked_by"] = json!(["afc-1", "afc-2"]);
        asked.push(operation("task.create", waits));
        asked.push(operation("task.create", title(8)));
        let blocker = json!({ "task": "afc-8", "kind": "permission", "reason": UNRESOLVED });
        asked.push(operation("blocker.raise", blocker));
        let mut waits = title(9);
        waits["blocked_by"] = json!(["afc-8"]);
        asked.push(operation("task.create", waits));
        let around = self.surroundings(None);
        let opening = zoe.ask(&mut record, &around, &mut self.dice);
        let mut requests = vec![opening];
        for operation in asked {
            self.requests += 1;
            requests.push(Pending::new(self.requests, operation));
        }
        for request in requests {
            let answers = self.commit(&[record.command(&request)], Plan::Sound)?;
            let answers = answers.ok_or("the store is sound")?;
            let answer = answers.into_iter().next().ok_or("there is an answer")?;
            must!(answer.is_ok(), "{request:?}: {answer:?}");
            record.take_answer(&request, &answer, 0);
        }
        Ok(())
    }

    fn happen(&mut self, happening: Happening) -> Verdict {
        match happening {
            Happening::Arrive(caller, command) => self.arrive(caller, command),
            Happening::Hear(caller, heard) => self.hear(&caller, heard),
            Happening::Act { agent, life } => self.act(agent, life),
            Happening::LosePatience(caller) => self.lose_patience(&caller),
            Happening::ComeBack(agent) => self.come_back(agent),
            Happening::Commit { life } => return self.commit_next(life),
            Happening::Tick { life } => self.tick(life),
            Happening::End { life } => self.end(life),
            Happening::Trouble => return self.trouble(),
            Happening::Restart => self.start(),
            Happening::Look => return self.look(),
        }
        Ok(())
    }
}
