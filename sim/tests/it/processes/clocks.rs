//! P6: the coordinator's time goes forward by what really passed, and by at most five seconds more at each restart,
//! whatever the wall clock says; and a lease that ended does not come back.

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tenure_client::call::Client;
use tenure_core::model::attempt::AttemptState;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::TaskId;
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::Heartbeat;
use tenure_core::operation::task::ShowTask;
use tenure_sim::agent::{Agent, Outcome, client};
use tenure_sim::daemon::Daemon;
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::{clocks, fill, ownership, store};

use super::races::named;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// What a restart adds at most, in milliseconds.
const JOIN_MS_MAX: i64 = 5_000;
const LEASE_MS: i64 = 120_000;
/// How far the machine's own wall clock may be corrected while a test runs.
const CORRECTED_MS_MAX: i64 = 50;
/// Where the wall clock stands at each start, in seconds beside the truth.
const OFFSETS: [i64; 20] = [
    3 * HOUR,
    0,
    -3 * HOUR,
    3 * HOUR,
    -3 * HOUR,
    -3 * HOUR + 2,
    -3 * HOUR + 3,
    DAY,
    -DAY,
    -DAY + 4,
    0,
    1,
    -1,
    30 * DAY,
    3 * HOUR,
    -3 * HOUR,
    365 * DAY,
    -365 * DAY,
    2,
    0,
];

fn task(number: u32) -> TaskId {
    format!("{PROJECT}-{number}").parse().expect("a valid id")
}

/// A coordinator whose wall clock is somewhere, and what is known of its time. Somebody holds the last task and asks
/// for nothing but heartbeats: each tells the time that it was committed at.
struct Coordinator {
    daemon: Daemon,
    client: Client,
    keeper: Agent,
    offset: i64,
    time: i64,
    /// A moment before that time was asked for, so that what passed since is never underestimated.
    asked_at: Instant,
}

fn daemon(folder: &Path, offset: i64) -> Daemon {
    let variables = clocks::moved_by(offset);
    let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let lease = LEASE_MS.to_string();
    Daemon::start(folder, &["--lease-ms", &lease], &variables)
}

impl Coordinator {
    fn start(folder: &Path) -> Self {
        let daemon = daemon(folder, 0);
        let keeper = Agent::open(client(folder), "keeper");
        create_project(&keeper);
        fill::tasks(&keeper, 4);
        let asked_at = Instant::now();
        let time = keeper.ask(&named(&task(4))).ok().deadline.0 - LEASE_MS;
        Self { daemon, client: client(folder), keeper, offset: 0, time, asked_at }
    }

    /// The time that a write has just committed.
    fn committed(&self) -> i64 {
        self.keeper.ask(&Heartbeat { task: task(4) }).ok().deadline.0 - LEASE_MS
    }

    /// Ends the daemon, starts another with its wall clock elsewhere, and checks where its time stands.
    fn restart(&mut self, offset: i64, by_force: bool) {
        if by_force {
            self.daemon.kill();
        } else {
            self.daemon.terminate();
        }
        self.daemon = daemon(self.daemon.folder(), offset);
        let moved = (offset - self.offset) * 1000;
        let asked_at = Instant::now();
        let (time, before) = (self.committed(), self.time);
        let real = i64::try_from(self.asked_at.elapsed().as_millis()).expect("short") + 2;
        // Between the last commit and the start there passed something from nothing to all that really passed.
        let least = before + (moved - CORRECTED_MS_MAX).clamp(0, JOIN_MS_MAX);
        let most = before + (moved + real + CORRECTED_MS_MAX).clamp(0, JOIN_MS_MAX) + real;
        assert!(time >= before, "time ran back from {before} to {time}");
        assert!(
            (least..=most).contains(&time),
            "the wall clock moved by {moved} ms, {real} ms passed, and time went from {before} to {time}"
        );
        (self.offset, self.time, self.asked_at) = (offset, time, asked_at);
    }

    /// Reads the time by a write, while nothing but time passes.
    fn look(&mut self) -> i64 {
        let asked_at = Instant::now();
        let (time, before) = (self.committed(), self.time);
        let real = i64::try_from(self.asked_at.elapsed().as_millis()).expect("short") + 2;
        assert!((before..=before + real).contains(&time), "{real} ms passed: {before} to {time}");
        (self.time, self.asked_at) = (time, asked_at);
        time
    }
}

/// Whether a task's lease lives, as a read says.
fn lease_lives(client: &Client, task: &TaskId) -> bool {
    let shown =
        client.call(&ShowTask { task: task.clone(), entries: None }, None).expect("it can be read").value;
    let attempt = shown.task.attempt.expect("it was claimed");
    attempt.state == AttemptState::Active && attempt.expires_in_ms > 0
}

