//! The judge: after every commit the promises are checked, from what the coordinator answered and from what the store
//! says to anybody who asks. It plays the record with a small model of its own and shares nothing with the rules.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use tenure_core::envelope::Envelope;
use tenure_core::model::event::{Event, EventKind, Fleet};
use tenure_core::model::ids::{Epoch, EventCursor, EventNumber, OperationId, SessionId, TaskId};
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::WallTime;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::ownership::{Alive, Claimed};
use tenure_core::operation::record::ListEvents;
use tenure_core::operation::task::ListTasks;
use tenure_core::operation::view::TaskSummary;
use tenure_core::operation::{Access, Operation};
use tenure_engine::Command;
use tenure_engine::execute::read;
use tenure_engine::store::driver::Driver;

pub use super::fate::Verdict;
use super::fate::{Fate, Holder};
use crate::place::PROJECT;
use crate::untimed::untimed;

/// Who asked, and under which id: what a receipt is kept by.
type Key = (String, OperationId);

/// What had been handed out before a restore: none of it counts, and none of it is handed out again.
#[derive(Debug, Clone, Default)]
struct Past {
    event: u64,
    generations: BTreeMap<TaskId, u64>,
    tasks_issued: u64,
    sessions: BTreeSet<SessionId>,
}

/// What is known of the fleet, and what was said to whom.
#[derive(Clone, Default)]
pub struct Judge {
    lease_ms: i64,
    epoch: Epoch,
    past: Option<Past>,
    /// The fleet time that was last seen committed.
    pub time: i64,
    /// Every event so far.
    pub events: Vec<Event>,
    fates: BTreeMap<TaskId, Fate>,
    sessions: BTreeMap<SessionId, String>,
    /// Each operation that had an effect, and its first event.
    effects: BTreeMap<Key, EventNumber>,
    told: BTreeMap<Key, String>,
    /// Refusals of a write that came too late.
    pub stale_refused: u64,
    /// Answers that were given a second time.
    pub replayed: u64,
    /// Requests of an epoch before a restore that were refused as such.
    pub restored_refused: u64,
    /// How often each operation was answered.
    pub answered: BTreeMap<&'static str, Answered>,
}

/// Operations that are accepted where all is as they want it already, and leave no event then.
const MAY_CHANGE_NOTHING: [&str; 5] =
    ["session.open", "project.bind", "task.archive", "dependency.add", "import.apply"];

/// How often an operation was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answered {
    /// How often it was accepted.
    pub accepted: u64,
    /// How often it was refused.
    pub refused: u64,
}

/// A batch as the storm knows it: what was asked, and the answers if the commit was confirmed.
pub struct Batch<'a> {
    /// What was asked.
    pub commands: &'a [Command],
    /// What was answered.
    pub answers: Option<&'a [Result<String, Refusal>]>,
    /// The latest fleet time that the clocks allow.
    pub time_max: i64,
}

/// Asks a public question of committed state.
pub fn ask<O: Operation>(driver: &mut dyn Driver, question: O) -> O::Answer
where
    AnyOperation: From<O>,
{
    let question = AnyOperation::from(question);
    let answer = read(driver, &question, &Envelope::default(), WallTime(0), Durations::default());
    let answer = answer.expect("the store works again").expect("a question that can be answered");
    serde_json::from_str(&answer).expect("an answer fits its type")
}

/// The project's tasks.
pub fn tasks(driver: &mut dyn Driver) -> Vec<TaskSummary> {
    let project = PROJECT.parse().expect("a valid key");
    ask(
        driver,
        ListTasks {
            project,
            lifecycle: None,
            labels: Vec::new(),
            archived: true,
            limit: Some(1000),
            cursor: None,
        },
    )
    .tasks
}

impl Judge {
    /// A judge of a fleet whose leases last so long.
    #[must_use]
    pub fn new(lease_ms: i64) -> Self {
        Self { lease_ms, epoch: Epoch(1), ..Self::default() }
    }

