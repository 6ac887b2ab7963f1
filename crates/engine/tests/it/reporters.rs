//! Whose secret a renewal carries is judged with it, and it opens nothing else; and whoever changes a reporter in the store
//! shows in the record.

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::ids::{Digest, ReporterId};
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::WallTime;
use tenure_core::mutant::Mutant;
use tenure_engine::Command;
use tenure_engine::chain::{FlawKind, verify};
use tenure_engine::clock::Clocks;
use tenure_engine::execute::read;

use crate::accounts::{bootstrap, by, codes, flaw_after};
use crate::loop_of_work::{claim, with_tasks};
use crate::world::{Agent, World, on_every_store, operation, operation_id};

const MINUTE_MS: i64 = 60_000;

/// What the reporter whose secret has this hash asks.
fn report(hash: Digest, name: &str) -> Command {
    let envelope =
        Envelope { operation_id: Some(operation_id()), reporter: Some(hash), ..Envelope::default() };
    Command { operation: operation(name, json!({})), envelope }
}

fn renew(hash: u8) -> Command {
    report(Digest([hash; 32]), "reporter.renew")
}

fn declare(agent: &Agent, held: &Value, hash: u8, window_ms: i64) -> Command {
    let input = json!({ "task": held["task"]["id"], "hash": Digest([hash; 32]), "watches": "a build",
        "window_ms": window_ms });
    agent.fenced(operation("reporter.create", input), held)
}

/// A task that bob holds, and a reporter for 20 minutes.
fn reported(world: &mut World) -> (Agent, Value) {
    let bob = Agent::new("bob", 1);
    with_tasks(world, &bob, 2);
    let held = world.done(claim(&bob));
    world.done(declare(&bob, &held, 1, 20 * MINUTE_MS));
    (bob, held)
}

fn deadline(world: &mut World, held: &Value) -> i64 {
    let attempt = held["attempt"].as_str().expect("an attempt");
    world.number(&format!("SELECT deadline FROM attempt WHERE id = '{attempt}'"))
}

#[test]
fn a_lease_is_kept_alive_within_the_window_and_the_answer_is_given_again() {
    on_every_store(|mut world| {
        let (bob, held) = reported(&mut world);
        for _ in 0..15 {
            world.clocks.pass(MINUTE_MS);
            world.done(renew(1));
        }
        world.done(bob.fenced(operation("note", json!({ "task": held["task"]["id"], "text": "t" })), &held));
        let shown = world.ask(operation("attempts", json!({ "task": held["task"]["id"] })));
        assert_eq!(shown["attempts"][0]["reporter"]["renewed_age_ms"], 0);
        let beat = renew(1);
        let told = world.done(beat.clone());
        assert_eq!(world.done(beat)["deadline"], told["deadline"]);
        let end = report(Digest([1; 32]), "reporter.end");
        let told = world.done(end.clone());
        assert_eq!(world.done(end), told);
        assert_eq!(world.refused(renew(1)), Code::ReporterEnded);
        assert_eq!(verify(&mut *world.driver, &mut |_| ()).expect("verified").flaw, None);
    });
}

#[test]
fn beyond_its_window_a_reporter_renews_nothing() {
    let beyond = || {
        let mut world = World::in_memory();
        let (_, held) = reported(&mut world);
        let first = deadline(&mut world, &held);
        world.clocks.pass(9 * MINUTE_MS);
        world.done(renew(1));
        world.clocks.pass(9 * MINUTE_MS);
        world.done(renew(1));
        // The lease ends with the window: ten minutes after the claim, and ten more.
        deadline(&mut world, &held) - first
    };
    assert!((10 * MINUTE_MS..=10 * MINUTE_MS + 100).contains(&beyond()), "{}", beyond());
    let mistaken = Mutant::ReporterBeyondWindow.while_on(beyond);
    assert!(mistaken > 11 * MINUTE_MS, "the mistake would be noticed: {mistaken}");
}

#[test]
fn a_reporter_that_was_ended_renews_nothing() {
    let ended = || {
        let mut world = World::in_memory();
        let (bob, held) = reported(&mut world);
        let revoke = bob.fenced(operation("reporter.revoke", json!({ "task": held["task"]["id"] })), &held);
        // Within the same batch too.
        codes(&mut world, vec![revoke, renew(1)])
    };
    assert_eq!(ended(), [None, Some(Code::ReporterEnded)]);
    assert_eq!(Mutant::ReporterEnded.while_on(ended), [None, None], "the mistake would be noticed");
}

#[test]
fn after_its_end_or_a_takeover_a_reporter_renews_nothing() {
    let expired = || {
        let mut world = World::in_memory();
        reported(&mut world);
        world.clocks.pass(10 * MINUTE_MS);
        codes(&mut world, vec![renew(1)])
    };
    let taken = || {
        let mut world = World::in_memory();
        let (_, held) = reported(&mut world);
        world.clocks.pass(10 * MINUTE_MS);
        let carol = Agent::new("carol", 2);
        world.done(carol.open());
        let task = held["task"]["id"].clone();
        world.done(carol.command(operation("claim", json!({ "task": task }))));
        codes(&mut world, vec![renew(1)])
    };
    for story in [&expired as &dyn Fn() -> Vec<Option<Code>>, &taken] {
        assert_eq!(story(), [Some(Code::LeaseExpired)]);
        assert_eq!(Mutant::ReporterAfterAttempt.while_on(story), [None], "the mistake would be noticed");
    }
}

