//! Tokens: whom they may be for, how they end, and which names and sessions are theirs.

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::{Digest, PrincipalName, TokenId};
use tenure_core::model::refusal::Code;
use tenure_core::model::session::PrincipalKind;
use tenure_core::model::token::TokenRecord;
use tenure_core::operation::catalog::AnyOperation;

use crate::world::{World, from, with};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl World {
    /// Runs an operation with the token of this hash, which is that of `name`.
    pub fn with_token(&mut self, name: &str, hash: u8, operation: &AnyOperation) -> Result<Value, Code> {
        let envelope = Envelope { operation_id: Some(self.next_operation()), ..Envelope::default() };
        let mut call = self.call(None, envelope);
        let token = self.token(hash);
        assert_eq!(token.principal.as_str(), name);
        call.token = Some(token);
        let answer = self.settle(&call, operation).map_err(|refusal| refusal.code)?;
        Ok(serde_json::from_str(&answer).expect("an answer is JSON"))
    }

    fn token(&self, hash: u8) -> TokenRecord {
        self.set.tokens.get(&id(hash)).flatten().expect("a token").clone()
    }

    fn create(&mut self, name: &str, kind: &str, hash: u8, more: &Value) -> Result<Value, Code> {
        let input = json!({ "name": name, "kind": kind, "hash": Digest([hash; 32]), "reason": "joins" });
        self.by(Some("ada"), "x", &from(with(&input, more), "token.create"))
    }
}

fn administered() -> World {
    let mut world = World::new();
    world.by(None, "first", &from(json!({ "name": "ada" }), "account.bootstrap")).expect("made");
    world
}

fn id(hash: u8) -> TokenId {
    TokenId::of(&Digest([hash; 32]))
}

fn open(name: &str, session: &str) -> AnyOperation {
    let input = json!({ "session": session.repeat(32), "name": name, "proof_hash": Digest([7; 32]) });
    from(input, "session.open")
}

#[test]
fn a_token_is_for_one_agent_or_machine_and_for_a_bounded_time() {
    let mut world = administered();
    let made = world.create("ci-1", "agent", 1, &json!({})).expect("made");
    assert_eq!(made["token"]["token"], json!(id(1)));
    assert_eq!(made["token"]["read_only"], false);
    let token = world.token(1);
    assert_eq!(token.expires_at.0 - token.created_at.0, 90 * DAY_MS);
    assert!(!made.to_string().contains(&Digest([1; 32]).to_string()), "the hash is not told: {made}");
    let event = &world.set.events.last().expect("recorded").event;
    assert_eq!((event.kind, &event.data["row"]), (EventKind::TokenCreated, &json!(token.digest())));
    assert_eq!(event.actor.principal.as_ref().map(PrincipalName::as_str), Some("ada"));
    for wrong in [0, -1, 59_999, 366 * DAY_MS + 1, i64::MAX, i64::MIN] {
        let refused = world.create("ci-1", "agent", 2, &json!({ "valid_ms": wrong }));
        assert_eq!(refused, Err(Code::InvalidInput), "{wrong}");
    }
    world.create("ci-1", "agent", 2, &json!({ "valid_ms": 366 * DAY_MS, "read_only": true })).expect("made");
    assert_eq!(world.create("ci-1", "machine", 3, &json!({})), Err(Code::StateConflict));
    assert_eq!(
        world.create("ada", "agent", 3, &json!({})),
        Err(Code::StateConflict),
        "a person has a password"
    );
    world.create("mill", "machine", 3, &json!({})).expect("made");
    let mill = "mill".parse().expect("a name");
    assert_eq!(world.set.principals.get(&mill).flatten().expect("known").kind, PrincipalKind::Machine);
    assert_eq!(world.create("mill", "agent", 4, &json!({})), Err(Code::StateConflict));
    let account = from(json!({ "name": "mill", "role": "member", "reason": "r" }), "account.create");
    assert_eq!(world.by(Some("ada"), "x", &account), Err(Code::AlreadyExists));
}

#[test]
fn a_rotated_token_is_the_same_principals_and_the_old_one_ends_at_once_or_after_the_overlap() {
    let mut world = administered();
    world.create("ci-1", "agent", 1, &json!({ "valid_ms": 10 * DAY_MS, "read_only": true })).expect("made");
    let rotate = |old: u8, new: u8, overlap: Option<i64>| {
        let input = json!({ "token": id(old), "kind": "agent", "hash": Digest([new; 32]), "overlap_ms": overlap, "reason": "r" });
        from(input, "token.rotate")
    };
    world.pass(DAY_MS);
    assert_eq!(world.by(Some("ada"), "x", &rotate(1, 2, Some(DAY_MS + 1))), Err(Code::InvalidInput));
    let other = json!({ "token": id(1), "kind": "machine", "hash": Digest([2; 32]), "reason": "r" });
    assert_eq!(world.by(Some("ada"), "x", &from(other, "token.rotate")), Err(Code::InvalidInput));
    world.by(Some("ada"), "x", &rotate(1, 2, Some(DAY_MS))).expect("rotated");
    let (old, new) = (world.token(1), world.token(2));
    assert_eq!((&new.principal, new.kind, new.read_only), (&old.principal, old.kind, true));
    assert_eq!(new.expires_at.0, world.now.wall.0 + 10 * DAY_MS);
    assert!(old.counts(world.now.wall));
    world.pass(DAY_MS);
    assert!(!world.token(1).counts(world.now.wall) && world.token(2).counts(world.now.wall));
    world.by(Some("ada"), "x", &rotate(2, 3, None)).expect("rotated");
    assert!(!world.token(2).counts(world.now.wall) && world.token(3).counts(world.now.wall));
    let event = &world.set.events.last().expect("recorded").event;
    assert_eq!(event.data["replaced"]["row"], json!(world.token(2).digest()));
    assert_eq!(world.by(Some("ada"), "x", &rotate(2, 4, None)), Err(Code::StateConflict));
}