    /// Whether the fleet was restored.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.past.is_some()
    }

    /// The fleet is as the judge knew it `then`, and in another epoch.
    pub fn restore(&mut self, then: Self, fleet: &Fleet, is_lost: bool) -> Verdict {
        must!(fleet.epoch > self.epoch, "P8: epoch {} follows {}", fleet.epoch, self.epoch);
        let generations = self.fates.iter().map(|(task, fate)| (task.clone(), fate.generation));
        let past = Past {
            event: self.last_event(),
            generations: generations.collect(),
            tasks_issued: self.fates.keys().map(|task| task.number).max().unwrap_or_default(),
            sessions: self.sessions.keys().cloned().collect(),
        };
        // A store that is lost takes along what time it was.
        let time = if is_lost { then.time } else { self.time };
        let (epoch, past) = (fleet.epoch, Some(past));
        let (stale_refused, replayed) = (self.stale_refused, self.replayed);
        let (restored_refused, answered) = (self.restored_refused, std::mem::take(&mut self.answered));
        *self = Self { epoch, past, time, stale_refused, replayed, restored_refused, answered, ..then };
        Ok(())
    }

    fn last_event(&self) -> u64 {
        self.events.last().map_or(0, |event| event.number.0)
    }

    /// Every task that was ever created.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &TaskId> {
        self.fates.keys()
    }

    /// Checks everything after a commit, whether or not it happened.
    pub fn after(&mut self, driver: &mut dyn Driver, batch: &Batch<'_>) -> Verdict {
        let holders = self.holders();
        let before = EventNumber(self.last_event());
        let cursor = EventCursor { epoch: self.epoch, number: before };
        let page =
            ask(driver, ListEvents { after: Some(cursor), newest: false, task: None, limit: Some(1000) });
        let time = page.as_of.fleet_time.0;
        must!(time >= self.time, "P6: fleet time went back from {} to {time}", self.time);
        must!(
            time <= batch.time_max,
            "P6: fleet time is {time}, and no clock allows more than {}",
            batch.time_max
        );
        self.time = time;
        for event in page.events {
            self.play(event)?;
        }
        let last = self.last_event();
        must!(page.as_of.event.number.0 == last, "P7: the answer is of event {}", page.as_of.event);
        self.renewals(batch, &holders)?;
        if let Some(answers) = batch.answers {
            for (command, answer) in batch.commands.iter().zip(answers) {
                self.answered(command, answer, before)?;
            }
        }
        // Before the first task there is no project that could list any.
        if self.fates.is_empty() { Ok(()) } else { self.statuses(&tasks(driver)) }
    }

    fn holders(&self) -> BTreeMap<TaskId, Holder> {
        let held = self.fates.iter().filter_map(|(task, fate)| Some((task.clone(), fate.holder.clone()?)));
        held.collect()
    }

    /// Plays one event.
    fn play(&mut self, event: Event) -> Verdict {
        let last = self.events.last();
        must!(event.epoch == self.epoch, "event {} is of epoch {}", event.number, event.epoch);
        let is_next = event.number.0 == self.last_event() + 1;
        let begins = event.kind == EventKind::FleetRestored && event.number.0 > self.last_event();
        must!(is_next || begins, "events have a gap before {}", event.number);
        if let Some(past) = &self.past {
            new_to(past, &event)?;
        }
        let since = last.map_or(0, |last| last.fleet_time.0);
        must!(event.fleet_time.0 >= since, "P6: event {} is earlier than the one before", event.number);
        must!(event.fleet_time.0 <= self.time, "event {} is of the future", event.number);
        if let Some(key) = key_of(&event) {
            let goes_on = last.and_then(key_of).as_ref() == Some(&key);
            let first = *self.effects.entry(key).or_insert(event.number);
            must!(first == event.number || goes_on, "P4: an operation had effects at two moments: {event:?}");
        }
        if let (EventKind::SessionOpened, Some(session), Some(name)) =
            (event.kind, &event.actor.session, &event.actor.principal)
        {
            self.sessions.insert(session.clone(), name.to_string());
            if let Some(past) = &mut self.past {
                past.sessions.remove(session);
            }
        }
        if let Some(task) = &event.task {
            let fate = match self.fates.entry(task.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Fate::of(&event)?),
            };
            fate.play(&event, self.lease_ms, self.past.is_some())?;
        }
        self.events.push(event);
        Ok(())
    }

    /// Heartbeats leave no event: what they renew is taken from their answers, or allowed for where there is none.
    fn renewals(&mut self, batch: &Batch<'_>, before: &BTreeMap<TaskId, Holder>) -> Verdict {
        for (place, command) in batch.commands.iter().enumerate() {
            let AnyOperation::Heartbeat(_) = &command.operation else { continue };
            let Some(fence) = &command.envelope.fence else { continue };
            let until = self.time + self.lease_ms;
            let fate = self.fates.get_mut(&fence.attempt.task);
            let holder = fate.and_then(|fate| fate.holder.as_mut());
            let now = holder.filter(|holder| holder.attempt == fence.attempt);
            let then = before.get(&fence.attempt.task).filter(|holder| holder.attempt == fence.attempt);
            match batch.answers.map(|answers| &answers[place]) {
                Some(Ok(answer)) => {
                    let alive: Alive = serde_json::from_str(answer).map_err(|error| error.to_string())?;
                    let holder = then.or(now.as_deref());
                    let had = holder.is_some_and(|held| self.time < held.latest && !held.seen_dead);
                    must!(had, "P3: a heartbeat of {} was accepted at {}", fence.attempt, self.time);
                    if let Some(holder) = now {
                        holder.earliest = holder.earliest.max(alive.deadline.0);
                        holder.latest = holder.latest.max(until);
                        must!(holder.earliest <= holder.latest, "a lease of {} is too long", fence.attempt);
                    }
                }
                Some(Err(_)) => {}
                None => {
                    if let Some(holder) = now.filter(|holder| self.time < holder.latest) {
                        holder.latest = holder.latest.max(until);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks one answer against what was said before and what the record says now.
    fn answered(
        &mut self,
        command: &Command,
        answer: &Result<String, Refusal>,
        before: EventNumber,
    ) -> Verdict {
        let spec = command.operation.spec();
        let name = spec.name;
        let heard = self.answered.entry(name).or_default();
        match answer {
            Ok(_) => heard.accepted += 1,
            Err(_) => heard.refused += 1,
        }
        let code = answer.as_ref().err().map(|refusal| refusal.code);
        if command.envelope.epoch.is_some_and(|epoch| epoch != self.epoch) {
            must!(
                code == Some(Code::EpochChanged),
                "P8: a request of another epoch was heard: {command:?}, {answer:?}"
            );
            self.restored_refused += 1;
            return Ok(());
        }
        if spec.access == Access::Operator {
            must!(code == Some(Code::OperatorRequired), "an agent is no operator: {command:?}, {answer:?}");
        }
        let (Some(id), Some(principal)) = (&command.envelope.operation_id, self.principal(command)) else {
            return Ok(());
        };
        let key = (principal, id.clone());
        if let (Some(past), Some(caller)) = (&self.past, &command.envelope.caller)
            && past.sessions.contains(&caller.session)
        {
            // Opening it anew, with a message from before, makes it a session of this epoch.
            let may = answer.is_err() || name == "session.open";
            must!(may, "P8: a session from before the restore was heard: {command:?}");
            return Ok(());
        }
        match answer {
            Ok(answer) if name != "heartbeat" => {
                let untimed = untimed(answer).map_err(|error| error.to_string())?.to_string();
                if let Some(earlier) = self.told.get(&key) {
                    must!(*earlier == untimed, "P4: {id} was answered {earlier} before, and now {untimed}");
                    self.replayed += 1;
                    return Ok(());
                }
                if let AnyOperation::Claim(_) = command.operation {
                    self.granted(command, answer, before)?;
                } else {
                    let shows = self.effects.contains_key(&key) || MAY_CHANGE_NOTHING.contains(&name);
                    must!(shows, "P2: `{name}` {id} was accepted and left no event");
                }
                self.told.insert(key, untimed);
            }
            Ok(_) => {}
            Err(refusal) => {
                must!(!self.told.contains_key(&key), "P4: {id} was accepted before, and now {refusal:?}");
                // Of two copies in one batch the later one may be taken.
                let had = self.effects.get(&key).is_some_and(|first| *first <= before);
                must!(!had, "P4: {id} was refused and has events: {refusal:?}");
                let late = matches!(refusal.code, Code::LeaseExpired | Code::Superseded);
                self.stale_refused += u64::from(late);
                if let (true, Some(fence)) = (late, &command.envelope.fence) {
                    let holder = self.fates.get(&fence.attempt.task).and_then(|fate| fate.holder.as_ref());
                    let holds =
                        holder.is_some_and(|held| held.attempt == fence.attempt && self.time < held.earliest);
                    must!(!holds, "a holder in time was refused: {refusal:?}");
                }
            }
        }
        Ok(())
    }

    /// A claim that is answered for the first time names an attempt of its own session. If it was granted just now, after
    /// the event `before`, its lease is not over.
    fn granted(&self, command: &Command, answer: &str, before: EventNumber) -> Verdict {
        let claimed: Claimed = serde_json::from_str(answer).map_err(|error| error.to_string())?;
        let attempt = &claimed.attempt;
        let event =
            self.events.iter().rev().find(|event| {
                event.kind == EventKind::TaskClaimed && event.attempt.as_ref() == Some(attempt)
            });
        let session = command.envelope.caller.as_ref().map(|caller| &caller.session);
        let event = event.filter(|event| event.actor.session.as_ref() == session);
        let event = event.ok_or_else(|| {
            format!("P1: {attempt} was given to {session:?}, and the record knows nothing of it")
        })?;
        let live = event.number <= before || claimed.deadline.0 == self.time + self.lease_ms;
        must!(live, "P6: {attempt} was given at {} until {}", self.time, claimed.deadline.0);
        Ok(())
    }

    /// Under whose name a command's receipt is kept, by the record of sessions.
    fn principal(&self, command: &Command) -> Option<String> {
        if let AnyOperation::OpenSession(open) = &command.operation {
            return Some(open.name.to_string());
        }
        self.sessions.get(&command.envelope.caller.as_ref()?.session).cloned()
    }

    /// What the list of tasks says is what the record makes of them.
    fn statuses(&mut self, tasks: &[TaskSummary]) -> Verdict {
        must!(
            tasks.len() == self.fates.len(),
            "{} tasks are listed, {} were created",
            tasks.len(),
            self.fates.len()
        );
        for task in tasks {
            let fate = self.fates.get_mut(&task.id);
            let fate = fate.ok_or_else(|| format!("{} was never created", task.id))?;
            let past = self.past.as_ref().map(|past| &past.sessions);
            let shown = fate.shows(task.status, self.time, past);
            shown.map_err(|why| format!("{}: {why}", task.id))?;
        }
        Ok(())
    }
}

/// Nothing that an event of a new epoch names was handed out before.
fn new_to(past: &Past, event: &Event) -> Verdict {
    must!(event.number.0 > past.event, "P8: event number {} was given before", event.number);
    if let (EventKind::TaskCreated, Some(task)) = (event.kind, &event.task) {
        must!(task.number > past.tasks_issued, "P8: {task} was given before");
    }
    if let (EventKind::TaskClaimed, Some(attempt)) = (event.kind, &event.attempt) {
        let before = past.generations.get(&attempt.task).copied().unwrap_or_default();
        must!(attempt.generation.0 > before, "P8: {attempt} was given before");
    }
    Ok(())
}

/// Under whose name and id an event's operation ran.
fn key_of(event: &Event) -> Option<Key> {
    Some((event.actor.principal.as_ref()?.to_string(), event.actor.operation.clone()?))
}
