//! Whose token a request carries is judged with the operation, by the token as it is then; and whoever changes a token in
//! the store shows in the record.

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::ids::{Digest, TokenId};
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::WallTime;
use tenure_core::mutant::Mutant;
use tenure_core::operation::catalog::AnyOperation;
use tenure_engine::Command;
use tenure_engine::chain::{FlawKind, verify};
use tenure_engine::clock::Clocks;
use tenure_engine::execute::read;

use crate::accounts::{bootstrap, by, codes, events, flaw_after};
use crate::world::{Agent, World, on_every_store, operation};

const MINUTE_MS: i64 = 60_000;

fn administered() -> World {
    let mut world = World::in_memory();
    world.done(bootstrap("ada", "first"));
    world
}

fn token(world: &mut World, name: &str, kind: &str, hash: u8, read_only: bool) {
    world.done(create(name, kind, hash, read_only));
}

fn create(name: &str, kind: &str, hash: u8, read_only: bool) -> Command {
    let input = json!({
        "name": name, "kind": kind, "hash": Digest([hash; 32]), "read_only": read_only, "valid_ms": 10 * MINUTE_MS,
        "reason": "joins",
    });
    by("ada", "first", operation("token.create", input))
}

fn id(hash: u8) -> TokenId {
    TokenId::of(&Digest([hash; 32]))
}

fn revoke(hash: u8) -> Command {
    by("ada", "first", operation("token.revoke", json!({ "token": id(hash), "reason": "lost" })))
}

/// The same command as it comes by the network.
fn with(hash: u8, mut command: Command) -> Command {
    command.envelope.token = Some(Digest([hash; 32]));
    command
}

fn create_project(agent: &Agent, key: &str) -> Command {
    agent.command(operation("project.create", json!({ "key": key })))
}

fn asked(world: &mut World, hash: u8, operation: &AnyOperation) -> Result<Value, Refusal> {
    let wall = WallTime(world.clocks.wall_ms());
    let envelope = Envelope { token: Some(Digest([hash; 32])), ..Envelope::default() };
    let answer = world.attempt(|driver| read(driver, operation, &envelope, wall, Durations::default()));
    answer.expect("the store works").map(|answer| serde_json::from_str(&answer).expect("JSON"))
}

#[test]
fn an_agent_with_a_token_works_and_events_tell_the_machine() {
    on_every_store(|mut world| {
        world.done(bootstrap("ada", "first"));
        token(&mut world, "ci-1", "agent", 1, false);
        token(&mut world, "mill", "machine", 2, false);
        let (ci, spinner) = (Agent::new("ci-1", 1), Agent::new("spinner", 2));
        world.done(with(1, ci.open()));
        world.done(with(1, create_project(&ci, "p")));
        world.done(with(2, spinner.open()));
        world.done(with(2, create_project(&spinner, "q")));
        let told = events(&mut world);
        let made = |key: &str| told.iter().find(|event| event["project"] == key).expect("recorded");
        assert_eq!(made("p")["actor"]["machine"], Value::Null);
        assert_eq!(made("q")["actor"]["machine"], "mill");
        assert_eq!(made("q")["actor"]["principal"], "spinner");
        assert_eq!(
            world.refused(with(3, create_project(&ci, "r"))),
            Code::Unauthenticated,
            "nobody has that token"
        );
        let who = asked(&mut world, 2, &operation("whoami", json!({}))).expect("told");
        assert_eq!(who["token"]["name"], "mill");
        assert_eq!(verify(&mut *world.driver, &mut |_| ()).expect("verified").flaw, None);
    });
}

#[test]
fn a_revoked_token_counts_no_more_not_even_within_the_same_batch() {
    let revoked = || {
        let mut world = administered();
        token(&mut world, "ci-1", "agent", 1, false);
        let agent = Agent::new("ci-1", 1);
        world.done(with(1, agent.open()));
        let told = codes(&mut world, vec![revoke(1), with(1, create_project(&agent, "p"))]);
        let asked =
            asked(&mut world, 1, &operation("project.list", json!({}))).map_err(|refusal| refusal.code);
        (told, asked.err())
    };
    assert_eq!(revoked(), (vec![None, Some(Code::Unauthenticated)], Some(Code::Unauthenticated)));
    assert_eq!(
        Mutant::RevokedToken.while_on(revoked),
        (vec![None, None], None),
        "the mistake would be noticed"
    );
}

#[test]
fn what_was_answered_before_is_not_told_again_to_a_revoked_token() {
    let mut world = administered();
    token(&mut world, "ci-1", "agent", 1, false);
    let agent = Agent::new("ci-1", 1);
    world.done(with(1, agent.open()));
    let command = with(1, create_project(&agent, "p"));
    let answer = world.done(command.clone());
    assert_eq!(world.done(command.clone()), answer);
    world.done(revoke(1));
    assert_eq!(world.refused(command), Code::Unauthenticated);
}

#[test]
fn a_token_ends_at_its_moment_of_the_wall_clock() {
    let over = || {
        let mut world = administered();
        token(&mut world, "ci-1", "agent", 1, false);
        let agent = Agent::new("ci-1", 1);
        world.done(with(1, agent.open()));
        world.clocks.pass(10 * MINUTE_MS - 1);
        world.done(with(1, create_project(&agent, "p")));
        world.clocks.pass(1);
        let told = codes(&mut world, vec![with(1, create_project(&agent, "q"))]);
        let asked =
            asked(&mut world, 1, &operation("project.list", json!({}))).map_err(|refusal| refusal.code);
        (told, asked.err())
    };
    assert_eq!(over(), (vec![Some(Code::Unauthenticated)], Some(Code::Unauthenticated)));
    assert_eq!(Mutant::ExpiredToken.while_on(over), (vec![None], None), "the mistake would be noticed");
}

