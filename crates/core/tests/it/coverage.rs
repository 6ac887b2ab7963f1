//! Nothing is declared that does not happen: every refusal that an operation names has a case here, and every kind of
//! event is recorded by some operation.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::{AttemptId, Digest};
use tenure_core::model::refusal::Code;
use tenure_core::operation::account::RecordAuthentications;
use tenure_core::operation::catalog::entries;
use tenure_core::operation::record::RecordOverdue;

use crate::world::{Agent, World, from};

const LEASE_MS: i64 = 600_000;

/// A world in which everything that can be refused is refused for one reason each. `a` holds `p-8`.
fn prepared() -> (World, Agent, AttemptId) {
    let (mut world, a) = World::with_project();
    let b = world.agent("b");
    for (key, policy) in
        [("q", json!({})), ("m", json!({ "recovery": "manual" })), ("l", json!({ "attempts_max": 1 }))]
    {
        world.ok(&a, from(json!({ "key": key, "policy": policy }), "project.create"));
    }
    let lets = json!({ "project": "q", "revision": 1, "agents_may": ["workflow"], "reason": "r" });
    world.ok(&a, from(lets, "project.policy"));
    for project in ["m", "l", "l"] {
        world.ok(&a, from(json!({ "project": project, "title": "work" }), "task.create"));
    }
    world.claim(&b, Some("m-1")).expect("free");
    world.pass(LEASE_MS);
    world.claim(&b, Some("l-1")).expect("free");
    for more in [
        json!({ "aliases": ["x"] }),
        json!({}),
        json!({}),
        json!({}),
        json!({ "kind": "objective" }),
        json!({ "blocked_by": ["p-1"], "parents": ["p-5"] }),
        json!({}),
        json!({}),
        json!({}),
    ] {
        world.task(&a, &more);
    }
    world.claim(&b, Some("p-2")).expect("free");
    for (task, operation) in [("p-3", "close"), ("p-4", "close")] {
        world.ok(&a, from(json!({ "task": task, "revision": 1 }), operation));
    }
    world.ok(&a, from(json!({ "task": "p-4" }), "task.archive"));
    let handed = world.claim(&a, Some("p-7")).expect("free");
    let handoff = from(json!({ "task": "p-7", "text": "t", "to": "b" }), "handoff");
    world.fenced(&a, &handed.attempt, handoff).expect("handed off");
    let raised = json!({ "task": "p-9", "kind": "permission", "reason": "r" });
    world.ok(&a, from(raised, "blocker.raise"));
    world.ok(&a, from(json!({ "task": "p-9", "number": 1, "reason": "r" }), "blocker.resolve"));
    world.ok(&a, from(json!({ "project": "p", "repository": "r" }), "project.bind"));
    world.task(&a, &json!({}));
    world.task(&a, &json!({}));
    let superseded = json!({ "task": "p-10", "revision": 1, "reason": "r", "resolution": "superseded", "successor": "p-11" });
    world.ok(&a, from(superseded, "task.cancel"));
    world.task(&a, &json!({}));
    world.task(&a, &json!({ "parents": ["p-12"] }));
    world.ok(&a, from(json!({ "task": "p-12", "revision": 1 }), "close"));
    world.ok(&a, from(json!({ "task": "p-13", "on": "p-12" }), "dependency.add"));
    let held = world.claim(&a, Some("p-8")).expect("free").attempt;
    (world, a, held)
}

