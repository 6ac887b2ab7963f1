//! Cancelling: what becomes of those who wait, who stands in a task's place, and what a holder hears.

use serde_json::{Value, json};
use tenure_core::model::limits::SUCCESSORS_MAX;
use tenure_core::model::refusal::Code;
use tenure_core::model::task::Lifecycle;

use crate::world::{Agent, World, from, with};

#[test]
fn cancelling_asks_what_becomes_of_those_who_wait() {
    let (mut world, a) = World::with_project();
    for blocked_by in [json!([]), json!(["p-1"]), json!(["p-2"])] {
        world.task(&a, &json!({ "blocked_by": blocked_by }));
    }
    assert_eq!(world.refused(&a, cancel("p-1", &json!({}))), Code::DependentsUndecided);
    let kept = world.ok(&a, cancel("p-1", &json!({ "dependents": "keep" })));
    assert_eq!(kept["kept_waiting"], json!(["p-2"]));
    let explained = world.ok(&a, from(json!({ "task": "p-3" }), "explain"));
    assert!(explained["reason"].as_str().expect("text").contains("blocker_cancelled"));
    let also = world.ok(&a, cancel("p-2", &json!({ "dependents": "cancel" })));
    assert_eq!(also["also_cancelled"], json!(["p-3"]));
}

