//! What a session gets when it names no task: the same that `next` tells, and never what cannot be gone on with.

use serde_json::{Value, json};
use tenure_core::model::refusal::Code;

use crate::world::{Agent, World, from};

const LEASE_MS: i64 = 600_000;

fn next(world: &mut World, agent: &Agent, project: &str) -> Value {
    world.ok(agent, from(json!({ "project": project }), "next"))
}

fn claim_next(project: &str) -> tenure_core::operation::catalog::AnyOperation {
    from(json!({ "projects": [project] }), "claim")
}

#[test]
fn urgent_recovery_comes_before_other_fresh_work_and_after_fresh_work_as_urgent() {
    let (mut world, a) = World::with_project();
    for priority in [1, 2] {
        world.task(&a, &json!({ "priority": priority }));
    }
    world.claim(&a, Some("p-1")).expect("free");
    world.pass(LEASE_MS);
    let b = world.agent("b");
    assert_eq!(next(&mut world, &b, "p")["task"], "p-1", "priority 1 before priority 2");
    world.task(&a, &json!({ "priority": 1 }));
    let mut order = Vec::new();
    for _ in 0..3 {
        let session = world.agent(&format!("s{}", order.len()));
        let told = next(&mut world, &session, "p");
        let claimed = world.ok(&session, claim_next("p"));
        assert_eq!(told["task"], claimed["task"]["id"], "next tells what a claim takes");
        order.push(format!("{} {}", claimed["task"]["id"], claimed["mode"]).replace('"', ""));
    }
    assert_eq!(order, ["p-3 fresh", "p-1 recovery", "p-2 fresh"]);
}

#[test]
fn recovery_is_left_to_others_on_request() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    world.claim(&a, Some("p-1")).expect("free");
    world.pass(LEASE_MS);
    let claim = from(json!({ "projects": ["p"], "no_recovery": true }), "claim");
    let refusal = world.try_as(&a, claim).expect_err("only recovery is left");
    assert_eq!(refusal.code, Code::NothingEligible);
    assert!(!refusal.steps()[0].contains("tenure claim"), "{:?}", refusal.steps());
}

#[test]
fn expired_work_that_became_blocked_waits_and_is_explained_to_the_leaf() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    world.task(&a, &json!({}));
    let b = world.agent("b");
    let other = world.claim(&b, Some("p-2")).expect("free");
    world.claim(&a, Some("p-1")).expect("free");
    world.ok(&a, from(json!({ "task": "p-1", "on": "p-2" }), "dependency.add"));
    world.pass(LEASE_MS - 1);
    world.fenced(&b, &other.attempt, from(json!({ "task": "p-2" }), "heartbeat")).expect("alive");
    world.pass(1);
    let explained = world.ok(&a, from(json!({ "task": "p-1" }), "explain"));
    assert_eq!(explained["status"], "recovery");
    assert_eq!(explained["chain"][1]["task"], "p-2");
    assert!(explained["reason"].as_str().expect("text").starts_with("p-2 is held by b"));
    let refusal = world.claim(&a, Some("p-1")).expect_err("p-2 is open");
    assert_eq!((refusal.code, &refusal.facts["status"]), (Code::NotReady, &json!("recovery")));
    let refusal = world.try_as(&a, claim_next("p")).expect_err("p-2 is open");
    assert_eq!(refusal.code, Code::NothingEligible);
    assert_eq!(next(&mut world, &a, "p")["task"], Value::Null);
    world.fenced(&b, &other.attempt, from(json!({ "task": "p-2" }), "close")).expect("closed");
    let taken = world.ok(&a, claim_next("p"));
    assert_eq!((&taken["task"]["id"], &taken["mode"]), (&json!("p-1"), &json!("recovery")));
}