/// What is asked, and why not.
fn cases() -> Vec<(&'static str, Value, Code)> {
    let open = |session: u32, proof: &str, name: &str| json!({ "session": format!("{session:032x}"), "name": name, "proof_hash": proof.repeat(64) });
    let edge = |task: &str, on: &str, kind: &str| json!({ "task": task, "on": on, "kind": kind });
    let cancel =
        |more: &Value| crate::world::with(&json!({ "task": "p-1", "reason": "r", "revision": 1 }), more);
    let mut cases = vec![
        ("session.open", open(99, "0", "b"), Code::NameInUse),
        ("session.open", open(1, "0", "a"), Code::SessionUnknown),
        ("project.create", json!({ "key": "p" }), Code::AlreadyExists),
        ("project.create", json!({ "key": "n", "policy": { "workflow": "reviewed" } }), Code::NotYetBuilt),
        ("project.edit", json!({ "project": "p", "revision": 9 }), Code::RevisionConflict),
        (
            "project.edit",
            json!({ "project": "q", "revision": 2, "policy": { "workflow": "reviewed" } }),
            Code::NotYetBuilt,
        ),
        (
            "project.edit",
            json!({ "project": "q", "revision": 2, "policy": { "recovery": "manual" } }),
            Code::OperatorRequired,
        ),
        ("project.policy", json!({ "project": "p", "revision": 9, "reason": "r" }), Code::RevisionConflict),
        (
            "project.policy",
            json!({ "project": "p", "revision": 1, "policy": { "workflow": "reviewed" }, "reason": "r" }),
            Code::NotYetBuilt,
        ),
        ("project.bind", json!({ "project": "q", "repository": "r" }), Code::AlreadyExists),
        ("task.create", json!({ "project": "p", "title": "t", "aliases": ["x"] }), Code::AlreadyExists),
        ("task.create", json!({ "project": "p", "title": "t", "parents": ["p-3"] }), Code::StateConflict),
        (
            "task.create",
            json!({ "project": "p", "title": "t", "parents": ["p-1"], "blocked_by": ["p-1"] }),
            Code::DependencyCycle,
        ),
        ("task.edit", json!({ "task": "p-1", "revision": 9, "title": "t" }), Code::RevisionConflict),
        ("task.edit", json!({ "task": "p-2", "revision": 1, "kind": "general" }), Code::StateConflict),
        ("task.open", json!({ "task": "p-1" }), Code::StateConflict),
        ("task.list", json!({ "project": "p", "cursor": "2.0" }), Code::EpochChanged),
        ("label.list", json!({ "project": "p", "cursor": "2.x" }), Code::EpochChanged),
        ("project.list", json!({ "cursor": "2.p" }), Code::EpochChanged),
        ("stats", json!({ "cursor": "2.p" }), Code::EpochChanged),
        ("commits", json!({ "tasks": ["p-1"], "cursor": "2.0.p-1" }), Code::EpochChanged),
        ("commits", json!({ "tasks": ["p-1", "p-99"] }), Code::NotFound),
        ("search", json!({ "query": "work", "project": "z" }), Code::NotFound),
        ("dependency.list", json!({ "task": "p-1", "cursor": "2.p-1" }), Code::EpochChanged),
        ("task.defer", json!({ "task": "p-2", "reason": "r" }), Code::StateConflict),
        ("task.resume", json!({ "task": "p-1" }), Code::StateConflict),
        ("task.archive", json!({ "task": "p-1" }), Code::StateConflict),
        ("task.reopen", json!({ "task": "p-1", "reason": "r" }), Code::StateConflict),
        ("task.reopen", json!({ "task": "p-12", "reason": "r" }), Code::DependencyCycle),
        ("task.force-release", json!({ "task": "p-1", "reason": "r" }), Code::StateConflict),
        ("task.cancel", cancel(&json!({ "revision": 9 })), Code::RevisionConflict),
        ("task.cancel", cancel(&json!({ "task": "p-3" })), Code::StateConflict),
        ("task.cancel", cancel(&json!({})), Code::DependentsUndecided),
        (
            "task.cancel",
            cancel(&json!({ "resolution": "duplicate", "successor": "p-1" })),
            Code::DependencyCycle,
        ),
        ("dependency.add", edge("p-1", "p-6", "blocks"), Code::DependencyCycle),
        ("dependency.add", edge("p-1", "p-4", "blocks"), Code::StateConflict),
        ("dependency.remove", edge("p-11", "p-10", "supersedes"), Code::StateConflict),
        ("dependency.remove", edge("p-1", "p-2", "blocks"), Code::NotFound),
        ("blocker.raise", json!({ "task": "p-3", "kind": "permission", "reason": "r" }), Code::StateConflict),
        ("blocker.resolve", json!({ "task": "p-9", "number": 1, "reason": "r" }), Code::StateConflict),
        ("ready", json!({ "project": "p", "cursor": "2.0.0.1" }), Code::EpochChanged),
        ("claim", json!({}), Code::AmbiguousProject),
        ("claim", json!({ "task": "p-1", "projects": ["q"] }), Code::AmbiguousProject),
        ("claim", json!({ "task": "p-2" }), Code::LeaseHeld),
        ("claim", json!({ "task": "p-7" }), Code::Reserved),
        ("claim", json!({ "task": "p-6" }), Code::NotReady),
        ("claim", json!({ "task": "l-2" }), Code::LimitReached),
        ("claim", json!({ "projects": ["q"] }), Code::NothingEligible),
        ("claim", json!({ "task": "m-1" }), Code::ManualRecovery),
        ("wait", json!({}), Code::AmbiguousProject),
        ("wait", json!({ "projects": ["q"] }), Code::NothingEligible),
        ("wait", json!({ "task": "p-1" }), Code::NotYet),
        ("wait", json!({ "task": "p-3", "until": "ready" }), Code::StateConflict),
        ("wait", json!({ "task": "m-1", "until": "ready" }), Code::ManualRecovery),
        ("wait", json!({ "task": "p-1", "until": "changed", "after": "2-0" }), Code::EpochChanged),
        ("close", json!({ "task": "p-1", "revision": 9 }), Code::RevisionConflict),
        ("close", json!({ "task": "p-3", "revision": 1 }), Code::StateConflict),
        ("close", json!({ "task": "p-5", "revision": 1 }), Code::RequirementsMissing),
        ("close", json!({ "task": "p-2", "revision": 1 }), Code::LeaseHeld),
        ("heartbeat", json!({ "task": "p-1" }), Code::NotHolder),
        ("heartbeat", json!({ "task": "p-3" }), Code::StateConflict),
        ("events", json!({ "after": "2-0" }), Code::EpochChanged),
        ("events", json!({ "after": "1-9999" }), Code::InvalidInput),
        ("events", json!({ "task": "p-99" }), Code::NotFound),
        ("project.resolve", json!({ "repositories": ["s"] }), Code::NotFound),
        ("session.show", json!({ "session": "f".repeat(32) }), Code::NotFound),
        ("import.apply", json!({ "project": "z", "format": "beads", "text": "" }), Code::NotFound),
        ("import.preview", json!({ "project": "z", "format": "beads", "text": "" }), Code::NotFound),
        ("handoff", json!({ "task": "p-8", "text": "t", "to": "nobody" }), Code::NotFound),
        ("dispose", json!({ "task": "p-8", "disposition": "resume" }), Code::StateConflict),
        ("reconcile", json!({ "task": "p-8", "digest": "0".repeat(64) }), Code::TaskChanged),
    ];
    let absent = json!({
        "task": "p-99", "on": "p-1", "project": "z", "reason": "r", "title": "t", "text": "t", "revision": 1,
        "kind": "permission", "number": 1, "since": 0, "repository": "r", "alias": "none",
    });
    for (operation, fields) in [
        ("project.edit", "project revision"),
        ("project.policy", "project revision reason"),
        ("project.show", "project"),
        ("project.bind", "project repository"),
        ("project.unbind", "project repository"),
        ("task.create", "project title"),
        ("task.edit", "task revision title"),
        ("task.open", "task"),
        ("task.show", "task"),
        ("task.list", "project"),
        ("task.find", "project alias"),
        ("label.list", "project"),
        ("task.defer", "task reason"),
        ("task.resume", "task"),
        ("task.archive", "task"),
        ("task.reopen", "task reason"),
        ("task.force-release", "task reason"),
        ("task.cancel", "task reason revision"),
        ("dependency.add", "task on"),
        ("dependency.list", "task"),
        ("blocker.raise", "task kind reason"),
        ("blocker.resolve", "task number reason"),
        ("ready", "project"),
        ("explain", "task"),
        ("next", "project"),
        ("claim", "task"),
        ("wait", "task"),
        ("digest", "project since"),
        ("note", "task text"),
        ("close", "task revision"),
        ("attempts", "task"),
        ("history", "task"),
    ] {
        let input = fields.split(' ').map(|field| (field.to_owned(), absent[field].clone())).collect();
        cases.push((operation, Value::Object(input), Code::NotFound));
    }
    cases
}

