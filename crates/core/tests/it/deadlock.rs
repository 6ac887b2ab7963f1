//! A chain that is long enough to need many loads is still walked once.

use serde_json::json;
use tenure_core::model::refusal::Code;

use crate::world::{World, from};

#[test]
fn a_long_chain_cannot_be_closed_to_a_circle() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "project": "p", "title": "1" }), "task.create"));
    for number in 2..=300 {
        let blocked_by = [format!("p-{}", number - 1)];
        let create = json!({ "project": "p", "title": number.to_string(), "blocked_by": blocked_by });
        world.ok(&a, from(create, "task.create"));
    }
    let add = from(json!({ "task": "p-1", "on": "p-300" }), "dependency.add");
    let refusal = world.try_as(&a, add).expect_err("a circle");
    assert_eq!(refusal.code, Code::DependencyCycle);
    assert_eq!(refusal.facts["edges"].as_array().map(Vec::len), Some(299));
}

#[test]
fn a_successor_that_would_wait_for_itself_is_refused() {
    let (mut world, a) = World::with_project();
    for (title, blocked_by) in [("old", json!([])), ("waits", json!(["p-1"])), ("new", json!(["p-2"]))] {
        world
            .ok(&a, from(json!({ "project": "p", "title": title, "blocked_by": blocked_by }), "task.create"));
    }
    let cancel = json!({ "task": "p-1", "revision": 1, "reason": "r", "resolution": "superseded", "successor": "p-3" });
    assert_eq!(world.refused(&a, from(cancel, "task.cancel")), Code::DependencyCycle);
}