#[test]
fn a_reporter_ends_with_the_session_and_the_token_that_it_was_made_under() {
    let outlives = || {
        let mut world = World::in_memory();
        world.done(bootstrap("ada", "first"));
        let input = json!({ "name": "bob", "kind": "agent", "hash": Digest([5; 32]), "valid_ms": 90 * MINUTE_MS, "reason": "r" });
        let token = world.done(by("ada", "first", operation("token.create", input)));
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        let (one, other) = (world.done(claim(&bob)), {
            let another = json!({ "projects": ["afc"], "another": true });
            world.done(bob.command(operation("claim", another)))
        });
        let mut by_network = declare(&bob, &one, 1, 20 * MINUTE_MS);
        by_network.envelope.token = Some(Digest([5; 32]));
        world.done(by_network);
        world.done(declare(&bob, &other, 2, 20 * MINUTE_MS));
        world.done(renew(1));
        let revoke = json!({ "token": token["token"]["token"], "reason": "lost" });
        world.done(by("ada", "first", operation("token.revoke", revoke)));
        let revoked = codes(&mut world, vec![renew(1), renew(2)]);
        world.done(bob.command(operation("session.close", json!({}))));
        [revoked, codes(&mut world, vec![renew(2)])].concat()
    };
    assert_eq!(outlives(), [Some(Code::Unauthenticated), None, Some(Code::SessionClosed)]);
    assert_eq!(Mutant::ReporterOutlives.while_on(outlives), [None; 3], "the mistake would be noticed");
}

#[test]
fn only_its_own_secret_proves_a_reporter() {
    let proven = || {
        let mut world = World::in_memory();
        reported(&mut world);
        // The id of the one and the rest of another.
        let mut forged = [1; 32];
        forged[31] = 9;
        assert_eq!(ReporterId::of(&Digest(forged)), ReporterId::of(&Digest([1; 32])));
        codes(&mut world, vec![report(Digest(forged), "reporter.renew"), renew(2)])
    };
    assert_eq!(proven(), [Some(Code::Unauthenticated); 2]);
    let mistaken = [None, Some(Code::Unauthenticated)];
    assert_eq!(Mutant::ReporterUnproven.while_on(proven), mistaken, "the mistake would be noticed");
}

#[test]
fn a_reporter_opens_nothing_but_renewing_its_own_attempt() {
    let opened = || {
        let mut world = World::in_memory();
        let (bob, held) = reported(&mut world);
        let task = held["task"]["id"].clone();
        let wall = WallTime(world.clocks.wall_ms());
        let envelope = Envelope { reporter: Some(Digest([1; 32])), ..Envelope::default() };
        let shown = operation("task.show", json!({ "task": task }));
        let asked: Result<String, Refusal> = world
            .attempt(|driver| read(driver, &shown, &envelope, wall, Durations::default()))
            .expect("the store works");
        // Even beside all that the holder has.
        let mut close = bob.fenced(operation("close", json!({ "task": task })), &held);
        close.envelope.reporter = Some(Digest([1; 32]));
        [vec![asked.err().map(|refusal| refusal.code)], codes(&mut world, vec![close])].concat()
    };
    assert_eq!(opened(), [Some(Code::ReporterLimited); 2]);
    assert_eq!(Mutant::ReporterReads.while_on(opened), [None; 2], "the mistake would be noticed");
    let mut world = World::in_memory();
    reported(&mut world);
    let mut nobody = renew(1);
    nobody.envelope.reporter = None;
    assert_eq!(world.refused(nobody), Code::Unauthenticated);
}

#[test]
fn whoever_changes_reporters_in_the_store_shows_in_the_record() {
    let altered = |sql: &str| {
        let mut world = World::in_memory();
        let (bob, held) = reported(&mut world);
        world.done(declare(&bob, &held, 2, MINUTE_MS));
        world.done(renew(2));
        flaw_after(&mut world, sql)
    };
    let of = |hash: u8, set: &str| {
        format!("UPDATE reporter SET {set} WHERE id = '{}'", ReporterId::of(&Digest([hash; 32])))
    };
    let ended = Some((FlawKind::Reporter, "reporter_ended".to_owned()));
    assert_eq!(altered(&of(1, "ended_at = NULL")), ended);
    let created = Some((FlawKind::Reporter, "reporter_created".to_owned()));
    for set in ["until = 9999999999999", "watches = 'else'", "created_at = 5"] {
        assert_eq!(altered(&of(2, set)), created, "{set}");
    }
    assert_eq!(altered(&of(2, &format!("hash = '{}'", Digest([9; 32])))), created);
    assert_eq!(altered(&of(2, "renewed_at = NULL")), None, "renewals leave no event");
    let planted = "INSERT INTO reporter (id, attempt, session, principal, hash, watches, created_at, until) \
                   SELECT '0123456789ab', attempt, session, principal, hash, watches, created_at, until \
                   FROM reporter LIMIT 1";
    assert_eq!(altered(planted).map(|(kind, _)| kind), Some(FlawKind::UntoldReporter));
}