#[test]
fn next_sends_nobody_to_a_claim_that_would_be_refused() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "key": "m", "policy": { "recovery": "manual" } }), "project.create"));
    world.ok(&a, from(json!({ "project": "m", "title": "work" }), "task.create"));
    world.claim(&a, Some("m-1")).expect("free");
    world.pass(LEASE_MS);
    let told = next(&mut world, &a, "m");
    assert_eq!((&told["task"], &told["reasons"]), (&Value::Null, &json!({ "recovery": 1 })));
    let explained = world.ok(&a, from(json!({ "task": "m-1" }), "explain"));
    assert!(explained["next"].as_str().expect("text").contains("operator"));

    world.ok(&a, from(json!({ "key": "l", "policy": { "attempts_max": 1 } }), "project.create"));
    for _ in 0..2 {
        world.ok(&a, from(json!({ "project": "l", "title": "work" }), "task.create"));
    }
    world.claim(&a, Some("l-1")).expect("free");
    let b = world.agent("b");
    let told = next(&mut world, &b, "l");
    assert_eq!(told["task"], Value::Null);
    assert!(told["do_now"].as_str().expect("text").contains("limit"), "{told}");
    world.pass(LEASE_MS);
    world.claim(&b, Some("l-2")).expect("what has expired does not count");
}

#[test]
fn a_claim_without_a_name_gives_back_what_was_claimed_first() {
    let (mut world, a) = World::with_project();
    for _ in 0..3 {
        world.task(&a, &json!({}));
    }
    for task in ["p-3", "p-1", "p-2"] {
        world.claim(&a, Some(task)).expect("free");
        world.pass(1);
    }
    let back = world.ok(&a, claim_next("p"));
    assert_eq!((&back["task"]["id"], &back["resumed"]), (&json!("p-3"), &json!(true)));
    let told = next(&mut world, &a, "p");
    assert_eq!((&told["task"], &told["holds"]), (&json!("p-3"), &json!(["p-3@1", "p-1@1", "p-2@1"])));
}

#[test]
fn a_deferral_whose_date_passed_keeps_its_place_when_somebody_ends_it() {
    for ended in ["nobody", "by hand", "in the background"] {
        let (mut world, a) = World::with_project();
        world.task(&a, &json!({}));
        let until = world.now.wall.0 + 1_000;
        world.ok(&a, from(json!({ "task": "p-1", "until": until, "reason": "r" }), "task.defer"));
        world.pass(2_000);
        world.task(&a, &json!({}));
        world.pass(2_000);
        match ended {
            "by hand" => drop(world.ok(&a, from(json!({ "task": "p-1" }), "task.resume"))),
            "in the background" => {
                let recorded = record_overdue(&mut world);
                assert!(recorded.contains("p-1"), "{recorded}");
            }
            _ => {}
        }
        let listed = world.ok(&a, from(json!({ "project": "p" }), "ready"));
        let ids = |place: usize| listed["tasks"][place]["id"].clone();
        assert_eq!([ids(0), ids(1)], ["p-1", "p-2"], "ended: {ended}");
    }
}

#[test]
fn a_task_that_only_passes_through_being_blocked_keeps_its_place() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    world.task(&a, &json!({}));
    world.task(&a, &json!({}));
    world.ok(&a, from(json!({ "task": "p-3", "on": "p-1" }), "dependency.add"));
    world.task(&a, &json!({}));
    world.ok(&a, from(json!({ "task": "p-4", "on": "p-3", "kind": "parent" }), "dependency.add"));
    world.pass(1_000);
    // While the counts go down from p-3, p-4 still holds p-1 back; in the end nobody does, as p-1 is now below p-3.
    world.ok(&a, from(json!({ "task": "p-1", "on": "p-4", "kind": "parent" }), "dependency.add"));
    let order: Vec<Value> = (0..2)
        .map(|_| {
            world.ok(&a, from(json!({ "projects": ["p"], "another": true }), "claim"))["task"]["id"].clone()
        })
        .collect();
    assert_eq!(order, ["p-1", "p-2"]);
}

fn record_overdue(world: &mut World) -> String {
    let record = tenure_core::operation::record::RecordOverdue {}.into();
    let envelope = tenure_core::envelope::Envelope::default();
    world.run(None, envelope, &record).expect("background work is never refused")
}

#[test]
fn that_a_moment_passed_is_no_edit() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    let until = world.now.wall.0 + 1_000;
    world.ok(&a, from(json!({ "task": "p-1", "reason": "r", "until": until }), "task.defer"));
    let edit = from(json!({ "task": "p-1", "revision": 2, "title": "better" }), "task.edit");
    world.pass(2_000);
    record_overdue(&mut world);
    let shown = world.ok(&a, from(json!({ "task": "p-1" }), "task.show"));
    assert_eq!((&shown["task"]["deferred_until"], &shown["task"]["revision"]), (&json!(null), &json!(2)));
    world.ok(&a, edit);
}
