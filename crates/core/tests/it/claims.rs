//! Ownership by example: one owner, fenced writes, expiry, recovery, handoff.

use serde_json::{Value, json};
use tenure_core::envelope::Fence;
use tenure_core::model::refusal::Code;

use crate::world::{Agent, World, from};

fn with_task() -> (World, Agent) {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "project": "p", "title": "work" }), "task.create"));
    (world, a)
}

const LEASE_MS: i64 = 600_000;

#[test]
fn a_loser_is_told_who_holds_it_and_for_how_long() {
    let (mut world, a) = with_task();
    let b = world.agent("b");
    world.claim(&a, Some("p-1")).expect("free");
    world.pass(1_000);
    let refusal = world.claim(&b, Some("p-1")).expect_err("held");
    assert_eq!(refusal.code, Code::LeaseHeld);
    assert_eq!(refusal.facts["holder"], "a");
    assert_eq!(refusal.facts["expires_in_ms"], LEASE_MS - 1_000);
}

#[test]
fn a_session_gets_back_what_it_holds_and_a_later_one_of_the_name_does_not() {
    let (mut world, a) = with_task();
    let first = world.claim(&a, Some("p-1")).expect("free");
    let again = world.claim(&a, Some("p-1")).expect("its own");
    assert!(
        again.resumed && again.attempt == first.attempt && again.claim_operation == first.claim_operation
    );
    world.pass(LEASE_MS - 1);
    world.ok(&a, from(json!({}), "session.close"));
    let later = world.agent("a");
    assert_eq!(world.claim(&later, Some("p-1")).expect_err("held").code, Code::LeaseHeld);
}

#[test]
fn equality_with_the_deadline_is_expired_and_nothing_of_it_comes_back() {
    let (mut world, a) = with_task();
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    world.pass(LEASE_MS - 1);
    world
        .fenced(&a, &claimed.attempt, from(json!({ "task": "p-1" }), "heartbeat"))
        .expect("one millisecond left");
    world.pass(LEASE_MS);
    for (operation, input) in [
        ("heartbeat", json!({ "task": "p-1" })),
        ("note", json!({ "task": "p-1", "text": "t" })),
        ("checkpoint", json!({ "task": "p-1", "text": "t" })),
        ("handoff", json!({ "task": "p-1", "text": "t" })),
        ("release", json!({ "task": "p-1" })),
        ("close", json!({ "task": "p-1" })),
        ("task.cancel", json!({ "task": "p-1", "reason": "r" })),
    ] {
        let refusal = world.fenced(&a, &claimed.attempt, from(input, operation)).expect_err(operation);
        assert_eq!(refusal.code, Code::LeaseExpired, "{operation}");
        assert!(refusal.steps()[0].contains("stop, reconcile"), "{operation}");
    }
    let note = from(json!({ "task": "p-1", "text": "t", "recovery": true }), "note");
    world.fenced(&a, &claimed.attempt, note).expect("a recovery note is still stored");
}

#[test]
fn recovery_needs_a_disposition_before_it_closes_and_the_old_attempt_stays_refused() {
    let (mut world, a) = with_task();
    let b = world.agent("b");
    let old = world.claim(&a, Some("p-1")).expect("free");
    let saved = json!({ "task": "p-1", "text": "half", "evidence": { "branch": "w", "commit": "abc" } });
    world.fenced(&a, &old.attempt, from(saved, "checkpoint")).expect("saved");
    world.pass(LEASE_MS);
    let new = world.claim(&b, None).expect("recovery");
    assert_eq!(new.generation.0, 2);
    let packet = new.recovery.expect("what the old attempt left");
    assert_eq!(packet.entries[0].text, "half");
    assert_eq!(packet.entries[0].data.evidence.commit.as_deref(), Some("abc"));
    let close = || from(json!({ "task": "p-1" }), "close");
    let refusal = world.fenced(&b, &new.attempt, close()).expect_err("no disposition");
    assert_eq!(refusal.code, Code::RequirementsMissing);
    assert_eq!(world.fenced(&a, &old.attempt, close()).expect_err("stale").code, Code::LeaseExpired);
    let dispose = from(json!({ "task": "p-1", "disposition": "resume" }), "dispose");
    world.fenced(&b, &new.attempt, dispose).expect("decided");
    world.fenced(&b, &new.attempt, close()).expect("closed");
    assert_eq!(world.fenced(&b, &new.attempt, close()).expect_err("over").code, Code::Superseded);
}

