//! The coordinator's side of a storm: commits under faults, and what happens to its process and its machine.

use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::Refusal;
use tenure_engine::Command;
use tenure_engine::store::driver::Class;

use super::acting::told;
use super::check::{Batch, Verdict};
use super::coordinator::{Coordinator, Waiting};
use super::store::Plan;
use super::weather::Fault;
use super::world::{Caller, FLEET, Happening, Heard, LEASE_MS, STORM_MS, Told, World};

/// A process that ended is started again so much later, at most: often enough beyond what a join makes up for.
const DOWN_MS: u64 = 9_000;
/// The record passes into another fleet and back about every so many seconds.
const PASSAGE_EVERY: u64 = 50;
/// How far a wall clock jumps, at most, in either direction.
const JUMP_MS: u64 = 24 * 60 * 60 * 1000;
/// A batch makes about so many calls to the store.
const CALLS: u64 = 16;
/// Presence and windows are short too, so that they end in a storm.
pub(super) const DURATIONS: Durations = Durations {
    lease_ms_min: 1_000,
    lease_ms_default: LEASE_MS,
    presence_ms: 20_000,
    handoff_window_ms: 10_000,
};

impl World {
    pub(super) fn is_asleep(&self) -> bool {
        self.agenda.now < self.asleep_until
    }

    /// Notes something of the coordinator's for the moment its machine wakes. Says whether it sleeps.
    fn later(&mut self, happening: Happening) -> bool {
        let asleep = self.is_asleep();
        if asleep {
            self.agenda.note(self.asleep_until - self.agenda.now, happening);
        }
        asleep
    }

    /// A process of the coordinator starts, unless one runs.
    pub(super) fn start(&mut self) {
        if self.coordinator.is_some() || self.later(Happening::Restart) {
            return;
        }
        self.lives += 1;
        let life = self.lives;
        let clocks = self.machine.clocks(self.agenda.now);
        self.coordinator = Some(Coordinator::start(&mut self.store, FLEET, clocks, life, DURATIONS));
        self.say(&format!("coordinator {life} starts"));
        self.call_for_commit();
        self.agenda.note(1_000, Happening::Tick { life });
    }

    /// Puts a commit on the agenda, unless one is.
    pub(super) fn call_for_commit(&mut self) {
        let gather = self.below(self.gather_ms);
        let Some(coordinator) = &mut self.coordinator else { return };
        if !coordinator.is_committing {
            coordinator.is_committing = true;
            self.agenda.note(gather, Happening::Commit { life: coordinator.life });
        }
    }

    /// Once a second: what is overdue is recorded, and while leases live the time is committed.
    pub(super) fn tick(&mut self, life: u64) {
        if self.later(Happening::Tick { life }) {
            return;
        }
        let clocks = self.machine.clocks(self.agenda.now);
        let Some(coordinator) = self.coordinator.as_mut().filter(|it| it.life == life && !it.is_dead())
        else {
            return;
        };
        let is_due = coordinator.tick(&mut self.store, clocks);
        if is_due {
            self.call_for_commit();
        }
        self.agenda.note(1_000, Happening::Tick { life });
    }

    /// Commits what waits.
    pub(super) fn commit_next(&mut self, life: u64) -> Verdict {
        if self.later(Happening::Commit { life }) {
            return Ok(());
        }
        let some = usize::try_from(1 + self.dice.below(16)).expect("few");
        let Some(coordinator) = self.coordinator.as_mut().filter(|it| it.life == life) else { return Ok(()) };
        coordinator.is_committing = false;
        let rest = coordinator.queue.split_off(some.min(coordinator.queue.len()));
        let batch = std::mem::replace(&mut coordinator.queue, rest);
        let (plan, fault) = self.plan();
        let commands: Vec<Command> = batch.iter().map(|waiting| waiting.command.clone()).collect();
        let answers = self.commit(&commands, plan)?;
        if self.store.has_bitten()
            && let Some(fault) = fault
        {
            self.weather.bites.count(fault);
            self.say(&format!("fault: {fault:?}"));
            if fault == Fault::KilledInCommit {
                self.kill();
                return Ok(());
            }
        }
        self.reply(batch, answers);
        let is_dead = self.coordinator.as_ref().is_some_and(Coordinator::is_dead);
        if is_dead {
            let pause = self.below(3_000);
            self.agenda.note(pause, Happening::End { life });
        }
        if self.coordinator.as_ref().is_some_and(|coordinator| !coordinator.queue.is_empty()) {
            self.call_for_commit();
        }
        Ok(())
    }

    fn reply(&mut self, batch: Vec<Waiting<Caller>>, answers: Option<Vec<Result<String, Refusal>>>) {
        let callers = batch.into_iter().map(|waiting| waiting.caller);
        let heard: Vec<Heard> = match answers {
            Some(answers) => answers.into_iter().map(Heard::Answer).collect(),
            None => callers.clone().map(|_| Heard::CannotTell).collect(),
        };
        for (caller, heard) in callers.zip(heard) {
            if let Some(caller) = caller {
                self.answer(caller, heard);
            }
        }
    }

