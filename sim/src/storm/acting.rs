//! The agents' side of a storm: their calls, the network between them and the coordinator, and their own mishaps.

use serde_json::Value;
use tenure_core::model::ids::TaskId;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::project::ShowProject;
use tenure_core::operation::task::ShowTask;
use tenure_engine::Command;

use super::agent::{Calling, Record, Surroundings, Temper};
use super::check::ask;
use super::coordinator::Waiting;
use super::deeds;
use super::trace::print_of;
use super::weather::Fault;
use super::world::{Caller, Happening, Heard, LEASE_MS, STORM_MS, TASKS_MAX, Told, World};
use crate::place::PROJECT;

/// How long a client waits for an answer before it asks again.
const PATIENCE_MS: i64 = 1_500;
/// How often it asks before it leaves the question for later.
const SENDS_MAX: u32 = 4;
/// A message takes so long at most, unless it is delayed.
const WAY_MS: u64 = 5;
/// How long an agent thinks between two calls at most.
const THINK_MS: u64 = 1_200;

impl World {
    /// What an agent with this file sees when it looks around.
    pub(super) fn surroundings(&mut self, record: Option<usize>) -> Surroundings {
        self.requests += 1;
        let all: Vec<TaskId> = self.judge.tasks().cloned().collect();
        // What it holds may be gone since a restore; then there is nothing to see.
        let held = record.into_iter().flat_map(|record| self.records[record].leases.keys());
        let held: Vec<TaskId> = held.filter(|task| all.contains(task)).cloned().collect();
        let elsewhere = !self.is_calm && self.dice.below(6) == 0;
        let own = if held.is_empty() || elsewhere { &all } else { &held };
        let (task, other) = (self.one_of(own), self.one_of(&all));
        let seen = task.map(|task| ask(&mut self.store, ShowTask { task, entries: None }).task);
        let looks_up = !all.is_empty() && self.dice.below(16) == 0;
        let project_revision = looks_up.then(|| self.project_revision());
        let colleague = usize::try_from(self.below(self.records.len() as u64)).expect("few");
        Surroundings {
            now: self.agenda.now,
            lease_ms: LEASE_MS,
            seen,
            other,
            colleague: self.records[colleague].name.clone(),
            more: (all.len() as u64) < TASKS_MAX,
            calm: self.is_calm,
            wall: self.machine.clocks(self.agenda.now).wall,
            project_revision,
            number: self.requests,
        }
    }

    fn one_of(&mut self, tasks: &[TaskId]) -> Option<TaskId> {
        let place = self.dice.below(tasks.len() as u64);
        tasks.get(usize::try_from(place).expect("few")).cloned()
    }

    fn project_revision(&mut self) -> u64 {
        let project = PROJECT.parse().expect("a valid key");
        ask(&mut self.store, ShowProject { project }).project.revision
    }

    /// An agent does what comes next, unless something happens to it.
    pub(super) fn act(&mut self, agent: usize, life: u64) {
        let actor = &self.agents[agent];
        if actor.is_gone || actor.life != life || actor.calling.is_some() {
            return;
        }
        if self.leaves_for_ever(agent) || self.falls_asleep(agent) {
            return;
        }
        let around = self.surroundings(Some(self.agents[agent].record));
        let actor = &mut self.agents[agent];
        let record = &mut self.records[actor.record];
        let request = actor.ask(record, &around, &mut self.dice);
        let command = record.command(&request);
        let words = format!("agent {agent} ({}) asks {}", record.name, describe(&command));
        self.say(&words);
        if let Some(text) = text_of(&command) {
            self.texts.entry(text).or_insert(Told::Nothing);
        }
        self.asking.ask(&request.id, &command, self.moment());
        let actor = &mut self.agents[agent];
        let sent_at = actor.clock(around.now);
        actor.calling = Some(Calling { request, command, message: 0, sends: 0, sent_at });
        self.send(agent);
        if self.weather.bites(Fault::Crashed, &mut self.dice) {
            self.crash(agent);
        }
    }

    /// Whether a doomed agent has had its last moment.
    fn leaves_for_ever(&mut self, agent: usize) -> bool {
        let actor = &self.agents[agent];
        let doomed = actor.temper == Temper::Doomed && self.agenda.now > STORM_MS / 2;
        // It goes while it holds something, or when the storm is over.
        let holds = !self.records[actor.record].leases.is_empty();
        if !doomed || !(holds || self.is_calm) {
            return false;
        }
        self.agents[agent].is_gone = true;
        self.say(&format!("agent {agent} is never heard of again"));
        true
    }

