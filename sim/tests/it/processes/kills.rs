//! P2 and P4 when the daemon dies in the middle: killed under load, its clients go on as they always do, and
//! afterwards their own logs are counted against the store.

use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tenure_core::model::ids::TaskId;
use tenure_core::operation::ownership::{Release, WriteNote};
use tenure_sim::agent::{Agent, Outcome, client, starting_client};
use tenure_sim::daemon::{self, found_in};
use tenure_sim::fill::create_project;
use tenure_sim::history::{self, logged};
use tenure_sim::load::{close, create};
use tenure_sim::log::{Log, calls};
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::recount::{Figures, recount};
use tenure_sim::seed::{Seed, rounds};
use tenure_sim::shell::{Ran, Shell};
use tenure_sim::{fill, store, waiting};

use super::races::next;

const AGENTS: u64 = 12;
const SHELLS: u64 = 2;
/// How many calls each agent makes in one round.
const CALLS: u64 = 24;

/// The coordinator's usual lease.
const LEASE_MS: i64 = 600_000;
/// Time of leases and time of clients come apart by what the daemons were down and by what their starts make up for.
const DOWN_MS: i64 = 60_000;

/// One agent's part of a round: creating, claiming, noting, releasing and closing as its seed says.
fn work(agent: &Agent, round: u64, mut seed: Seed, done: &AtomicU64) {
    let mut held: Option<TaskId> = None;
    for call in 0..CALLS {
        let text = format!("{} {round} {call}", agent.name);
        held = match (seed.below(5), held) {
            (0, held) => {
                agent.ask(&create(&text));
                held
            }
            (1 | 2, Some(task)) => {
                agent.ask(&WriteNote { task: task.clone(), text, recovery: false });
                Some(task)
            }
            (3, Some(task)) => {
                agent.ask(&Release { task, note: None });
                None
            }
            (_, Some(task)) => {
                agent.ask(&close(&task));
                None
            }
            (_, None) => match agent.ask(&next()) {
                Outcome::Ok(claimed) => Some(claimed.task.id),
                Outcome::Refused(_) | Outcome::Unknown(_) => None,
            },
        };
        done.fetch_add(1, SeqCst);
    }
    if let Some(task) = held {
        agent.ask(&close(&task));
    }
}

/// An agent that types whole commands. Its process may be killed in mid-call; its next command finds out what became
/// of that call.
struct Typist {
    shell: Shell,
    log: Log,
    name: String,
    running: Mutex<Option<Child>>,
}

impl Typist {
    fn new(place: &Place, logs: &Path, name: String) -> Self {
        let shell = Shell::new(place.state(), &place.checkout()).named(&name);
        Self { shell, log: Log::of(logs, &name), name, running: Mutex::new(None) }
    }

    fn create(&self, title: &str) -> Ran {
        let words = ["task", "create", "--project", PROJECT, "--title", title];
        let input = json!({ "project": PROJECT, "title": title });
        self.shell.logged(&self.log, "task.create", &input, &words, &self.running)
    }

    fn work(&self, round: u64, done: &AtomicU64) {
        for call in 0..6 {
            self.create(&format!("{} {round} {call}", self.name));
            done.fetch_add(1, SeqCst);
        }
    }
}

/// What the killer did.
#[derive(Default)]
struct Killed {
    daemons: u64,
    commands: u64,
    slowest: Duration,
}

/// Kills the daemon, and the commands that run just then, each time so much has been done: the moment follows from
/// the seed and not from how fast the machine is.
fn kill_at(moments: &[u64], over: &AtomicBool, done: &AtomicU64, typists: &[Typist], state: &Path) -> Killed {
    let mut killed = Killed::default();
    let next = starting_client(state);
    for moment in moments {
        waiting::until("enough was done", || over.load(SeqCst) || done.load(SeqCst) >= *moment);
        let Some(pid) = found_in(state) else { continue };
        for typist in typists {
            if let Some(child) = &mut *typist.running.lock().expect("no holder panics") {
                child.kill().expect("it is our child");
                killed.commands += 1;
            }
        }
        daemon::kill(pid);
        killed.daemons += 1;
        let begun = Instant::now();
        // Whoever finds it missing first starts the next: an agent in mid-call, or this one.
        waiting::until("a daemon answers again", || next.info().is_ok_and(|info| info.pid != pid));
        killed.slowest = killed.slowest.max(begun.elapsed());
    }
    killed
}

