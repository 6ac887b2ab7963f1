//! Waiting for work with the real command: a waiter that is killed, paused or cut off keeps no task from the others.

use std::process::Child;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_sim::agent::{Agent, starting_client};
use tenure_sim::daemon::{found_in, has_ended, signal};
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::seed::{Seed, rounds};
use tenure_sim::shell::{Ran, Shell};
use tenure_sim::waiting;

/// How many requests wait in the daemon.
fn waiters(agent: &Agent) -> u64 {
    let info = agent.client.get("/api/v1/info").expect("the daemon answers");
    let info: Value = serde_json::from_slice(&info).expect("an answer is JSON");
    info["waiting"].as_u64().expect("how many wait")
}

/// `tenure claim --wait` of an agent of its own, and the moment at which the daemon knows of it.
fn wait_for_work(shell: &Shell, founder: &Agent, name: &str) -> Child {
    let before = waiters(founder);
    let child = shell.named(name).spawn(&["claim", "--wait", "10m", "--project", PROJECT, "--json"]);
    waiting::until("it waits", || waiters(founder) > before);
    child
}

fn ended(child: Child) -> Ran {
    Ran::of(child.wait_with_output().expect("it is our child"))
}

fn create(agent: &Agent) -> String {
    let created = agent.mutate("task.create", &json!({ "project": PROJECT, "title": "work" }));
    created.expect("it is created")["task"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_waiter_that_is_killed_or_paused_swallows_no_task() {
    let seed = Seed::of_this_run();
    let mut dice = Seed::of(seed, 0);
    let place = Place::new();
    let _daemon = place.daemon();
    let founder = Agent::open(starting_client(place.state()), "founder");
    create_project(&founder);
    let shell = Shell::new(place.state(), &place.checkout());
    let (mut killed, mut paused) = (0, 0);
    for round in 0..rounds(5) {
        // The first in line is not able to take what it is told of.
        let mut first = wait_for_work(&shell, &founder, &format!("first-{round}"));
        let second = wait_for_work(&shell, &founder, &format!("second-{round}"));
        let is_killed = dice.below(2) == 0;
        signal(first.id(), if is_killed { Signal::KILL } else { Signal::STOP });
        let task = create(&founder);
        let taken = ended(second);
        assert_eq!(taken.code, 0, "seed {seed}, round {round}: {}", taken.err);
        assert_eq!(taken.json()["task"]["id"], task, "seed {seed}, round {round}");
        if is_killed {
            first.wait().expect("it is our child");
            killed += 1;
        } else {
            signal(first.id(), Signal::CONT);
            let next = create(&founder);
            let taken = ended(first);
            assert_eq!(taken.code, 0, "seed {seed}, round {round}: {}", taken.err);
            assert_eq!(taken.json()["task"]["id"], next, "it was told of one that is gone, and waited on");
            paused += 1;
        }
    }
    eprintln!("no task was swallowed; killed {killed} times, paused {paused}");
}

#[test]
fn waiters_go_on_waiting_however_often_the_daemon_ends() {
    let place = Place::new();
    let mut daemon = place.daemon();
    let founder = Agent::open(starting_client(place.state()), "founder");
    create_project(&founder);
    let shell = Shell::new(place.state(), &place.checkout());
    let waiter = wait_for_work(&shell, &founder, "ada");
    daemon.kill();
    for round in 0..8 {
        waiting::until("it waits in the next daemon", || waiters(&founder) == 1);
        let pid = found_in(place.state()).expect("it answered just now");
        signal(pid, if round % 2 == 0 { Signal::TERM } else { Signal::KILL });
        waiting::until("it has ended", || has_ended(pid));
    }
    let task = create(&founder);
    let taken = ended(waiter);
    assert_eq!((taken.code, &taken.json()["task"]["id"]), (0, &Value::String(task)), "{}", taken.err);
}