    /// Whether an agent that holds something pauses for longer than its lease.
    fn falls_asleep(&mut self, agent: usize) -> bool {
        let holds = !self.records[self.agents[agent].record].leases.is_empty();
        if !holds || !self.weather.bites(Fault::Paused, &mut self.dice) {
            return false;
        }
        let pause = LEASE_MS + self.below(2 * LEASE_MS.unsigned_abs());
        self.say(&format!("agent {agent} pauses for {pause} ms"));
        let life = self.agents[agent].life;
        self.agenda.note(pause, Happening::Act { agent, life });
        true
    }

    /// An agent's process dies. What it had asked stays on record, and nobody waits for it.
    fn crash(&mut self, agent: usize) {
        let actor = &mut self.agents[agent];
        actor.life += 1;
        if let Some(calling) = actor.calling.take() {
            self.records[actor.record].abandon(&calling.request);
        }
        let away = self.below(3 * LEASE_MS.unsigned_abs());
        self.say(&format!("agent {agent} crashes"));
        self.agenda.note(away, Happening::ComeBack(agent));
    }

    /// It starts again from its file, and believes what it says.
    pub(super) fn come_back(&mut self, agent: usize) {
        self.agents[agent].trusting = true;
        let life = self.agents[agent].life;
        self.act(agent, life);
    }

    /// Sends what an agent is asking, for the first time or again.
    fn send(&mut self, agent: usize) {
        self.sends += 1;
        let actor = &mut self.agents[agent];
        let Some(calling) = &mut actor.calling else { return };
        calling.sends += 1;
        calling.message = self.sends;
        let id = calling.request.id.clone();
        let caller = Caller { agent, life: actor.life, id, message: self.sends };
        let command = calling.command.clone();
        self.agenda.note(PATIENCE_MS, Happening::LosePatience(caller.clone()));
        self.transmit(agent, &Happening::Arrive(caller, Box::new(command)));
    }

    /// A message between an agent and the coordinator goes its way, or is lost on it.
    fn transmit(&mut self, agent: usize, message: &Happening) {
        if self.cut_until[agent] > self.agenda.now {
            self.weather.bites.count(Fault::CutOff);
            return;
        }
        if self.weather.bites(Fault::Dropped, &mut self.dice) {
            return;
        }
        let copies = 1 + u32::from(self.weather.bites(Fault::Duplicated, &mut self.dice));
        for _ in 0..copies {
            if let Happening::Arrive(caller, _) = message {
                self.asking.send(&caller.id);
            }
            let late = self.weather.bites(Fault::Delayed, &mut self.dice);
            let longest = if late { 2 * LEASE_MS.unsigned_abs() } else { WAY_MS };
            let way = 1 + self.below(longest);
            self.agenda.note(way, message.clone());
        }
    }

    /// A request reaches the coordinator's machine.
    pub(super) fn arrive(&mut self, caller: Caller, command: Box<Command>) {
        if self.is_asleep() {
            let until = self.asleep_until - self.agenda.now;
            self.agenda.note(until, Happening::Arrive(caller, command));
            return;
        }
        let last = self.last_arrived.entry(caller.agent).or_default();
        if *last > caller.message {
            self.weather.bites.count(Fault::Reordered);
        }
        *last = (*last).max(caller.message);
        match &mut self.coordinator {
            None => self.answer(caller, Heard::Unreachable),
            Some(coordinator) if coordinator.is_dead() => self.answer(caller, Heard::CannotTell),
            Some(coordinator) => {
                coordinator.queue.push(Waiting { caller: Some(caller), command: *command });
                self.call_for_commit();
            }
        }
    }

    /// An answer goes back.
    pub(super) fn answer(&mut self, caller: Caller, heard: Heard) {
        self.transmit(caller.agent, &Happening::Hear(caller, heard));
    }

