//! Sessions: one live session of a name, one of a conversation, and how long one counts as present.

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::event::{Event, EventKind};
use tenure_core::model::refusal::{Code, Refusal};

use crate::world::{World, from, with};

const PRESENCE_MS: i64 = 600_000;

fn open(world: &mut World, name: &str, session: u8, more: &Value) -> Result<Value, Refusal> {
    let input = json!({ "session": format!("{session:032x}"), "name": name, "proof_hash": "0".repeat(64) });
    let answer = world.run(None, Envelope::default(), &from(with(&input, more), "session.open"))?;
    Ok(serde_json::from_str(&answer).expect("JSON"))
}

fn code(opened: Result<Value, Refusal>) -> Option<Code> {
    opened.err().map(|refusal| refusal.code)
}

fn last(world: &World, kind: EventKind) -> Event {
    let mut events = world.set.events.iter().rev().map(|stored| &stored.event);
    events.find(|event| event.kind == kind).expect("recorded").clone()
}

#[test]
fn a_name_is_used_by_one_live_session_and_a_conversation_by_its_latest() {
    let mut world = World::new();
    let alone = json!({});
    open(&mut world, "n", 1, &alone).expect("free");
    open(&mut world, "n", 1, &alone).expect("the same again");
    assert_eq!(code(open(&mut world, "n", 2, &alone)), Some(Code::NameInUse));
    assert_eq!(code(open(&mut world, "m", 1, &alone)), Some(Code::SessionUnknown));
    assert_eq!(
        code(open(&mut world, "n", 1, &json!({ "proof_hash": "1".repeat(64) }))),
        Some(Code::SessionUnknown)
    );
    world.pass(PRESENCE_MS);
    open(&mut world, "n", 2, &alone).expect("its presence ended");
    assert_eq!(code(open(&mut world, "n", 1, &alone)), Some(Code::SessionClosed));
    let talk = json!({ "conversation": "talk" });
    open(&mut world, "c", 3, &talk).expect("free");
    assert_eq!(code(open(&mut world, "c", 4, &talk)), Some(Code::NameInUse), "a conversation is no proof");
    world.pass(PRESENCE_MS);
    open(&mut world, "c", 4, &talk).expect("resumed");
    assert_eq!(code(open(&mut world, "c", 3, &talk)), Some(Code::SessionClosed));
}

#[test]
fn whoever_opens_in_the_place_of_an_earlier_session_has_closed_it() {
    let mut world = World::new();
    let talk = json!({ "conversation": "talk" });
    open(&mut world, "c", 3, &talk).expect("free");
    world.pass(PRESENCE_MS);
    open(&mut world, "c", 4, &talk).expect("resumed");
    let closed = last(&world, EventKind::SessionClosed);
    assert_eq!(closed.data["session"], format!("{:032x}", 3));
    assert_eq!(closed.actor.session.expect("who did it").as_str(), format!("{:032x}", 4));
}

#[test]
fn another_agents_live_conversation_is_not_taken_over() {
    let mut world = World::new();
    let talk = json!({ "conversation": "talk" });
    open(&mut world, "c", 3, &talk).expect("free");
    let refusal = open(&mut world, "d", 5, &talk).expect_err("it is somebody else's");
    assert_eq!(refusal.code, Code::NameInUse);
    assert!(refusal.detail.contains("conversation talk") && refusal.detail.contains("of c"), "{refusal:?}");
    assert!(world.set.sessions.rows().all(|session| session.open));
}

#[test]
fn a_session_without_a_call_is_present_for_nine_tenths_of_its_presence_at_least() {
    for before in [0, 1, PRESENCE_MS / 10 - 1, PRESENCE_MS / 10, PRESENCE_MS / 2, PRESENCE_MS - 1] {
        let (mut world, a) = World::with_project();
        world.pass(before);
        world.task(&a, &json!({}));
        let shown = |world: &mut World| {
            let show = from(json!({ "session": a.session }), "session.show");
            world.ok(&a, show)["session"]["present"].clone()
        };
        world.pass(PRESENCE_MS / 10 * 9 - 1);
        assert_eq!(shown(&mut world), true, "a call after {before}");
        world.pass(PRESENCE_MS / 10 + 1);
        assert_eq!(shown(&mut world), false, "a call after {before}");
    }
}

