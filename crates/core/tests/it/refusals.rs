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
        ("description", json!("x".repeat(64 * 1024 + 1))),
        ("labels", json!(many)),
        ("labels", json!(["a\u{1b}b"])),
        ("criteria", json!([" "])),
        ("aliases", json!(["x".repeat(1025)])),
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
fn a_name_is_used_by_one_live_session_and_a_conversation_by_its_latest() {
    let mut world = World::new();
    let open = |name: &str, session: u8, conversation: Option<&str>| {
        let mut input = json!({
            "session": format!("{session:032x}"), "name": name, "proof_hash": "0".repeat(64),
        });
        if let Some(conversation) = conversation {
            input["conversation"] = json!(conversation);
        }
        from(input, "session.open")
    };
    let run = |world: &mut World, operation| {
        world.run(None, tenure_core::envelope::Envelope::default(), &operation)
    };
    run(&mut world, open("n", 1, None)).expect("free");
    run(&mut world, open("n", 1, None)).expect("the same again");
    assert_eq!(run(&mut world, open("n", 2, None)).expect_err("live").code, Code::NameInUse);
    assert_eq!(run(&mut world, open("m", 1, None)).expect_err("foreign").code, Code::SessionUnknown);
    world.pass(600_000);
    run(&mut world, open("n", 2, None)).expect("its presence ended");
    assert_eq!(run(&mut world, open("n", 1, None)).expect_err("replaced").code, Code::SessionClosed);
    run(&mut world, open("c", 3, Some("talk"))).expect("free");
    let taken = run(&mut world, open("c", 4, Some("talk"))).expect_err("its conversation is no secret");
    assert_eq!(taken.code, Code::NameInUse);
    assert_eq!(
        run(&mut world, open("d", 4, Some("talk"))).expect_err("nor another name").code,
        Code::NameInUse
    );
}

#[test]
fn a_session_is_replaced_while_it_lives_only_by_who_proves_to_be_it() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "project": "p", "title": "t" }), "task.create"));
    world.ok(&a, from(json!({ "key": "q", "policy": { "lease_ms": 3_600_000 } }), "project.create"));
    world.ok(&a, from(json!({ "project": "q", "title": "t" }), "task.create"));
    world.claim(&a, Some("q-1")).expect("ready");
    let open = |session: u8| {
        let input =
            json!({ "session": format!("{session:032x}"), "name": "a", "proof_hash": "0".repeat(64) });
        from(input, "session.open")
    };
    // Silent for longer than its presence, but its lease lives.
    world.pass(1_200_000);
    let anybody = tenure_core::envelope::Envelope::default();
    assert_eq!(world.run(None, anybody.clone(), &open(77)).expect_err("live").code, Code::NameInUse);
    let mut wrong = world.envelope(&a);
    wrong.caller.as_mut().expect("a caller").proof = world.agent("b").secret.session_proof();
    assert_eq!(world.run(None, wrong, &open(77)).expect_err("not it").code, Code::NameInUse);
    let itself = world.envelope(&a);
    world.run(None, itself, &open(77)).expect("proven");
    assert!(!world.set.sessions.get(&a.session).flatten().expect("it is there").open);
}