#[test]
fn twenty_restarts_under_moving_wall_clocks_end_a_lease_once_and_on_time() {
    let place = Place::new();
    let mut coordinator = Coordinator::start(place.state());
    let [ada, bob, carol, dan] =
        ["ada", "bob", "carol", "dan"].map(|name| Agent::open(client(place.state()), name));
    // Ada and carol never renew; bob waits for ada's task; dan renews after every restart.
    let [of_ada, of_carol, _] = [(&ada, 1), (&carol, 2), (&dan, 3)]
        .map(|(agent, number)| agent.ask(&named(&task(number))).ok().deadline.0);
    let begun = coordinator.look();
    for (index, offset) in OFFSETS.into_iter().enumerate() {
        coordinator.restart(offset, index % 2 == 0);
        let alive = dan.ask(&Heartbeat { task: task(3) }).ok();
        assert!(alive.deadline.0 - LEASE_MS >= coordinator.time, "a heartbeat counts from its own moment");
        assert!(coordinator.look() < of_ada, "the lease is meant to outlast the restarts: make it longer");
        assert!(lease_lives(&coordinator.client, &task(1)));
        let refusal = bob.ask(&named(&task(1))).refused();
        assert_eq!(refusal.code, Code::LeaseHeld);
        let left = refusal.facts["expires_in_ms"].as_i64().expect("a number");
        let judged_at = of_ada - left;
        assert!((coordinator.time..=coordinator.look()).contains(&judged_at), "refused at {judged_at}");
    }
    let passed = coordinator.time - begun;
    eprintln!("{} restarts moved the fleet's time by {passed} ms of a lease of {LEASE_MS} ms", OFFSETS.len());

    // Jumps ahead take it to just before the end; the rest is real time.
    let mut offset = OFFSETS[OFFSETS.len() - 1];
    while coordinator.look() + JOIN_MS_MAX + 1_500 < of_ada {
        offset += HOUR;
        coordinator.restart(offset, true);
    }
    let mut refused_last = coordinator.time;
    let taken_over = tenure_sim::waiting::some("ada's lease ends", || match bob.ask(&named(&task(1))) {
        Outcome::Ok(claimed) => Some(claimed),
        outcome => {
            let left = outcome.refused().facts["expires_in_ms"].as_i64().expect("a number");
            assert!(left > 0, "held for another {left} ms");
            refused_last = of_ada - left;
            None
        }
    });
    let taken_at = taken_over.deadline.0 - LEASE_MS;
    assert!(refused_last < of_ada && taken_at >= of_ada, "{refused_last} {of_ada} {taken_at}");
    assert_eq!((taken_over.generation.0, taken_over.resumed), (2, false));
    eprintln!(
        "refused for the last time {} ms before the deadline, taken over {} ms after",
        of_ada - refused_last,
        taken_at - of_ada
    );

    // Carol's lease has ended and nobody has taken over. Her refusal is the last thing that this daemon does.
    tenure_sim::waiting::until("carol's lease has ended too", || coordinator.look() >= of_carol);
    let ended = |agent: &Agent, number: u32| {
        let failure = agent.mutate("heartbeat", &json!({ "task": task(number) })).expect_err("it has ended");
        assert_eq!(failure.code(), Code::LeaseExpired);
    };
    ended(&carol, 2);
    for back in [offset - 3 * HOUR, offset - DAY, offset - 400 * DAY, 0] {
        coordinator.restart(back, true);
        ended(&carol, 2);
        ended(&ada, 1);
        assert!(!lease_lives(&coordinator.client, &task(2)), "revived by a clock set back");
        bob.ask(&Heartbeat { task: task(1) }).ok();
    }
    let claims = ownership::play(&store::events(&coordinator.client));
    assert_eq!((claims[&task(1)].len(), claims[&task(2)].len(), claims[&task(3)].len()), (2, 1, 1));
    // The background work writes down both ends, once each.
    let expired = || {
        let events = store::events(&coordinator.client).into_iter();
        events.filter(|event| event.kind == EventKind::LeaseExpired).filter_map(|event| event.task).collect()
    };
    tenure_sim::waiting::until("both ends are in the record", || {
        let expired: Vec<TaskId> = expired();
        expired.len() == 2 && [1, 2].iter().all(|number| expired.contains(&task(*number)))
    });
    store::verify(&coordinator.client);
}

#[test]
fn the_wall_clock_is_really_moved_and_the_monotonic_clock_is_not() {
    let place = Place::new();
    let mut coordinator = Coordinator::start(place.state());
    let mut walls = Vec::new();
    for offset in [0, 3 * HOUR] {
        coordinator.restart(offset, false);
        let before = Instant::now();
        let from = coordinator.look();
        tenure_sim::waiting::until("a second has passed for the fleet", || coordinator.look() >= from + 1000);
        assert!(before.elapsed().as_millis() >= 990, "the monotonic clock runs too fast");
        coordinator
            .keeper
            .mutate("note", &json!({ "task": task(4), "text": "now" }))
            .expect("it is recorded");
        let events = store::events(&coordinator.client);
        walls.push(events.last().expect("the note").wall_time.0);
    }
    let moved = walls[1] - walls[0];
    assert!(
        moved > 3 * HOUR * 1000 && moved < 4 * HOUR * 1000,
        "moved by {moved} ms: faketime does not bite"
    );
}