#[test]
fn an_agents_token_opens_sessions_of_its_own_name_alone() {
    let mut world = administered();
    world.create("ci-1", "agent", 1, &json!({})).expect("made");
    world.with_token("ci-1", 1, &open("ci-1", "1")).expect("its own");
    assert_eq!(world.with_token("ci-1", 1, &open("ci-2", "2")), Err(Code::TokenMismatch));
    world
        .by(
            Some("ada"),
            "x",
            &from(json!({ "name": "ci-1", "role": "member", "reason": "r" }), "account.create"),
        )
        .expect("the name becomes a person's");
    assert_eq!(world.with_token("ci-1", 1, &open("ci-1", "3")), Err(Code::TokenMismatch));
}

#[test]
fn a_machines_token_opens_sessions_under_names_that_are_free_or_its_own_and_events_tell_the_machine() {
    let mut world = administered();
    world.create("mill", "machine", 1, &json!({})).expect("made");
    world.create("loom", "machine", 2, &json!({})).expect("made");
    world.create("ci-1", "agent", 3, &json!({})).expect("made");
    world.agent("carol");
    world.with_token("mill", 1, &open("spinner", "1")).expect("free");
    let event = &world.set.events.last().expect("recorded").event;
    assert_eq!(event.kind, EventKind::SessionOpened);
    assert_eq!(event.actor.machine.as_ref().map(PrincipalName::as_str), Some("mill"));
    assert_eq!(world.with_token("loom", 2, &open("spinner", "2")), Err(Code::TokenMismatch));
    for taken in ["carol", "ada", "ci-1", "loom", "mill"] {
        assert_eq!(world.with_token("mill", 1, &open(taken, "3")), Err(Code::TokenMismatch), "{taken}");
    }
    world.pass(600_000);
    world.with_token("mill", 1, &open("spinner", "4")).expect("its own");
    assert_eq!(world.create("spinner", "agent", 5, &json!({})), Err(Code::StateConflict));
}

#[test]
fn a_session_is_used_with_the_token_of_its_own_principal_or_machine() {
    let mut world = administered();
    world.create("mill", "machine", 1, &json!({})).expect("made");
    world.create("ci-1", "agent", 2, &json!({})).expect("made");
    world.with_token("mill", 1, &open("spinner", "1")).expect("opened");
    world.with_token("ci-1", 2, &open("ci-1", "2")).expect("opened");
    let carol = world.agent("carol");
    let session = |id: &str| world.set.sessions.get(&id.parse().expect("an id")).flatten().expect("known");
    let (spinner, ci) = (session(&"1".repeat(32)), session(&"2".repeat(32)));
    let carol = session(carol.session.as_str());
    let (machine, agent) = (world.token(1), world.token(2));
    assert!(machine.may_use(spinner) && !machine.may_use(ci) && !machine.may_use(carol));
    assert!(agent.may_use(ci) && !agent.may_use(spinner) && !agent.may_use(carol));
    // Opening again under the id and the proof of another's is no way in either.
    assert_eq!(world.with_token("ci-1", 2, &open("spinner", "1")), Err(Code::SessionUnknown));
}

#[test]
fn whoever_asks_hears_by_which_token_it_is_known() {
    let mut world = administered();
    world.create("mill", "machine", 1, &json!({ "read_only": true })).expect("made");
    let who = world.with_token("mill", 1, &from(json!({}), "whoami")).expect("told");
    assert_eq!((&who["token"]["name"], &who["token"]["read_only"]), (&json!("mill"), &json!(true)));
    let who = world.by(None, "x", &from(json!({}), "whoami")).expect("told");
    assert_eq!(who["token"], Value::Null, "the operating system vouches");
}

#[test]
fn tokens_are_listed_in_pages_by_id() {
    let mut world = administered();
    for hash in [3, 1, 2] {
        world.create("ci-1", "agent", hash, &json!({})).expect("made");
    }
    let list = |input: Value| from(input, "token.list");
    let page = world.by(Some("ada"), "x", &list(json!({ "limit": 2 }))).expect("listed");
    assert_eq!(page["tokens"][0]["token"], json!(id(1)));
    assert_eq!((page["tokens"].as_array().map(Vec::len), &page["more"]), (Some(2), &json!(true)));
    let rest = world.by(Some("ada"), "x", &list(json!({ "after": id(2) }))).expect("listed");
    assert_eq!((&rest["tokens"][0]["token"], &rest["more"]), (&json!(id(3)), &json!(false)));
}
