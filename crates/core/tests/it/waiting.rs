//! Waiting: what is there is told at once, what is not is refused with the reason, and only what can pass is worth
//! waiting for.

use serde_json::{Value, json};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::rules::patience::{Patience, Topic};
use tenure_core::working_set::News;

use crate::world::{Agent, World, from};

const LEASE_MS: i64 = 600_000;

fn wait(world: &mut World, agent: &Agent, input: &Value) -> Result<Value, Refusal> {
    let answer = world.try_as(agent, from(input.clone(), "wait"))?;
    Ok(serde_json::from_str(&answer).expect("an answer is JSON"))
}

/// The task that a wait tells of, or the code and the words of its refusal.
fn told(world: &mut World, agent: &Agent, input: &Value) -> Result<String, (Code, String)> {
    let answer = wait(world, agent, input).map_err(|refusal| (refusal.code, refusal.detail))?;
    Ok(answer["task"]["id"].as_str().expect("a task").to_owned())
}

#[test]
fn a_wait_for_work_tells_what_a_claim_would_take_and_takes_nothing() {
    let (mut world, a) = World::with_project();
    let work = json!({ "projects": ["p"] });
    let refusal = wait(&mut world, &a, &work).expect_err("nothing is there");
    assert_eq!(refusal.code, Code::NothingEligible);
    assert!(Patience::is_worth_it(&refusal));
    world.task(&a, &json!({ "requires": ["gpu"] }));
    assert_eq!(wait(&mut world, &a, &work).expect_err("not for this one").code, Code::NothingEligible);
    world.task(&a, &json!({}));
    for _ in 0..2 {
        assert_eq!(told(&mut world, &a, &work), Ok("p-2".to_owned()));
    }
    let b = world.agent("b");
    world.claim(&b, Some("p-2")).expect("nothing was reserved");
    assert_eq!(wait(&mut world, &a, &work).expect_err("taken").code, Code::NothingEligible);
    world.pass(LEASE_MS);
    assert_eq!(told(&mut world, &a, &work), Ok("p-2".to_owned()), "what expired is work too");
    let fresh = json!({ "projects": ["p"], "no_recovery": true });
    let refusal = wait(&mut world, &a, &fresh).expect_err("that claim would take nothing");
    assert_eq!(refusal.code, Code::NothingEligible);
}

#[test]
fn a_wait_at_a_limit_goes_on_until_there_is_room() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "key": "l", "policy": { "attempts_max": 1 } }), "project.create"));
    for _ in 0..2 {
        world.ok(&a, from(json!({ "project": "l", "title": "work" }), "task.create"));
    }
    let held = world.claim(&a, Some("l-1")).expect("free").attempt;
    let b = world.agent("b");
    for input in [json!({ "projects": ["l"] }), json!({ "task": "l-2", "until": "ready" })] {
        let (code, detail) = told(&mut world, &b, &input).expect_err("the limit is reached");
        assert_eq!(code, Code::NotYet);
        assert!(detail.contains("its limit"), "{detail}");
    }
    world.fenced(&a, &held, from(json!({ "task": "l-1" }), "close")).expect("closed");
    assert!(News::of(&world.set).freed[&"l".parse().expect("a key")] > 0, "the end of an attempt makes room");
    assert_eq!(told(&mut world, &b, &json!({ "projects": ["l"] })), Ok("l-2".to_owned()));
}

#[test]
fn a_task_is_waited_for_until_it_is_finished_or_ready_or_changed() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    world.task(&a, &json!({ "blocked_by": ["p-1"] }));
    let b = world.agent("b");
    let held = world.claim(&a, Some("p-1")).expect("free").attempt;
    let since = format!("1-{}", world.set.fleet.event);
    let finished = json!({ "task": "p-1" });
    let ready = json!({ "task": "p-2", "until": "ready" });
    let changed = json!({ "task": "p-1", "until": "changed", "after": since });
    for input in [&finished, &ready, &changed] {
        assert_eq!(told(&mut world, &b, input).expect_err("not yet").0, Code::NotYet, "{input}");
    }
    world.fenced(&a, &held, from(json!({ "task": "p-1", "text": "t" }), "note")).expect("noted");
    assert_eq!(told(&mut world, &b, &changed), Ok("p-1".to_owned()));
    assert_eq!(told(&mut world, &b, &finished).expect_err("not yet").0, Code::NotYet);
    world.fenced(&a, &held, from(json!({ "task": "p-1" }), "close")).expect("closed");
    assert_eq!(told(&mut world, &b, &finished), Ok("p-1".to_owned()));
    assert_eq!(told(&mut world, &b, &ready), Ok("p-2".to_owned()));
    let touched = News::of(&world.set).touched;
    assert!(touched.contains(&"p-2".parse().expect("an id")), "what became ready was touched: {touched:?}");
    world.claim(&b, Some("p-2")).expect("free");
    let answer = wait(&mut world, &b, &ready).expect("it holds it");
    assert_eq!(answer["next"], "go on with it: this session holds it");
}