#[test]
fn a_subagents_deeds_name_the_session_that_started_it() {
    let mut world = World::new();
    let parent = world.agent("parent");
    let proven = world.envelope(&parent);
    open_as(&mut world, proven, &json!({ "parent": parent.session })).expect("vouched for");
    let actor = last(&world, EventKind::SessionOpened).actor;
    let named = |id: Option<tenure_core::model::ids::SessionId>| id.map(|id| id.to_string());
    assert_eq!(
        (named(actor.session), named(actor.parent)),
        (Some(format!("{:032x}", 0xc)), Some(parent.session.to_string()))
    );
}

/// Opens a session named `child` with what an envelope proves.
fn open_as(world: &mut World, envelope: Envelope, more: &Value) -> Result<String, Refusal> {
    let input = json!({ "session": format!("{:032x}", 0xc), "name": "child", "proof_hash": "0".repeat(64) });
    world.run(None, envelope, &from(with(&input, more), "session.open"))
}

#[test]
fn a_parent_that_is_unknown_closed_or_foreign_is_refused() {
    let mut world = World::new();
    let (parent, other) = (world.agent("parent"), world.agent("other"));
    let of = |session: &dyn std::fmt::Display| json!({ "parent": session.to_string() });
    let check = |world: &mut World, envelope: Envelope, more: &Value, why: &str| {
        let refusal = open_as(world, envelope, more).expect_err(why);
        assert_eq!((refusal.code, &refusal.facts["field"]), (Code::InvalidInput, &json!("parent")), "{why}");
        assert!(refusal.detail.contains(why) && !refusal.steps().is_empty(), "{refusal:?}");
    };
    let proven = world.envelope(&parent);
    check(&mut world, proven.clone(), &of(&"e".repeat(32)), "no session of this fleet");
    let itself = of(&format!("{:032x}", 0xc));
    check(&mut world, proven.clone(), &itself, "no session of this fleet");
    check(&mut world, Envelope::default(), &of(&parent.session), "does not vouch");
    let foreign = world.envelope(&other);
    check(&mut world, foreign, &of(&parent.session), "does not vouch");
    let mut forged = proven.clone();
    forged.caller.as_mut().expect("a caller").proof = other.secret.session_proof();
    check(&mut world, forged, &of(&parent.session), "does not vouch");
    world.ok(&parent, from(json!({}), "session.close"));
    check(&mut world, proven, &of(&parent.session), "is closed");
}

#[test]
fn a_subagents_next_session_keeps_the_parent_that_vouched_for_the_last_one() {
    let mut world = World::new();
    let parent = world.agent("parent");
    let child = world.agent_of("child", &parent);
    let resumed = world.envelope(&child);
    open_as(&mut world, resumed, &json!({ "parent": parent.session })).expect("vouched for before");
    let other = world.agent("other");
    let resumed = world.envelope(&other);
    let input = json!({
        "session": format!("{:032x}", 0xd), "name": "other", "proof_hash": "0".repeat(64), "parent": parent.session
    });
    let refusal = world.run(None, resumed, &from(input, "session.open")).expect_err("never vouched for");
    assert_eq!(refusal.facts["field"], "parent");
}

#[test]
fn a_session_is_replaced_while_it_lives_only_by_who_proves_to_be_it() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "project": "p", "title": "t" }), "task.create"));
    world.ok(&a, from(json!({ "key": "q", "policy": { "lease_ms": 3_600_000 } }), "project.create"));
    world.ok(&a, from(json!({ "project": "q", "title": "t" }), "task.create"));
    world.claim(&a, Some("q-1")).expect("ready");
    let open_as_a = |session: u8| {
        let input =
            json!({ "session": format!("{session:032x}"), "name": "a", "proof_hash": "0".repeat(64) });
        from(input, "session.open")
    };
    // Silent for longer than its presence, but its lease lives.
    world.pass(1_200_000);
    let anybody = Envelope::default();
    assert_eq!(world.run(None, anybody.clone(), &open_as_a(77)).expect_err("live").code, Code::NameInUse);
    let mut wrong = world.envelope(&a);
    wrong.caller.as_mut().expect("a caller").proof = world.agent("b").secret.session_proof();
    assert_eq!(world.run(None, wrong, &open_as_a(77)).expect_err("not it").code, Code::NameInUse);
    let itself = world.envelope(&a);
    world.run(None, itself, &open_as_a(77)).expect("proven");
    assert!(!world.set.sessions.get(&a.session).flatten().expect("it is there").open);
}