#[test]
fn every_refusal_that_an_operation_names_happens() {
    let (mut world, a, held) = prepared();
    let mut seen = BTreeSet::new();
    let mut check = |world: &mut World, operation: &'static str, input: &Value, code: Code| {
        let fenced = input["task"] == "p-8";
        let asked = from(input.clone(), operation);
        let events = world.set.events.len();
        let answer = if fenced { world.fenced(&a, &held, asked) } else { world.try_as(&a, asked) };
        assert_eq!(answer.expect_err(operation).code, code, "{operation} {input}");
        assert_eq!(world.set.events.len(), events, "{operation} left something behind");
        seen.insert((operation, code));
    };
    for (operation, input, code) in cases() {
        check(&mut world, operation, &input, code);
    }
    let reporter =
        json!({ "task": "p-8", "hash": Digest([6; 32]), "watches": "a build", "window_ms": 60_000 });
    world.fenced(&a, &held, from(reporter.clone(), "reporter.create")).expect("made");
    check(&mut world, "reporter.create", &reporter, Code::AlreadyExists);
    world.ok(&a, from(json!({ "task": "p-8", "revision": 1, "title": "else" }), "task.edit"));
    check(&mut world, "close", &json!({ "task": "p-8" }), Code::TaskChanged);
    let c = world.agent("c");
    world.ok(&c, from(json!({}), "session.close"));
    let opened = json!({ "session": c.session, "name": "c", "proof_hash": c.secret.session_proof().hash() });
    check(&mut world, "session.open", &opened, Code::SessionClosed);

    world.by(None, "first", &from(json!({ "name": "ada" }), "account.bootstrap")).expect("made");
    let token = |name: &str, hash: u8| json!({ "name": name, "kind": "agent", "hash": Digest([hash; 32]), "reason": "r" });
    let [known, other] = [1, 2].map(|hash| {
        let made = world.by(Some("ada"), "x", &from(token("ci-1", hash), "token.create")).expect("made");
        made["token"]["token"].as_str().expect("an id").to_owned()
    });
    let revoke = json!({ "token": known, "reason": "r" });
    world.by(Some("ada"), "x", &from(revoke, "token.revoke")).expect("revoked");
    let opened = json!({ "session": "5".repeat(32), "name": "eve", "proof_hash": Digest([3; 32]) });
    let opened = world.with_token("ci-1", 2, &from(opened, "session.open"));
    assert_eq!(opened, Err(Code::TokenMismatch));
    seen.insert(("session.open", Code::TokenMismatch));
    for (operation, input, code) in [
        ("account.bootstrap", json!({ "name": "eve" }), Code::StateConflict),
        ("account.create", json!({ "name": "ada", "role": "member", "reason": "r" }), Code::AlreadyExists),
        ("account.edit", json!({ "name": "ada", "disabled": true, "reason": "r" }), Code::StateConflict),
        ("account.edit", json!({ "name": "none", "disabled": true, "reason": "r" }), Code::NotFound),
        ("account.password", json!({ "name": "none", "reason": "r" }), Code::NotFound),
        ("token.create", token("ci-1", 1), Code::AlreadyExists),
        ("token.create", token("ada", 9), Code::StateConflict),
        ("token.revoke", json!({ "token": known, "reason": "r" }), Code::StateConflict),
        ("token.revoke", json!({ "token": "0".repeat(12), "reason": "r" }), Code::NotFound),
        (
            "token.rotate",
            json!({ "token": known, "kind": "agent", "hash": Digest([9; 32]), "reason": "r" }),
            Code::StateConflict,
        ),
        (
            "token.rotate",
            json!({ "token": other, "kind": "agent", "hash": Digest([1; 32]), "reason": "r" }),
            Code::AlreadyExists,
        ),
        (
            "token.rotate",
            json!({ "token": "0".repeat(12), "kind": "agent", "hash": Digest([9; 32]), "reason": "r" }),
            Code::NotFound,
        ),
    ] {
        let answer = world.by(Some("ada"), "second", &from(input.clone(), operation));
        assert_eq!(answer, Err(code), "{operation} {input}");
        seen.insert((operation, code));
    }

    let named = entries();
    let named =
        named.iter().flat_map(|entry| entry.spec.refusals.iter().map(|code| (entry.spec.name, *code)));
    let missing: Vec<_> = named.filter(|pair| !seen.contains(pair)).collect();
    assert!(missing.is_empty(), "named and never seen: {missing:?}");
}

