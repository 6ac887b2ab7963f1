//! What a holder is told: the most urgent thing first, at a heartbeat, when work comes back, and by `next`.

use serde_json::{Value, json};
use tenure_core::model::ids::AttemptId;
use tenure_core::model::refusal::Code;

use crate::world::{Agent, World, from};

fn holding() -> (World, Agent, AttemptId) {
    let (mut world, a) = World::with_project();
    for _ in 0..2 {
        world.task(&a, &json!({}));
    }
    let attempt = world.claim(&a, Some("p-1")).expect("free").attempt;
    (world, a, attempt)
}

fn beat(world: &mut World, agent: &Agent, attempt: &AttemptId) -> Value {
    let beat = from(json!({ "task": attempt.task }), "heartbeat");
    serde_json::from_str(&world.fenced(agent, attempt, beat).expect("alive")).expect("JSON")
}

/// What the three ways of telling say, which must name the same command.
fn told(world: &mut World, agent: &Agent, attempt: &AttemptId) -> String {
    let next = world.ok(agent, from(json!({ "project": "p" }), "next"));
    let command = next["command"].as_str().expect("a command").to_owned();
    let resumed = world.claim(agent, Some(&attempt.task.to_string())).expect("its own");
    let beat = beat(world, agent, attempt);
    for said in [&resumed.next, beat["next"].as_str().expect("told")] {
        assert!(said.contains(&command), "{said:?} does not name {command:?}");
    }
    command
}

#[test]
fn a_holder_hears_that_its_work_became_blocked() {
    let (mut world, a, attempt) = holding();
    let before = beat(&mut world, &a, &attempt);
    assert_eq!((&before["blocked"], &before["next"]), (&json!(false), &Value::Null));
    world.ok(&a, from(json!({ "task": "p-1", "on": "p-2" }), "dependency.add"));
    assert_eq!(beat(&mut world, &a, &attempt)["blocked"], true);
    assert_eq!(told(&mut world, &a, &attempt), "tenure explain p-1");
    world.ok(&a, from(json!({ "task": "p-1", "on": "p-2" }), "dependency.remove"));
    assert_eq!(beat(&mut world, &a, &attempt)["blocked"], false);
    let raise = json!({ "task": "p-1", "kind": "permission", "reason": "r" });
    world.ok(&a, from(raise, "blocker.raise"));
    assert_eq!(told(&mut world, &a, &attempt), "tenure explain p-1");
    world.fenced(&a, &attempt, from(json!({ "task": "p-1" }), "release")).expect("given back");
    assert_eq!(world.claim(&a, Some("p-1")).expect_err("blocked").code, Code::NotReady);
}

#[test]
fn an_ancestors_blocker_is_told_too() {
    let (mut world, a, attempt) = holding();
    world.task(&a, &json!({ "blocked_by": ["p-2"] }));
    world.ok(&a, from(json!({ "task": "p-1", "on": "p-3", "kind": "parent" }), "dependency.add"));
    assert_eq!(beat(&mut world, &a, &attempt)["blocked"], true);
}

#[test]
fn the_most_urgent_is_told_first() {
    let (mut world, a, attempt) = holding();
    for _ in 0..2 {
        world.pass(450_000);
        beat(&mut world, &a, &attempt);
    }
    assert_eq!(told(&mut world, &a, &attempt), "tenure checkpoint p-1 …");
    world.ok(&a, from(json!({ "task": "p-1", "on": "p-2" }), "dependency.add"));
    assert_eq!(told(&mut world, &a, &attempt), "tenure explain p-1");
    world.ok(&a, from(json!({ "task": "p-1", "revision": 1, "title": "else" }), "task.edit"));
    assert!(told(&mut world, &a, &attempt).starts_with("tenure reconcile p-1 --digest "));
    let b = world.agent("b");
    world.ok(&b, from(json!({ "task": "p-1", "reason": "r" }), "task.cancel"));
    assert_eq!(told(&mut world, &a, &attempt), "tenure release p-1");
}

#[test]
fn who_takes_over_is_reminded_to_say_what_it_decided() {
    let (mut world, a, _) = holding();
    world.pass(600_000);
    let attempt = world.claim(&a, Some("p-1")).expect("taken over").attempt;
    assert_eq!(told(&mut world, &a, &attempt), "tenure dispose p-1 --disposition resume");
}

#[test]
fn notes_and_checkpoints_are_progress_and_a_heartbeat_is_none() {
    for progress in ["note", "checkpoint"] {
        let (mut world, a, attempt) = holding();
        for _ in 0..3 {
            world.pass(450_000);
            beat(&mut world, &a, &attempt);
        }
        assert_eq!(beat(&mut world, &a, &attempt)["progress_overdue"], true);
        let recorded = from(json!({ "task": "p-1", "text": "t" }), progress);
        world.fenced(&a, &attempt, recorded).expect("recorded");
        assert_eq!(beat(&mut world, &a, &attempt)["progress_overdue"], false, "{progress}");
    }
}