    /// An answer reaches the agent. What was meant for an earlier life, or for a question that was given up, is lost.
    pub(super) fn hear(&mut self, caller: &Caller, heard: Heard) {
        let agent = caller.agent;
        let actor = &mut self.agents[agent];
        let awaited = actor.calling.as_ref().is_some_and(|calling| calling.request.id == caller.id);
        if actor.is_gone || actor.life != caller.life || !awaited {
            return;
        }
        match heard {
            Heard::Answer(outcome) if !is_uncertain(&outcome) => {
                let Some(calling) = actor.calling.take() else { return };
                self.say(&format!("agent {agent} hears of {}: {}", caller.id, told(&outcome)));
                self.take_in(caller, &calling, &outcome);
                let refused = outcome.err().is_some_and(|refusal| refusal.code == Code::NameInUse);
                let think = if refused { LEASE_MS } else { 50 + self.below(THINK_MS) };
                self.agenda.note(think, Happening::Act { agent, life: caller.life });
            }
            Heard::Answer(_) | Heard::CannotTell | Heard::Unreachable => {
                let pause = 20 + self.below(400);
                let message = actor_message(self, agent);
                self.agenda.note(pause, Happening::LosePatience(Caller { message, ..caller.clone() }));
            }
        }
    }

    /// A definite answer changes what the agent's file says.
    fn take_in(&mut self, caller: &Caller, calling: &Calling, outcome: &Result<String, Refusal>) {
        if let (Some(text), Ok(_)) = (text_of(&calling.command), outcome)
            && caller.message > self.restored_after
        {
            self.texts.insert(text, Told::Accepted);
        }
        self.asking.hear(&calling.request.id, self.moment(), outcome);
        let place = self.agents[caller.agent].record;
        let asked_as = calling.command.envelope.caller.as_ref().map(|caller| &caller.session);
        if asked_as != Some(&self.records[place].session) {
            // Another process of the name has opened a new session meanwhile.
            return;
        }
        let code = outcome.as_ref().err().map(|refusal| refusal.code);
        let closed = outcome.is_ok() && calling.command.operation.spec().name == "session.close";
        if closed || matches!(code, Some(Code::SessionClosed | Code::SessionUnknown | Code::EpochChanged)) {
            let name = self.records[place].name.clone();
            self.records[place] = Record::draw(&name, &mut self.dice);
            return;
        }
        self.records[place].take_answer(&calling.request, outcome, calling.sent_at);
    }

    /// An agent has waited long enough: it asks again with the same id, or leaves it for later.
    pub(super) fn lose_patience(&mut self, caller: &Caller) {
        let agent = caller.agent;
        let actor = &mut self.agents[agent];
        let calling = actor.calling.as_ref().filter(|calling| calling.message == caller.message);
        let Some(calling) = calling.filter(|_| actor.life == caller.life && !actor.is_gone) else { return };
        if calling.sends < SENDS_MAX {
            self.send(agent);
            return;
        }
        let request = calling.request.clone();
        actor.calling = None;
        self.records[actor.record].abandon(&request);
        self.say(&format!("agent {agent} cannot tell what became of {}", caller.id));
        let think = self.below(THINK_MS);
        self.agenda.note(think, Happening::Act { agent, life: caller.life });
    }
}

fn actor_message(world: &World, agent: usize) -> u64 {
    world.agents[agent].calling.as_ref().map_or(0, |calling| calling.message)
}

fn is_uncertain(outcome: &Result<String, Refusal>) -> bool {
    let code = outcome.as_ref().err().map(|refusal| refusal.code);
    matches!(code, Some(Code::CannotTell | Code::Overloaded))
}

/// The one text that a command wants recorded; no other command has the same.
fn text_of(command: &Command) -> Option<String> {
    let input: Value = serde_json::from_str(&command.operation.to_json()).ok()?;
    let field = match command.operation.spec().name {
        "note" | "checkpoint" | "handoff" => "text",
        "task.create" => "title",
        "release" | "close" => "note",
        "import.apply" => return deeds::title_in(input["text"].as_str()?),
        _ => return None,
    };
    input[field].as_str().map(ToOwned::to_owned)
}

/// A command in a few words.
fn describe(command: &Command) -> String {
    let id = command.envelope.operation_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let under = command.envelope.fence.as_ref().map(|fence| format!(" under {}", fence.attempt));
    let (name, input) = (command.operation.spec().name, command.operation.to_json());
    format!("{id} {name} {}{}", input.replace('"', ""), under.unwrap_or_default())
}

/// An answer in a few words, and a print of all of them.
pub(super) fn told(outcome: &Result<String, Refusal>) -> String {
    match outcome {
        Ok(answer) => format!("done {}", print_of(answer)),
        Err(refusal) => format!("{} {}", refusal.code, print_of(&refusal.detail)),
    }
}