    /// What the next commit meets, and which fault that is if it comes to it.
    fn plan(&mut self) -> (Plan, Option<Fault>) {
        let call = u32::try_from(1 + self.dice.below(CALLS)).expect("few");
        let happens = self.dice.below(2) == 0;
        let killed = match self.dice.below(2) {
            0 => Plan::Fail { call, class: Class::Lost },
            _ => Plan::Unanswered { happens, class: Class::Lost },
        };
        let plans = [
            (Fault::KilledInCommit, killed),
            (Fault::Unsynced, Plan::Unanswered { happens, class: Class::Sync }),
            (Fault::LostAfter, Plan::Unanswered { happens: true, class: Class::Lost }),
            (Fault::LostBefore, Plan::Unanswered { happens: false, class: Class::Lost }),
            (Fault::Failed, Plan::Fail { call, class: Class::Io }),
            (Fault::Full, Plan::Fail { call, class: Class::Full }),
            (Fault::Busy, Plan::Fail { call: 1, class: Class::Busy }),
        ];
        for (fault, plan) in plans {
            if self.weather.strikes(fault, &mut self.dice) {
                return (plan, Some(fault));
            }
        }
        (Plan::Sound, None)
    }

    /// Runs a batch and lets the judge look at what it came to.
    pub(super) fn commit(
        &mut self,
        commands: &[Command],
        plan: Plan,
    ) -> Result<Option<Vec<Result<String, Refusal>>>, String> {
        let clocks = self.machine.clocks(self.agenda.now);
        let coordinator = self.coordinator.as_mut().ok_or("a process commits")?;
        let done = coordinator.commit(&mut self.store, clocks, plan, commands.to_vec());
        self.store.be_sound();
        let answers = done.outcome.ok();
        let batch = Batch { commands, answers: answers.as_deref(), time_max: done.time_max };
        self.judge.after(&mut self.store, &batch)?;
        let words: Vec<String> = match &answers {
            Some(answers) => answers.iter().map(told).collect(),
            None => vec!["nobody can tell".to_owned()],
        };
        let (time, events) = (self.judge.time, self.judge.events.len());
        let words = format!("commit of {} at {time}, {events} events: {}", commands.len(), words.join(", "));
        self.say(&words);
        Ok(answers)
    }

    /// The process is gone, with all that waited in it; another will start.
    fn kill(&mut self) {
        self.coordinator = None;
        self.store.reconnect();
        self.say("the coordinator is killed");
        let down = 50 + self.below(DOWN_MS);
        self.agenda.note(down, Happening::Restart);
    }

    fn back_up(&mut self) {
        self.store.back_up(self.machine.clocks(self.agenda.now));
        self.at_backup = Some(self.judge.clone());
        self.say("a backup is taken");
    }

    /// The store is as it was at the backup, in its next epoch. What was acknowledged since is lost, and nothing that was
    /// granted before counts.
    fn restore(&mut self) -> Verdict {
        self.judge_history()?;
        if self.coordinator.is_some() {
            self.kill();
        }
        let is_lost = self.dice.below(2) == 0;
        let clocks = self.machine.clocks(self.agenda.now);
        let fleet = self.store.put_back(clocks, is_lost);
        let then = self.at_backup.take().ok_or("the judge saw the backup taken")?;
        self.judge.restore(then, &fleet, is_lost)?;
        self.restored_after = self.sends;
        self.texts.values_mut().for_each(|told| *told = Told::Nothing);
        self.say(&format!("restored into epoch {}, the present store lost: {is_lost}", fleet.epoch));
        Ok(())
    }

    /// A process whose writer has ended goes.
    pub(super) fn end(&mut self, life: u64) {
        if !self.later(Happening::End { life }) && self.coordinator.as_ref().is_some_and(|it| it.life == life)
        {
            self.kill();
        }
    }

    /// Once a second something may happen to the coordinator's process, its machine, or the way to it; until the storm
    /// is over.
    pub(super) fn trouble(&mut self) -> Verdict {
        if self.agenda.now >= STORM_MS {
            self.is_calm = true;
            self.weather.calm_down();
            self.cut_until.fill(0);
            self.say("the storm is over");
            return Ok(());
        }
        self.agenda.note(1_000, Happening::Trouble);
        if self.weather.strikes(Fault::CutOff, &mut self.dice) {
            let agent = usize::try_from(self.dice.below(self.agents.len() as u64)).expect("few agents");
            self.cut_until[agent] = self.agenda.now + self.below(2 * LEASE_MS.unsigned_abs());
            self.say(&format!("agent {agent} is cut off"));
        }
        if self.weather.bites(Fault::Jumped, &mut self.dice) {
            self.machine.wall_off_ms += self.below(2 * JUMP_MS) - self.below(JUMP_MS) * 2;
            self.say("the wall clock jumps");
        }
        if self.is_asleep() {
            return Ok(());
        }
        if self.dice.below(PASSAGE_EVERY) == 0 {
            self.pass()?;
        }
        if !self.judge.is_restored() && self.weather.strikes(Fault::Restored, &mut self.dice) {
            if self.store.has_backup() && self.dice.below(3) > 0 {
                self.weather.bites.count(Fault::Restored);
                return self.restore();
            }
            self.back_up();
        }
        if self.coordinator.is_some() && self.weather.bites(Fault::Killed, &mut self.dice) {
            self.kill();
        }
        if self.weather.bites(Fault::Slept, &mut self.dice) {
            let sleep = 1 + self.below(4 * LEASE_MS.unsigned_abs());
            self.machine.slept_ms += sleep;
            self.asleep_until = self.agenda.now + sleep;
            self.say(&format!("the machine sleeps for {sleep} ms"));
        }
        Ok(())
    }
}
