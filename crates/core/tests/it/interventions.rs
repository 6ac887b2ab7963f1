//! What an operator does to a task is told to everybody whom it concerns, with the reason.

use serde_json::json;
use tenure_core::model::refusal::Code;

use crate::world::{World, from};

#[test]
fn who_lost_a_task_to_an_operator_and_who_claims_it_next_hear_whose_decision_it_was() {
    let (mut world, ada) = World::with_project();
    world.by(None, "first", &from(json!({ "name": "olga" }), "account.bootstrap")).expect("made");
    world.task(&ada, &json!({ "title": "t" }));
    let lost = world.claim(&ada, Some("p-1")).expect("claimed");
    let release =
        from(json!({ "task": "p-1", "reason": "the board is needed elsewhere" }), "task.force-release");
    world.by(Some("olga"), "x", &release).expect("released");

    let heartbeat = from(json!({ "task": "p-1" }), "heartbeat");
    let refusal = world.fenced(&ada, &lost.attempt, heartbeat).expect_err("it is over");
    assert_eq!(refusal.code, Code::Superseded);
    assert!(refusal.next_actions.iter().any(|next| next.contains("`tenure history p-1`")), "{refusal:?}");

    let bob = world.agent("bob");
    let history = world.ok(&bob, from(json!({ "task": "p-1" }), "history"));
    let entry = &history["entries"][0];
    assert_eq!(
        (&entry["kind"], &entry["principal"], &entry["text"], &entry["attempt"]),
        (&json!("intervention"), &json!("olga"), &json!("the board is needed elsewhere"), &json!("p-1@1"))
    );
    let claimed = world.claim(&bob, Some("p-1")).expect("claimed");
    assert_eq!(claimed.intervention.as_deref(), Some("olga: the board is needed elsewhere"));
    assert_eq!(claimed.handoff, None);

    // Said later than that, a handoff is what counts.
    world
        .fenced(&bob, &claimed.attempt, from(json!({ "task": "p-1", "text": "half of it" }), "handoff"))
        .expect("over");
    let claimed = world.claim(&ada, Some("p-1")).expect("claimed");
    assert_eq!((claimed.handoff.as_deref(), claimed.intervention), (Some("half of it"), None));
}

#[test]
fn a_task_that_was_reopened_tells_its_next_holder_why() {
    let (mut world, ada) = World::with_project();
    world.by(None, "first", &from(json!({ "name": "olga" }), "account.bootstrap")).expect("made");
    world.task(&ada, &json!({ "title": "t" }));
    let held = world.claim(&ada, Some("p-1")).expect("claimed");
    world
        .fenced(&ada, &held.attempt, from(json!({ "task": "p-1", "note": "done" }), "close"))
        .expect("closed");
    let reopen = from(json!({ "task": "p-1", "reason": "it broke" }), "task.reopen");
    world.by(Some("olga"), "x", &reopen).expect("reopened");
    let claimed = world.claim(&ada, Some("p-1")).expect("claimed");
    assert_eq!(claimed.intervention.as_deref(), Some("olga: it broke"));
}
