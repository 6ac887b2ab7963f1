//! What agents do all day: they create, claim, note, give back and close, as their seeds say, and write it all down.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;
use tenure_core::model::ids::TaskId;
use tenure_core::operation::ownership::{Claim, Close, Release, WriteNote};
use tenure_core::operation::task::CreateTask;

use crate::agent::{Agent, Outcome};
use crate::place::PROJECT;
use crate::seed::Seed;
use crate::{log, store, waiting};

/// Agents at work, as one who disturbs them sees it.
#[derive(Debug, Default)]
pub struct Load {
    over: AtomicBool,
    done: AtomicU64,
    acknowledged: AtomicU64,
    last: AtomicI64,
    /// The longest time between two acknowledgements since somebody asked, in microseconds.
    pause: AtomicI64,
}

impl Load {
    /// Lets each agent work on a thread of its own while `disturb` runs, and ends when it does.
    pub fn during<T>(agents: &[Agent], seed: u64, disturb: impl FnOnce(&Self) -> T) -> T {
        let load = Self::default();
        std::thread::scope(|scope| {
            for (number, agent) in (0..).zip(agents) {
                let (load, seed) = (&load, Seed::of(seed, number));
                scope.spawn(move || load.work(agent, seed));
            }
            // Also where the disturber panics.
            let _over = Over(&load.over);
            disturb(&load)
        })
    }

    /// How many mutations were acknowledged so far.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(SeqCst)
    }

    /// Waits until so many more mutations were acknowledged.
    pub fn go_on(&self, count: u64) {
        let goal = self.acknowledged() + count;
        waiting::until("the agents go on", || self.acknowledged() >= goal);
    }

    /// How long it takes from now to the next acknowledged mutation.
    pub fn recovery(&self) -> Duration {
        let from = log::now();
        let until = waiting::some("a mutation is acknowledged again", || {
            Some(self.last.load(SeqCst)).filter(|last| *last > from)
        });
        Duration::from_micros(u64::try_from(until - from).expect("it is later"))
    }

    /// The longest time between two acknowledged mutations since this was asked last.
    pub fn pause(&self) -> Duration {
        Duration::from_micros(self.pause.swap(0, SeqCst).unsigned_abs())
    }

    fn work(&self, agent: &Agent, mut seed: Seed) {
        let mut held: Option<TaskId> = None;
        while !self.over.load(SeqCst) || held.is_some() {
            let text = format!("{} {}", agent.name, self.done.fetch_add(1, SeqCst));
            let choice = if self.over.load(SeqCst) { 4 } else { seed.below(5) };
            held = match (choice, held) {
                (0, held) => {
                    self.count(agent.ask(&create(&text)));
                    held
                }
                (1 | 2, Some(task)) => {
                    self.count(agent.ask(&WriteNote { task: task.clone(), text, recovery: false }));
                    Some(task)
                }
                (3, Some(task)) => {
                    self.count(agent.ask(&Release { task, note: None }));
                    None
                }
                (_, Some(task)) => {
                    self.count(agent.ask(&close(&task)));
                    None
                }
                (_, None) => self.count(agent.ask(&next())).map(|claimed| claimed.task.id),
            };
        }
    }

    fn count<T>(&self, outcome: Outcome<T>) -> Option<T> {
        match outcome {
            Outcome::Ok(answer) => {
                let now = log::now();
                let before = self.last.fetch_max(now, SeqCst);
                if before > 0 {
                    self.pause.fetch_max(now - before, SeqCst);
                }
                self.acknowledged.fetch_add(1, SeqCst);
                Some(answer)
            }
            Outcome::Refused(_) | Outcome::Unknown(_) => None,
        }
    }
}

/// Ends the work when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// The creation of a task in the tests' project.
#[must_use]
pub fn create(title: &str) -> CreateTask {
    serde_json::from_value(json!({ "project": PROJECT, "title": title })).expect("the input fits")
}

/// The end of a task.
#[must_use]
pub fn close(task: &TaskId) -> Close {
    serde_json::from_value(json!({ "task": task })).expect("the input fits")
}

fn next() -> Claim {
    Claim { task: None, projects: vec![store::project()], another: true, no_recovery: false, wait_ms: None }
}
