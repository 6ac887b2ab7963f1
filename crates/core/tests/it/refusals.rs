//! Bad input is refused by name and changes nothing.

use serde_json::{Value, json};
use tenure_core::model::refusal::Code;
use tenure_core::operation::catalog::entries;

use crate::world::{World, from};

#[test]
fn every_field_has_a_limit_and_a_clear_error() {
    let (mut world, a) = World::with_project();
    let create = |field: &str, value: Value| {
        let mut input = json!({ "project": "p", "title": "t" });
        input[field] = value;
        from(input, "task.create")
    };
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    for (field, value) in [
        ("title", json!("")),
        ("title", json!("x".repeat(501))),
        ("title", json!("two\nlines")),
        ("title", json!("\u{200b}\u{feff}")),
        ("description", json!("x".repeat(64 * 1024 + 1))),
        ("labels", json!(many)),
        ("labels", json!(["a\u{1b}b"])),
        ("criteria", json!([" "])),
        ("aliases", json!(["x".repeat(1025)])),
        ("aliases", json!(["p-7"])),
        ("source", json!("a\nb")),
    ] {
        let refusal = world.try_as(&a, create(field, value.clone())).expect_err(field);
        assert_eq!(refusal.code, Code::InvalidInput, "{field}");
        assert!(refusal.detail.contains(field), "{}", refusal.detail);
        assert!(!refusal.next_actions.is_empty(), "{field}");
    }
    assert_eq!(world.set.tasks.rows().count(), 0);
}

#[test]
fn an_unknown_or_malformed_field_is_refused_when_it_is_read() {
    for entry in entries() {
        let refusal = (entry.read)(json!({ "no_such_field": 1 })).expect_err(entry.spec.name);
        assert_eq!(refusal.code, Code::InvalidInput, "{}", entry.spec.name);
    }
    let read = |input: Value| {
        let all = entries();
        let entry = all.iter().find(|entry| entry.spec.name == "task.create").expect("it is there");
        (entry.read)(input).err().map(|refusal| refusal.detail)
    };
    let error = read(json!({ "project": "p", "title": "t", "priority": 5 })).expect("refused");
    assert!(error.contains("5 is not a priority"), "{error}");
    let error = read(json!({ "project": "P", "title": "t" })).expect("refused");
    assert!(error.contains("project key"), "{error}");
}

#[test]
fn records_that_are_not_there_or_not_ready_say_so() {
    let (mut world, a) = World::with_project();
    for (operation, input, code) in [
        ("task.show", json!({ "task": "p-1" }), Code::NotFound),
        ("project.show", json!({ "project": "q" }), Code::NotFound),
        ("claim", json!({ "task": "p-1" }), Code::NotFound),
        ("claim", json!({}), Code::AmbiguousProject),
        ("claim", json!({ "task": "p-1", "projects": ["q"] }), Code::AmbiguousProject),
        ("claim", json!({ "projects": ["p"] }), Code::NothingEligible),
        ("project.create", json!({ "key": "p" }), Code::AlreadyExists),
        ("project.create", json!({ "key": "r", "policy": { "workflow": "reviewed" } }), Code::NotYetBuilt),
        ("project.create", json!({ "key": "r", "policy": { "lease_ms": 1 } }), Code::InvalidInput),
        ("project.edit", json!({ "project": "p", "revision": 7, "name": "n" }), Code::RevisionConflict),
        ("project.resolve", json!({ "repositories": ["r"] }), Code::NotFound),
        ("events", json!({ "after": "2-0" }), Code::EpochChanged),
        ("ready", json!({ "project": "p", "cursor": "x" }), Code::InvalidInput),
        ("ready", json!({ "project": "p", "limit": 1001 }), Code::InvalidInput),
    ] {
        assert_eq!(world.refused(&a, from(input, operation)), code, "{operation}");
    }
    world.ok(
        &a,
        from(json!({ "project": "p", "title": "t", "planned": true, "aliases": ["x"] }), "task.create"),
    );
    for (operation, input, code) in [
        ("task.create", json!({ "project": "p", "title": "t", "aliases": ["x"] }), Code::AlreadyExists),
        ("claim", json!({ "task": "p-1" }), Code::NotReady),
        ("task.resume", json!({ "task": "p-1" }), Code::StateConflict),
        ("task.archive", json!({ "task": "p-1" }), Code::StateConflict),
        ("task.edit", json!({ "task": "p-1", "revision": 9, "title": "n" }), Code::RevisionConflict),
        ("dependency.add", json!({ "task": "p-1", "on": "p-1" }), Code::DependencyCycle),
        ("dependency.remove", json!({ "task": "p-1", "on": "p-1" }), Code::NotFound),
        ("heartbeat", json!({ "task": "p-1" }), Code::NotHolder),
    ] {
        assert_eq!(world.refused(&a, from(input, operation)), code, "{operation}");
    }
}

#[test]
fn a_deferral_ends_at_a_moment_that_is_still_to_come_and_can_be_named() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    let defer = |until: i64| from(json!({ "task": "p-1", "until": until, "reason": "r" }), "task.defer");
    let now = world.now.wall.0;
    for until in [i64::MIN, -1, 0, now - 1, now, 253_402_300_800_000, i64::MAX] {
        assert_eq!(world.refused(&a, defer(until)), Code::InvalidInput, "{until}");
    }
    for until in [now + 1, 253_402_300_799_999] {
        assert_eq!(world.ok(&a, defer(until))["task"]["status"], "deferred", "{until}");
    }
}

#[test]
fn likely_duplicates_are_told_once_and_block_nothing() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({ "title": "Fix the parser", "aliases": ["owner/repo#1"] }));
    world.task(&a, &json!({ "title": "???" }));
    let told = |world: &mut World, more: Value| world.task(&a, &more)["likely_duplicates"].clone();
    let both =
        json!({ "title": "fix: the PARSER", "references": ["owner/repo#1"], "source": "owner/repo#1" });
    assert_eq!(told(&mut world, both), json!(["p-1"]));
    assert_eq!(told(&mut world, json!({ "title": "else", "source": "owner/repo#1" })), json!(["p-1"]));
    assert_eq!(told(&mut world, json!({ "title": "!!!" })), Value::Null, "not like ???");
    assert_eq!(told(&mut world, json!({ "title": "???" })), json!(["p-2"]));
}