#[test]
fn a_token_that_only_asks_changes_nothing() {
    let changed = || {
        let mut world = administered();
        token(&mut world, "ci-1", "agent", 1, true);
        let agent = Agent::new("ci-1", 1);
        asked(&mut world, 1, &operation("project.list", json!({}))).expect("it may ask");
        codes(&mut world, vec![with(1, agent.open())])
    };
    assert_eq!(changed(), [Some(Code::TokenReadOnly)]);
    assert_eq!(Mutant::ReadOnlyWrites.while_on(changed), [None], "the mistake would be noticed");
}

#[test]
fn a_token_that_only_asks_renews_no_lease() {
    let mut world = administered();
    token(&mut world, "ci-1", "agent", 1, true);
    let agent = Agent::new("ci-1", 1);
    world.done(agent.open());
    world.done(create_project(&agent, "p"));
    world.done(agent.command(operation("task.create", json!({ "project": "p", "title": "work" }))));
    let claim = world.done(agent.command(operation("claim", json!({ "task": "p-1" }))));
    let beat = agent.fenced(operation("heartbeat", json!({ "task": "p-1" })), &claim);
    assert_eq!(world.refused(with(1, beat)), Code::TokenReadOnly);
}

#[test]
fn another_agents_session_is_none_whatever_its_proof_says() {
    let used = || {
        let mut world = administered();
        token(&mut world, "ci-1", "agent", 1, false);
        token(&mut world, "ci-2", "agent", 2, false);
        token(&mut world, "mill", "machine", 3, false);
        token(&mut world, "loom", "machine", 4, false);
        let (ci, spinner, local) = (Agent::new("ci-1", 1), Agent::new("spinner", 2), Agent::new("local", 3));
        world.done(with(1, ci.open()));
        world.done(with(3, spinner.open()));
        world.done(local.open());
        let foreign = [
            with(2, create_project(&ci, "a")),
            with(3, create_project(&ci, "b")),
            with(4, create_project(&spinner, "c")),
            with(1, create_project(&spinner, "d")),
            with(3, create_project(&local, "e")),
            with(1, create_project(&local, "f")),
        ];
        codes(&mut world, foreign.to_vec())
    };
    assert_eq!(used(), [Some(Code::SessionUnknown); 6]);
    assert_eq!(Mutant::ForeignSession.while_on(used), [None; 6], "the mistake would be noticed");
}

#[test]
fn a_session_of_this_machine_is_used_by_the_network_with_the_agents_own_token() {
    let mut world = administered();
    let agent = Agent::new("ci-1", 1);
    world.done(agent.open());
    token(&mut world, "ci-1", "agent", 1, false);
    world.done(with(1, create_project(&agent, "p")));
    world.done(create_project(&agent, "q"));
}

#[test]
fn a_lost_answer_to_making_a_token_is_given_again() {
    on_every_store(|mut world| {
        world.done(bootstrap("ada", "first"));
        let command = create("ci-1", "agent", 1, false);
        let answer = world.done(command.clone());
        assert_eq!(world.done(command), answer);
        let rotate = json!({ "token": id(1), "kind": "agent", "hash": Digest([2; 32]), "reason": "due" });
        let command = by("ada", "first", operation("token.rotate", rotate));
        let answer = world.done(command.clone());
        assert_eq!(world.done(command), answer);
        assert_eq!(verify(&mut *world.driver, &mut |_| ()).expect("verified").flaw, None);
    });
}

#[test]
fn whoever_changes_tokens_in_the_store_shows_in_the_record() {
    let altered = |sql: &str| {
        let mut world = administered();
        token(&mut world, "ci-1", "agent", 1, true);
        token(&mut world, "ci-2", "agent", 2, false);
        let rotate = json!({ "token": id(2), "kind": "agent", "hash": Digest([3; 32]), "reason": "due" });
        world.done(by("ada", "first", operation("token.rotate", rotate)));
        world.done(revoke(1));
        flaw_after(&mut world, sql)
    };
    let revoked = Some((FlawKind::Token, "token_revoked".to_owned()));
    let of = |hash: u8, set: &str| format!("UPDATE token SET {set} WHERE id = '{}'", id(hash));
    for set in ["revoked_at = NULL", "read_only = 0", "principal = 'ada'", "expires_at = 9999999999999"] {
        assert_eq!(altered(&of(1, set)), revoked, "{set}");
    }
    assert_eq!(altered(&of(1, &format!("hash = '{}'", Digest([9; 32])))), revoked);
    let rotated = Some((FlawKind::Token, "token_rotated".to_owned()));
    assert_eq!(altered(&of(2, "revoked_at = NULL")), rotated);
    assert_eq!(altered(&of(3, "kind = 'machine'")), rotated);
    assert_eq!(altered(&format!("DELETE FROM token WHERE id = '{}'", id(3))), rotated);
    let insert = format!(
        "INSERT INTO token (id, kind, principal, hash, read_only, created_at, expires_at) \
         VALUES ('{}', 'agent', 'ci-1', '{}', 0, 1, 9999999999999)",
        id(9),
        Digest([9; 32])
    );
    assert_eq!(altered(&insert).map(|(kind, _)| kind), Some(FlawKind::UntoldToken));
}