#[test]
fn every_kind_of_event_is_recorded() {
    let (mut world, a, held) = prepared();
    for (operation, input) in [
        ("note", json!({ "task": "p-8", "text": "t" })),
        ("checkpoint", json!({ "task": "p-8", "text": "t" })),
        (
            "reporter.create",
            json!({ "task": "p-8", "hash": Digest([6; 32]), "watches": "a build", "window_ms": 60_000 }),
        ),
        ("reporter.revoke", json!({ "task": "p-8" })),
    ] {
        world.fenced(&a, &held, from(input, operation)).expect(operation);
    }
    let b = world.agent("d");
    world.ok(&b, from(json!({ "task": "p-8", "reason": "r" }), "task.cancel"));
    let edited = world.ok(&a, from(json!({ "task": "p-8", "revision": 1, "title": "else" }), "task.edit"));
    let reconcile = json!({ "task": "p-8", "digest": edited["task"]["digest"] });
    world.fenced(&a, &held, from(reconcile, "reconcile")).expect("reconciled");
    world.fenced(&a, &held, from(json!({ "task": "p-8" }), "release")).expect("released");
    for (operation, input) in [
        ("project.edit", json!({ "project": "q", "revision": 2, "name": "n" })),
        ("project.unbind", json!({ "project": "p", "repository": "r" })),
        ("task.create", json!({ "project": "p", "title": "t", "planned": true })),
        ("task.open", json!({ "task": "p-14" })),
        ("task.defer", json!({ "task": "p-14", "reason": "r" })),
        ("task.resume", json!({ "task": "p-14" })),
        ("dependency.add", json!({ "task": "p-14", "on": "p-1" })),
        ("dependency.remove", json!({ "task": "p-14", "on": "p-1" })),
        ("task.reopen", json!({ "task": "p-3", "reason": "r" })),
        (
            "import.apply",
            json!({ "project": "q", "format": "beads", "text": "{\"id\":\"b-1\",\"title\":\"t\"}" }),
        ),
    ] {
        world.ok(&a, from(input, operation));
    }
    let recovered = world.claim(&a, Some("p-14")).expect("free");
    world.pass(LEASE_MS);
    world.run(None, Envelope::default(), &RecordOverdue {}.into()).expect("background work is never refused");
    let taken = world.claim(&a, Some("p-14")).expect("taken over");
    assert_eq!(taken.recovery.expect("what was left").attempt.id, recovered.attempt);
    let dispose = json!({ "task": "p-14", "disposition": "restart", "reason": "r" });
    world.fenced(&a, &taken.attempt, from(dispose, "dispose")).expect("decided");
    world.ok(&a, from(json!({}), "session.close"));
    world.by(None, "first", &from(json!({ "name": "ada" }), "account.bootstrap")).expect("made");
    let disable = json!({ "name": "ada", "disabled": false, "reason": "r" });
    world.by(Some("ada"), "second", &from(disable, "account.edit")).expect("edited");
    world.by(Some("ada"), "second", &from(json!({}), "account.password")).expect("set");
    let token = json!({ "name": "ci-1", "kind": "agent", "hash": Digest([1; 32]), "reason": "r" });
    let made = world.by(Some("ada"), "x", &from(token, "token.create")).expect("made");
    let rotate =
        json!({ "token": made["token"]["token"], "kind": "agent", "hash": Digest([2; 32]), "reason": "r" });
    let made = world.by(Some("ada"), "x", &from(rotate, "token.rotate")).expect("rotated");
    let revoke = json!({ "token": made["token"]["token"], "reason": "r" });
    world.by(Some("ada"), "x", &from(revoke, "token.revoke")).expect("revoked");
    let told = RecordAuthentications { name: None, proven: 1, refused: 1 };
    world.by(None, "second", &told.into()).expect("background work is never refused");

    let mut kinds: BTreeSet<EventKind> = world.set.events.iter().map(|stored| stored.event.kind).collect();
    // Those that only the engine records, when it makes or restores a store.
    kinds.extend([EventKind::FleetCreated, EventKind::FleetRestored, EventKind::AttemptVoided]);
    let never: Vec<_> = EventKind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(never.is_empty(), "never recorded: {never:?}");
    for (place, stored) in world.set.events.iter().enumerate() {
        assert_eq!(stored.event.number.0, place as u64 + 1, "numbers have no gaps");
    }
}
