//! What people set of a project's policy, and what they let agents change.

use serde_json::{Value, json};
use tenure_core::model::event::EventKind;
use tenure_core::model::refusal::Code;

use crate::world::{Agent, World, from};

fn edit(world: &mut World, agent: &Agent, revision: u64, part: &Value) -> Result<Value, Code> {
    let input = json!({ "project": "p", "revision": revision, "policy": part });
    let answer = world.try_as(agent, from(input, "project.edit")).map_err(|refusal| refusal.code)?;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    Ok(answer["project"].clone())
}

#[test]
fn agents_change_nothing_of_a_policy_before_somebody_lets_them() {
    let (mut world, agent) = World::with_project();
    for part in [
        json!({ "workflow": "simple" }),
        json!({ "recovery": "manual" }),
        json!({ "lease_ms": 60_000 }),
        json!({ "attempts_max": 1 }),
        json!({ "attempts_per_principal_max": 1 }),
    ] {
        assert_eq!(edit(&mut world, &agent, 1, &part), Err(Code::OperatorRequired), "{part}");
    }
    let named = from(json!({ "project": "p", "revision": 1, "name": "n" }), "project.edit");
    assert_eq!(world.ok(&agent, named)["project"]["revision"], 2, "a name is no policy");
}

#[test]
fn what_they_are_let_change_they_change_and_nothing_besides() {
    let (mut world, agent) = World::with_project();
    world.by(None, "first", &from(json!({ "name": "ada" }), "account.bootstrap")).expect("made");
    let lets = json!({
        "project": "p", "revision": 1, "policy": { "attempts_max": 4 }, "agents_may": ["lease_ms", "recovery", "lease_ms"],
        "reason": "long builds",
    });
    let set = world.by(Some("ada"), "x", &from(lets, "project.policy")).expect("set");
    assert_eq!(
        set["project"]["agents_may"],
        json!(["recovery", "lease_ms"]),
        "each once, in the policy's order"
    );
    let event = &world.set.events.last().expect("recorded").event;
    assert_eq!((event.kind, &event.data["reason"]), (EventKind::PolicySet, &json!("long builds")));
    let lease = json!({ "lease_ms": 60_000 });
    let edited = edit(&mut world, &agent, 2, &lease).expect("let");
    assert_eq!(
        edited["policy"],
        json!({ "workflow": "simple", "recovery": "auto", "lease_ms": 60_000, "attempts_max": 4 })
    );
    let both = json!({ "lease_ms": 90_000, "attempts_max": 5 });
    assert_eq!(edit(&mut world, &agent, 3, &both), Err(Code::OperatorRequired));
    // Who sets another part says nothing of what agents may.
    let more = json!({ "project": "p", "revision": 3, "policy": { "attempts_max": 0 }, "reason": "r" });
    let set = world.by(Some("ada"), "x", &from(more, "project.policy")).expect("set");
    assert_eq!(set["project"]["agents_may"], json!(["recovery", "lease_ms"]));
    let takes = json!({ "project": "p", "revision": 4, "agents_may": [], "reason": "r" });
    world.by(Some("ada"), "x", &from(takes, "project.policy")).expect("set");
    assert_eq!(edit(&mut world, &agent, 5, &lease), Err(Code::OperatorRequired));
}