#[test]
fn a_recovery_that_expires_is_recovered_again() {
    let (mut world, a) = with_task();
    for generation in 1..=4 {
        let claimed = world.claim(&a, None).expect("fresh, then recovery");
        assert_eq!(claimed.generation.0, generation);
        assert_eq!(claimed.recovery.is_some(), generation > 1);
        world.pass(LEASE_MS);
    }
}

#[test]
fn manual_recovery_waits_for_an_operator() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "key": "m", "policy": { "recovery": "manual" } }), "project.create"));
    world.ok(&a, from(json!({ "project": "m", "title": "work" }), "task.create"));
    world.claim(&a, Some("m-1")).expect("free");
    world.pass(LEASE_MS);
    assert_eq!(world.claim(&a, Some("m-1")).expect_err("manual").code, Code::ManualRecovery);
    let next = from(json!({ "projects": ["m"], "another": true }), "claim");
    assert_eq!(world.refused(&a, next), Code::NothingEligible);
}

#[test]
fn a_stale_or_foreign_fence_changes_nothing() {
    let (mut world, a) = with_task();
    let b = world.agent("b");
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    let before = world.set.events.len();
    let close = || from(json!({ "task": "p-1" }), "close");
    assert_eq!(world.fenced(&b, &claimed.attempt, close()).expect_err("foreign").code, Code::NotHolder);
    let unknown = "p-1@9".parse().expect("an attempt id");
    assert_eq!(world.fenced(&a, &unknown, close()).expect_err("unknown").code, Code::NotFound);
    assert_eq!(world.refused(&b, from(json!({ "task": "p-1", "revision": 1 }), "close")), Code::LeaseHeld);
    assert_eq!(world.set.events.len(), before);
}

#[test]
fn a_fence_needs_the_session_and_the_token_of_its_claim() {
    let (mut world, a) = with_task();
    let b = world.agent("b");
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    let token = a.secret.lease_token(&claimed.claim_operation);
    let other = a.secret.lease_token(&"another-claim".parse().expect("an operation id"));
    for (agent, token, accepted) in [(&a, &other, false), (&b, &token, false), (&a, &token, true)] {
        let mut envelope = world.envelope(agent);
        envelope.fence = Some(Fence { attempt: claimed.attempt.clone(), token: token.clone() });
        let beat = world.run(Some(agent), envelope, &from(json!({ "task": "p-1" }), "heartbeat"));
        assert_eq!(
            beat.map(drop).map_err(|refusal| refusal.code),
            if accepted { Ok(()) } else { Err(Code::NotHolder) }
        );
    }
    world.task(&a, &json!({}));
    let elsewhere = world.fenced(&a, &claimed.attempt, from(json!({ "task": "p-2" }), "heartbeat"));
    assert_eq!(elsewhere.expect_err("a fence of another task").code, Code::NotHolder);
}

#[test]
fn a_handoff_is_kept_for_the_agent_it_names_until_the_window_ends() {
    let (mut world, a) = with_task();
    let b = world.agent("b");
    let c = world.agent("c");
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    let handoff = from(json!({ "task": "p-1", "text": "mind the gap", "to": "b" }), "handoff");
    world.fenced(&a, &claimed.attempt, handoff).expect("handed off");
    assert_eq!(world.claim(&c, Some("p-1")).expect_err("kept").code, Code::Reserved);
    assert_eq!(world.claim(&c, None).expect_err("kept").code, Code::NothingEligible);
    let taken = world.claim(&b, None).expect("kept for b");
    assert_eq!(taken.handoff.as_deref(), Some("mind the gap"));
    let back = from(json!({ "task": "p-1", "text": "again", "to": "a" }), "handoff");
    world.fenced(&b, &taken.attempt, back).expect("handed off");
    world.pass(30 * 60_000);
    world.claim(&c, Some("p-1")).expect("open to all");
}

