//! The lock-set workload with real clients and a real daemon that is stopped and continued: no acknowledged update is
//! lost, many writes come too late, and what the clients heard is the history of locks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tenure_core::model::ids::TaskId;
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::{Release, WriteCheckpoint};
use tenure_core::operation::project::CreateProject;
use tenure_core::operation::record::History;
use tenure_sim::agent::{Agent, Outcome, client};
use tenure_sim::daemon::Daemon;
use tenure_sim::history::lock_set::{Counted, list, with};
use tenure_sim::history::{self, Heard, logged};
use tenure_sim::log::calls;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::seed::Seed;
use tenure_sim::{fill, ownership, store, waiting};

use super::races::named;

const CLIENTS: u64 = 5;
const LISTS: u64 = 3;
const LEASE_MS: i64 = 2_000;
/// The daemon and the clients read one clock, and round it.
const SLACK_MS: i64 = 5;
/// A pause that no lease outlasts.
const LONG: Duration = Duration::from_millis(2_100);

/// What all clients did together.
#[derive(Default)]
struct Tally {
    acknowledged: AtomicU64,
    stale_refused: AtomicU64,
    stops: AtomicU64,
    over: AtomicBool,
}

/// However the test ends, everybody stops.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn task(number: u64) -> TaskId {
    format!("{PROJECT}-{}", number + 1).parse().expect("a valid id")
}

fn read(agent: &Agent, task: &TaskId) -> Vec<u64> {
    let question = History { task: task.clone(), limit: Some(1) };
    list(&agent.client.call(&question, None).expect("a record can be read").value.entries)
}

/// One client's part: take, read, think, write, give back. Gives the numbers that were acknowledged.
fn work(agent: &Agent, own: u64, mut seed: Seed, tally: &Tally) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    for turn in 0.. {
        if tally.over.load(SeqCst) {
            break;
        }
        let task = task(seed.below(LISTS));
        let Outcome::Ok(_) = agent.ask(&named(&task)) else {
            // waits because: the list is somebody else's, and asking on without a pause would only crowd the daemon.
            thread::sleep(Duration::from_millis(20 + seed.below(80)));
            continue;
        };
        let seen = read(agent, &task);
        let overslept = seed.below(5) == 0;
        // waits because: the pause is the fault. It is how a client comes to write after its lease.
        thread::sleep(if overslept { LONG } else { Duration::from_millis(seed.below(40)) });
        let number = own * 1_000_000 + turn;
        let text = with(seen, number);
        let write = WriteCheckpoint { task: task.clone(), text, evidence: Default::default(), tree: None };
        match agent.ask(&write) {
            Outcome::Ok(_) => {
                tally.acknowledged.fetch_add(1, SeqCst);
                acknowledged.push(number);
                agent.ask(&Release { task, note: None });
            }
            Outcome::Refused(refusal) => {
                assert!(matches!(refusal.code, Code::LeaseExpired | Code::Superseded), "{refusal:?}");
                tally.stale_refused.fetch_add(1, SeqCst);
            }
            Outcome::Unknown(_) => {}
        }
    }
    acknowledged
}

/// Stops the daemon for longer than a lease, and lets it go on, again and again.
fn stop_and_go(daemon: &Daemon, tally: &Tally) {
    while !tally.over.load(SeqCst) {
        daemon.stop();
        // waits because: the pause is the fault. Every lease ends in it.
        thread::sleep(LONG);
        daemon.go_on();
        let stops = tally.stops.fetch_add(1, SeqCst) + 1;
        let enough = 15 * stops;
        let busy = || tally.over.load(SeqCst) || tally.acknowledged.load(SeqCst) >= enough;
        waiting::until("the clients are at work again", busy);
    }
}

#[test]
fn no_acknowledged_update_is_lost_though_clients_and_daemon_pause_for_longer_than_a_lease() {
    let seed = Seed::of_this_run();
    let place = Place::new();
    let daemon = Daemon::start(place.state(), &["--lease-ms-min", "1000"], &[]);
    let open = |number| Agent::open(client(place.state()), &format!("client-{number}"));
    let agents: Vec<Agent> = (0..CLIENTS).map(open).collect();
    let policy = serde_json::from_value(json!({ "lease_ms": LEASE_MS })).expect("the input fits");
    agents[0].ask(&CreateProject { key: store::project(), name: None, policy }).ok();
    fill::tasks(&agents[0], usize::try_from(LISTS).expect("few"));
    let logs = place.folder("logs");
    let agents: Vec<Agent> = agents.into_iter().map(|agent| agent.logging(&logs)).collect();
    let tally = Tally::default();
    let acknowledged: Vec<u64> = thread::scope(|scope| {
        let tally = &tally;
        let working = (0..)
            .zip(&agents)
            .map(|(own, agent)| scope.spawn(move || work(agent, own, Seed::of(seed, own), tally)));
        let working: Vec<_> = working.collect();
        let stopping = scope.spawn(|| stop_and_go(&daemon, tally));
        let over = Over(&tally.over);
        waiting::until("enough was written, and refused", || {
            tally.acknowledged.load(SeqCst) > 60
                && tally.stale_refused.load(SeqCst) > 20
                && tally.stops.load(SeqCst) >= 3
        });
        drop(over);
        stopping.join().expect("the daemon goes on");
        working.into_iter().flat_map(|client| client.join().expect("a client ends well")).collect()
    });
    let lists: Vec<u64> = (0..LISTS).flat_map(|number| read(&agents[0], &task(number))).collect();
    let stale_refused = usize::try_from(tally.stale_refused.load(SeqCst)).expect("few");
    let counted = Counted::of(&acknowledged, &lists, stale_refused);
    eprintln!("{counted:?}, the daemon was stopped {} times", tally.stops.load(SeqCst));
    assert_eq!(counted.lost, 0, "{counted:?}");
    let _ = ownership::play(&store::events(&agents[0].client));
    let mut history = logged::calls(&calls(&logs), SLACK_MS);
    assert!(history.len() > 150, "too quiet to prove anything");
    history::check(&history, LEASE_MS).unwrap_or_else(|why| panic!("{why}"));
    // Had a late write been accepted, it would be seen: not each of them, because some came so shortly after the end that
    // nobody outside could tell, but most.
    let late: Vec<usize> = (0..history.len()).filter(|at| history[*at].heard == Heard::Stale).collect();
    let mut seen = 0;
    for at in &late {
        history[*at].heard = Heard::Done;
        seen += usize::from(history::check(&history, LEASE_MS).is_err());
        history[*at].heard = Heard::Stale;
    }
    assert!(2 * seen > late.len(), "only {seen} of {} late writes would be seen", late.len());
}