#[test]
fn what_cannot_come_is_not_waited_for() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    world.ok(&a, from(json!({ "task": "p-1", "revision": 1 }), "close"));
    let over = wait(&mut world, &a, &json!({ "task": "p-1", "until": "ready" })).expect_err("it is over");
    let claimed = world.claim(&a, Some("p-1")).expect_err("it is over");
    let unknown = wait(&mut world, &a, &json!({ "task": "p-9" })).expect_err("there is none");
    world.task(&a, &json!({ "kind": "objective" }));
    let objective =
        wait(&mut world, &a, &json!({ "task": "p-2", "until": "ready" })).expect_err("it is closed");
    let claimed_objective = world.claim(&a, Some("p-2")).expect_err("it is closed");
    let manual = json!({ "key": "m", "policy": { "recovery": "manual" } });
    world.ok(&a, from(manual, "project.create"));
    world.ok(&a, from(json!({ "project": "m", "title": "work" }), "task.create"));
    world.claim(&a, Some("m-1")).expect("free");
    world.pass(LEASE_MS);
    let by_hand =
        wait(&mut world, &a, &json!({ "task": "m-1", "until": "ready" })).expect_err("an operator's");
    assert_eq!(by_hand.code, Code::ManualRecovery);
    for refusal in [over, claimed, unknown, objective, claimed_objective, by_hand] {
        assert!(!Patience::is_worth_it(&refusal), "{refusal:?}");
    }
}

#[test]
fn a_wait_says_which_of_its_fields_is_wrong() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    for (input, field) in [
        (json!({ "projects": ["p"], "wait_ms": 60_001 }), "wait_ms"),
        (json!({ "projects": ["p"], "wait_ms": -1 }), "wait_ms"),
        (json!({ "projects": ["p"], "until": "ready" }), "until"),
        (json!({ "task": "p-1", "until": "changed" }), "after"),
        (json!({ "task": "p-1", "after": "1-1" }), "after"),
    ] {
        let refusal = wait(&mut world, &a, &input).expect_err("wrong");
        assert_eq!(refusal.code, Code::InvalidInput, "{input}");
        assert_eq!(refusal.facts["field"], field, "{input}");
        assert!(!Patience::is_worth_it(&refusal));
    }
    let claim = from(json!({ "projects": ["p"], "wait_ms": 60_001 }), "claim");
    assert_eq!(world.refused(&a, claim), Code::InvalidInput);
}

#[test]
fn one_task_is_freed_once_whatever_else_changed_with_it() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    let held = world.claim(&a, Some("p-1")).expect("free").attempt;
    let key = "p".parse().expect("a key");
    let freed = |world: &World| News::of(&world.set).freed.get(&key).copied();
    assert_eq!(freed(&world), None, "what is held is not free, and a new task changes no policy");
    world.fenced(&a, &held, from(json!({ "task": "p-1" }), "release")).expect("released");
    assert_eq!(freed(&world), Some(1), "its attempt ended and it is ready: one task");
}

#[test]
fn patience_is_for_a_task_or_for_work_and_within_the_limit() {
    let task = "p-1".parse().expect("an id");
    let projects = ["p".parse().expect("a key")];
    let topic = |wait_ms, task| Patience::new(wait_ms, task, &projects).map(|patience| patience.topic);
    assert_eq!(topic(Some(60_000), None), Some(Topic::Work(projects.to_vec())));
    assert_eq!(topic(Some(1), Some(&task)), Some(Topic::Task(task.clone())));
    for none in [None, Some(0), Some(-1), Some(60_001)] {
        assert_eq!(topic(none, None), None, "{none:?}");
    }
}