#[test]
fn the_project_served_least_recently_comes_first_within_a_priority() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "key": "q" }), "project.create"));
    // The tasks of p have been ready for longer, so that only what was served brings q in between.
    for project in ["p", "p", "p", "q", "q"] {
        world.ok(&a, from(json!({ "project": project, "title": "work" }), "task.create"));
        world.pass(1);
    }
    world.ok(&a, from(json!({ "project": "q", "title": "urgent", "priority": 0 }), "task.create"));
    let claim = || from(json!({ "projects": ["p", "q"], "another": true }), "claim");
    let order: Vec<Value> = (0..6).map(|_| world.ok(&a, claim())["task"]["id"].clone()).collect();
    assert_eq!(order, ["q-3", "p-1", "q-1", "p-2", "q-2", "p-3"]);
    assert_eq!(world.refused(&a, claim()), Code::NothingEligible);
}

#[test]
fn limits_capabilities_and_changed_criteria_are_respected() {
    let (mut world, a) = World::with_project();
    let limits = json!({ "key": "l", "policy": { "attempts_max": 2, "attempts_per_principal_max": 1 } });
    world.ok(&a, from(limits, "project.create"));
    for _ in 0..3 {
        world.ok(
            &a,
            from(json!({ "project": "l", "title": "work", "criteria": ["it works"] }), "task.create"),
        );
    }
    let claim = || from(json!({ "projects": ["l"], "another": true }), "claim");
    let held = world.ok(&a, claim());
    let limit = world.try_as(&a, claim()).expect_err("one agent's limit");
    assert_eq!(limit.code, Code::LimitReached);
    assert!(limit.detail.ends_with("holds 1 task in l, which is the limit of one agent"), "{}", limit.detail);
    let b = world.agent("b");
    world.ok(&b, claim());
    let c = world.agent("c");
    assert_eq!(world.refused(&c, claim()), Code::LimitReached);

    let attempt = held["attempt"].as_str().expect("text").parse().expect("an attempt id");
    let close = |criteria: Value| from(json!({ "task": "l-1", "criteria": criteria }), "close");
    let refusal = world.fenced(&a, &attempt, close(json!({}))).expect_err("unanswered");
    assert_eq!(refusal.code, Code::RequirementsMissing);
    let unknown = close(json!({ "c1": "it does", "c9": "what?" }));
    assert_eq!(world.fenced(&a, &attempt, unknown).expect_err("no such criterion").code, Code::InvalidInput);
    world.ok(&c, from(json!({ "task": "l-1", "revision": 1, "criteria": ["it flies"] }), "task.edit"));
    let beat = world.fenced(&a, &attempt, from(json!({ "task": "l-1" }), "heartbeat")).expect("alive");
    assert!(beat.contains(r#""task_changed":true"#));
    let refusal = world.fenced(&a, &attempt, close(json!({ "c2": "it does" }))).expect_err("changed");
    assert_eq!(refusal.code, Code::TaskChanged);
    let reconcile = from(json!({ "task": "l-1", "digest": refusal.facts["digest"] }), "reconcile");
    world.fenced(&a, &attempt, reconcile).expect("accepted");
    world.fenced(&a, &attempt, close(json!({ "c2": "it does" }))).expect("closed");

    world.ok(&c, from(json!({ "project": "p", "title": "special", "requires": ["gpu"] }), "task.create"));
    assert_eq!(world.claim(&c, Some("p-1")).expect_err("no gpu").code, Code::NotReady);
    assert_eq!(world.claim(&c, None).expect_err("no gpu").code, Code::NothingEligible);
    let able = world.agent_offering("able", &["gpu"]);
    world.claim(&able, None).expect("gpu");
}

#[test]
fn a_claims_answer_is_short_beside_the_tasks_text() {
    let (mut world, a) = World::with_project();
    let (title, description) = ("t".repeat(100), "d".repeat(10_000));
    world.task(&a, &json!({ "title": title, "description": description, "criteria": ["c".repeat(1_000)] }));
    let answer = world.try_as(&a, from(json!({ "task": "p-1" }), "claim")).expect("free");
    let beside = answer.len() - 100 - 10_000 - 1_000;
    assert!(beside <= 1_024, "{beside} bytes beside the task's text: {answer}");
}

#[test]
fn what_an_expired_attempt_left_is_told_as_far_as_it_fits() {
    let (mut world, a) = with_task();
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    let note = |text: String| from(json!({ "task": "p-1", "text": text }), "note");
    for number in 0..25 {
        world.fenced(&a, &claimed.attempt, note(number.to_string())).expect("noted");
    }
    world.pass(LEASE_MS);
    let taken = world.claim(&a, None).expect("taken over");
    let packet = taken.recovery.expect("what was left");
    assert_eq!((packet.entries.len(), packet.left_out), (20, 5));
    assert_eq!(packet.entries[0].text, "24", "the newest first");
    for _ in 0..2 {
        world.fenced(&a, &taken.attempt, note("x".repeat(40 * 1024))).expect("noted");
    }
    world.pass(LEASE_MS);
    let packet = world.claim(&a, None).expect("taken over").recovery.expect("what was left");
    assert_eq!((packet.entries.len(), packet.left_out), (1, 26));
}

#[test]
fn a_handoff_to_oneself_is_kept_for_a_later_session_of_the_name() {
    let (mut world, a) = with_task();
    let b = world.agent("b");
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    let handoff = from(json!({ "task": "p-1", "text": "later", "to": "a" }), "handoff");
    world.fenced(&a, &claimed.attempt, handoff).expect("handed off");
    assert_eq!(world.claim(&b, None).expect_err("kept").code, Code::NothingEligible);
    world.ok(&a, from(json!({}), "session.close"));
    let later = world.agent("a");
    assert_eq!(world.claim(&later, None).expect("kept for the name").handoff.as_deref(), Some("later"));
}

#[test]
fn a_handoff_names_an_agent_that_is_known() {
    let (mut world, a) = with_task();
    let claimed = world.claim(&a, Some("p-1")).expect("free");
    let handoff = from(json!({ "task": "p-1", "text": "t", "to": "nobody" }), "handoff");
    let refusal = world.fenced(&a, &claimed.attempt, handoff).expect_err("nobody has that name");
    assert_eq!(refusal.code, Code::NotFound);
    world.fenced(&a, &claimed.attempt, from(json!({ "task": "p-1" }), "heartbeat")).expect("still held");
}

#[test]
fn an_objective_whose_children_are_all_settled_is_closed_under_its_revision() {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({ "kind": "objective" }));
    for _ in 0..2 {
        world.task(&a, &json!({ "parents": ["p-1"] }));
    }
    let optional = json!({ "task": "p-3", "on": "p-1", "kind": "parent", "optional": true });
    world.ok(&a, from(optional, "dependency.add"));
    let close = || from(json!({ "task": "p-1", "revision": 1 }), "close");
    assert_eq!(world.refused(&a, close()), Code::RequirementsMissing, "p-2 is required and open");
    assert_eq!(world.refused(&a, from(json!({ "task": "p-1" }), "claim")), Code::NotReady);
    world.ok(&a, from(json!({ "task": "p-2", "revision": 1, "reason": "r" }), "task.cancel"));
    let closed = world.ok(&a, close());
    assert_eq!(closed["task"]["status"], "done", "p-2 was cancelled and p-3 is optional");
}