#[test]
fn a_held_task_is_not_cancelled_by_others_but_its_holder_is_asked_to_stop() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    let b = world.agent("b");
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    assert_eq!(world.ok(&b, cancel("p-1", &json!({})))["asked_to_stop"], "a");
    let beat =
        world.fenced(&a, &claimed.attempt, from(json!({ "task": "p-1" }), "heartbeat")).expect("alive");
    assert!(beat.contains(r#""cancel_requested":true"#));
    world.fenced(&a, &claimed.attempt, cancel("p-1", &json!({}))).expect("the holder cancels");
}

/// Three tasks, of which the second waits for the first, and the first is superseded by the third.
fn superseded() -> (World, Agent) {
    let (mut world, a) = World::with_project();
    for blocked_by in [json!([]), json!(["p-1"]), json!([])] {
        world.task(&a, &json!({ "blocked_by": blocked_by }));
    }
    world.ok(&a, cancel("p-1", &json!({ "resolution": "superseded", "successor": "p-3" })));
    (world, a)
}

fn cancel(task: &str, more: &Value) -> tenure_core::operation::catalog::AnyOperation {
    from(with(&json!({ "task": task, "revision": 1, "reason": "r" }), more), "task.cancel")
}

#[test]
fn who_waits_for_what_a_task_replaced_waits_for_the_task() {
    let (mut world, a) = superseded();
    assert_eq!(world.refused(&a, cancel("p-3", &json!({}))), Code::DependentsUndecided);
    let released = world.ok(&a, cancel("p-3", &json!({ "dependents": "release" })));
    assert_eq!(released["released"], json!(["p-2"]));
    world.claim(&a, Some("p-2")).expect("it waits for nothing any more");

    let (mut world, a) = superseded();
    let also = world.ok(&a, cancel("p-3", &json!({ "dependents": "cancel" })));
    assert_eq!(also["also_cancelled"], json!(["p-2"]));

    let (mut world, a) = superseded();
    world.task(&a, &json!({ "blocked_by": ["p-2"] }));
    let round = cancel("p-3", &json!({ "resolution": "superseded", "successor": "p-4" }));
    assert_eq!(world.refused(&a, round), Code::DependencyCycle);
}

#[test]
fn a_successor_that_was_cancelled_leaves_those_who_wait_undecided() {
    let (mut world, a) = World::with_project();
    for blocked_by in [json!([]), json!(["p-1"]), json!([])] {
        world.task(&a, &json!({ "blocked_by": blocked_by }));
    }
    world.ok(&a, cancel("p-3", &json!({ "resolution": "rejected" })));
    let duplicate = json!({ "resolution": "duplicate", "successor": "p-3" });
    assert_eq!(world.refused(&a, cancel("p-1", &duplicate)), Code::DependentsUndecided);
    let kept = json!({ "resolution": "duplicate", "successor": "p-3", "dependents": "keep" });
    assert_eq!(world.ok(&a, cancel("p-1", &kept))["kept_waiting"], json!(["p-2"]));
}

#[test]
fn an_edge_that_carries_a_successor_stays() {
    let (mut world, a) = superseded();
    let edge = json!({ "task": "p-3", "on": "p-1", "kind": "supersedes" });
    assert_eq!(world.refused(&a, from(edge, "dependency.remove")), Code::StateConflict);
    let claimed = world.claim(&a, Some("p-3")).expect("free");
    let closed = world.fenced(&a, &claimed.attempt, from(json!({ "task": "p-3" }), "close")).expect("closed");
    let closed: Value = serde_json::from_str(&closed).expect("JSON");
    assert_eq!(closed["freed"], json!(["p-2"]));
}

#[test]
fn a_resolution_and_its_successor_fit_each_other() {
    let (mut world, a) = World::with_project();
    for _ in 0..2 {
        world.task(&a, &json!({}));
    }
    for (more, code) in [
        (json!({ "resolution": "done" }), Code::InvalidInput),
        (json!({ "resolution": "duplicate" }), Code::InvalidInput),
        (json!({ "successor": "p-2" }), Code::InvalidInput),
        (json!({ "resolution": "duplicate", "successor": "p-1" }), Code::DependencyCycle),
        (json!({ "resolution": "superseded", "successor": "p-9" }), Code::NotFound),
        (json!({ "revision": 7 }), Code::RevisionConflict),
    ] {
        assert_eq!(world.refused(&a, cancel("p-1", &more)), code, "{more}");
    }
}

/// Tasks of which each can be cancelled because the next one stands in its place.
fn row_of(tasks: usize) -> (World, Agent) {
    let (mut world, a) = World::with_project();
    (0..tasks).for_each(|_| drop(world.task(&a, &json!({}))));
    (world, a)
}

fn supersede(number: usize) -> tenure_core::operation::catalog::AnyOperation {
    let successor = format!("p-{}", number + 1);
    cancel(&format!("p-{number}"), &json!({ "resolution": "superseded", "successor": successor }))
}

#[test]
fn a_chain_of_successors_that_is_too_long_cannot_be_made() {
    let (mut world, a) = row_of(SUCCESSORS_MAX + 1);
    (1..SUCCESSORS_MAX).for_each(|number| drop(world.ok(&a, supersede(number))));
    let grows_behind = world.try_as(&a, supersede(SUCCESSORS_MAX)).expect_err("101 tasks");
    let (mut world, a) = row_of(SUCCESSORS_MAX + 1);
    (2..=SUCCESSORS_MAX).rev().for_each(|number| drop(world.ok(&a, supersede(number))));
    let grows_ahead = world.try_as(&a, supersede(1)).expect_err("101 tasks");
    for (refusal, remedy) in [(grows_behind, "cancel it without a successor"), (grows_ahead, "p-101")] {
        assert_eq!((refusal.code, &refusal.facts["field"]), (Code::InvalidInput, &json!("successor")));
        assert!(
            refusal.detail.contains("101 tasks") && refusal.detail.contains("limit is 100"),
            "{refusal:?}"
        );
        assert!(refusal.steps()[0].contains(remedy), "{refusal:?}");
    }
}

#[test]
fn who_waits_for_the_beginning_of_a_chain_waits_for_its_end_however_long_it_is() {
    let (mut world, a) = row_of(2 * SUCCESSORS_MAX);
    for number in 1..2 * SUCCESSORS_MAX {
        // As if it had been stored when nobody counted.
        let of = |number: usize| format!("p-{number}").parse().expect("an id");
        let mut task = world.set.tasks.get(&of(number)).flatten().expect("it is there").clone();
        task.lifecycle = Lifecycle::Cancelled;
        task.successor = Some(of(number + 1));
        world.set.tasks.put(task);
    }
    world.set.tasks.keep();
    let waiting = world.task(&a, &json!({ "blocked_by": ["p-1"] }));
    assert_eq!(waiting["task"]["status"], "blocked");
    let explained = world.ok(&a, from(json!({ "task": waiting["task"]["id"] }), "explain"));
    assert_eq!(explained["chain"][1]["task"], format!("p-{}", 2 * SUCCESSORS_MAX));
}

/// What is to be done about a task, and the edge that is to be removed, if that is it.
fn advice(world: &mut World, agent: &Agent, task: &str) -> (String, Option<(String, String)>) {
    let explained = world.ok(agent, from(json!({ "task": task }), "explain"));
    let words = explained["next"].as_str().expect("text").replace('`', "");
    let edge = words.split_once("tenure dependency remove ").and_then(|(_, edge)| edge.split_once(' '));
    let edge = edge.map(|(task, on)| (task.to_owned(), on.to_owned()));
    (explained["reason"].as_str().expect("text").to_owned(), edge)
}

/// Follows the advice for a task, which must lead to a task that can be claimed.
fn follow(world: &mut World, agent: &Agent, task: &str) {
    let (reason, edge) = advice(world, agent, task);
    assert!(reason.contains("blocker_cancelled"), "{reason}");
    let (from_task, on) = edge.unwrap_or_else(|| panic!("no edge to remove: {reason}"));
    world.ok(agent, from(json!({ "task": from_task, "on": on }), "dependency.remove"));
    world.claim(agent, Some(task)).expect("it waits for nothing any more");
}

#[test]
fn who_waits_for_a_cancelled_task_is_told_the_very_edge_to_let_go_of() {
    // The task that was named was superseded by one that was cancelled in its turn.
    let (mut world, a) = superseded();
    world.ok(&a, cancel("p-3", &json!({ "dependents": "keep" })));
    follow(&mut world, &a, "p-2");
    // It is the parent that waits.
    let (mut world, a) = World::with_project();
    for more in [json!({}), json!({ "blocked_by": ["p-1"] }), json!({ "parents": ["p-2"] })] {
        world.task(&a, &more);
    }
    world.ok(&a, cancel("p-1", &json!({ "dependents": "keep" })));
    follow(&mut world, &a, "p-3");
}

#[test]
fn a_cancelled_task_that_was_put_away_is_still_told_to_be_in_the_way() {
    let (mut world, a) = World::with_project();
    for blocked_by in [json!([]), json!(["p-1"])] {
        world.task(&a, &json!({ "blocked_by": blocked_by }));
    }
    world.ok(&a, cancel("p-1", &json!({ "dependents": "keep" })));
    world.ok(&a, from(json!({ "task": "p-1" }), "task.archive"));
    assert!(advice(&mut world, &a, "p-1").0.contains("is over (cancelled)"));
    follow(&mut world, &a, "p-2");
}