fn round(round: u64, seed: u64, agents: &[Agent], typists: &[Typist], state: &Path) -> Killed {
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let (done, over) = (&done, &over);
        let mut working = Vec::new();
        for (number, agent) in (0..).zip(agents) {
            let seed = Seed::of(seed, round * 100 + number);
            working.push(scope.spawn(move || work(agent, round, seed, done)));
        }
        for typist in typists {
            working.push(scope.spawn(move || typist.work(round, done)));
        }
        let mut seed = Seed::of(seed, round * 100 + 99);
        let half = AGENTS * CALLS / 2;
        let moments = [seed.below(half), half + seed.below(half)];
        let killer = scope.spawn(move || kill_at(&moments, over, done, typists, state));
        for thread in working {
            thread.join().expect("an agent ends well");
        }
        over.store(true, SeqCst);
        killer.join().expect("the killer ends well")
    })
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_doubled_when_the_daemon_is_killed() {
    let seed = Seed::of_this_run();
    let place = Place::new();
    let logs = place.folder("logs");
    let agents =
        (0..AGENTS).map(|number| Agent::open(starting_client(place.state()), &format!("agent-{number}")));
    let agents: Vec<Agent> = agents.collect();
    create_project(&agents[0]);
    fill::tasks(&agents[0], 40);
    let agents: Vec<Agent> = agents.into_iter().map(|agent| agent.logging(&logs)).collect();
    let typists: Vec<Typist> =
        (0..SHELLS).map(|number| Typist::new(&place, &logs, format!("shell-{number}"))).collect();
    let rounds = u64::from(rounds(3));
    let mut killed = Killed::default();
    for number in 1..=rounds {
        let Killed { daemons, commands, slowest } = round(number, seed, &agents, &typists, place.state());
        killed.daemons += daemons;
        killed.commands += commands;
        killed.slowest = killed.slowest.max(slowest);
        for typist in &typists {
            let ran = typist.create(&format!("{} {number} last", typist.name));
            assert_eq!(ran.code, 0, "the first command in peace goes through: {}", ran.err);
        }
    }
    let logged = calls(&logs);
    let counted = recount(&client(place.state()), &logged);
    let history = logged::calls(&logged, DOWN_MS);
    history::check(&history, LEASE_MS).unwrap_or_else(|why| panic!("{why}"));
    let Figures { acknowledged, refused, unknown, unknown_that_happened, events } = counted;
    eprintln!(
        "{rounds} rounds, {} daemons and {} commands killed; {acknowledged} calls acknowledged, {refused} refused, \
         {unknown} unknown ({unknown_that_happened} of them seen to have happened), {events} events, {} calls in histories; a daemon \
         answered again after at most {} ms",
        killed.daemons,
        killed.commands,
        history.len(),
        killed.slowest.as_millis()
    );
    assert!(killed.daemons >= rounds && acknowledged > 50, "too quiet to prove anything");
}

#[test]
fn a_killed_daemon_with_many_tasks_comes_back() {
    let tasks = if rounds(0) > 0 { 100_000 } else { 5_000 };
    let place = Place::new();
    let mut daemon = place.daemon();
    let agent = Agent::open(client(place.state()), "ada");
    create_project(&agent);
    fill::tasks(&agent, tasks);
    agent.ask(&next()).ok();
    daemon.kill();
    let begun = Instant::now();
    let daemon = place.daemon();
    assert_eq!(store::ready_total(&agent.client), tasks as u64 - 1);
    let answered = begun.elapsed();
    eprintln!(
        "{tasks} tasks: ready {} ms and first answer {} ms after the start",
        daemon.ready_after.as_millis(),
        answered.as_millis()
    );
    store::verify(&agent.client);
}
