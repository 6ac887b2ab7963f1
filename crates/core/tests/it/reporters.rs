//! Reporters: what a renewal beside the holder's moves, what it leaves alone, and how it ends.

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::attempt::Attempt;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::{AttemptId, Digest, ReporterId};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::reporter::Reporter;

use crate::world::{Agent, World, from};

const LEASE_MS: i64 = 600_000;
const WINDOW_MS: i64 = 45 * 60_000;

fn id(hash: u8) -> ReporterId {
    ReporterId::of(&Digest([hash; 32]))
}

impl World {
    fn declare(
        &mut self,
        agent: &Agent,
        attempt: &AttemptId,
        hash: u8,
        window_ms: i64,
    ) -> Result<Value, Code> {
        let input = json!({ "task": attempt.task, "hash": Digest([hash; 32]), "watches": "cargo test",
            "window_ms": window_ms });
        let told = self.fenced(agent, attempt, from(input, "reporter.create"));
        told.map(|told| serde_json::from_str(&told).expect("JSON")).map_err(|refusal| refusal.code)
    }

    fn reporter(&self, hash: u8) -> Reporter {
        self.set.reporters.get(&id(hash)).flatten().expect("a reporter").clone()
    }

    fn at(&self, attempt: &AttemptId) -> Attempt {
        self.set.attempts.get(attempt).flatten().expect("an attempt").clone()
    }

    /// What the reporter of this hash asks, under an operation id of its own or this one.
    fn report(&mut self, hash: u8, operation: &str, id: Option<&str>) -> Result<Value, Refusal> {
        let operation_id = id.map_or_else(|| self.next_operation(), |id| id.parse().expect("an id"));
        let envelope = Envelope { operation_id: Some(operation_id), ..Envelope::default() };
        let mut call = self.call(None, envelope);
        call.reporter = Some(self.reporter(hash));
        let told = self.settle(&call, &from(json!({}), operation))?;
        Ok(serde_json::from_str(&told).expect("JSON"))
    }

    fn renew(&mut self, hash: u8) -> Result<Value, Code> {
        self.report(hash, "reporter.renew", None).map_err(|refusal| refusal.code)
    }
}

/// A task that `a` holds.
fn held() -> (World, Agent, AttemptId) {
    let (mut world, a) = World::with_project();
    world.task(&a, &json!({}));
    let attempt = world.claim(&a, Some("p-1")).expect("free").attempt;
    (world, a, attempt)
}

#[test]
fn a_lease_is_renewed_up_to_the_end_of_the_window_and_no_further() {
    let (mut world, a, attempt) = held();
    let made = world.declare(&a, &attempt, 1, WINDOW_MS).expect("made");
    assert_eq!((&made["window_ms"], &made["renew_ms"]), (&json!(WINDOW_MS), &json!(60_000)));
    let until = world.now.fleet.plus_ms(WINDOW_MS);
    let mut deadlines = Vec::new();
    while !world.now.fleet.has_reached(until) {
        let told = world.renew(1).expect("renewed");
        deadlines.push(world.at(&attempt).deadline.since_ms(world.now.fleet));
        assert_eq!(told["expires_in_ms"], json!(deadlines.last()));
        world.pass(LEASE_MS / 2);
    }
    assert_eq!(deadlines.first(), Some(&LEASE_MS));
    assert_eq!(deadlines.last(), Some(&(LEASE_MS / 2)), "the window ended first");
    assert_eq!(world.at(&attempt).deadline, until);
    assert_eq!(world.renew(1), Err(Code::LeaseExpired));
}

#[test]
fn what_the_holder_renews_is_not_shortened_and_outlasts_the_window() {
    let (mut world, a, attempt) = held();
    world.declare(&a, &attempt, 1, 1_000).expect("made");
    let before = world.at(&attempt).deadline;
    world.renew(1).expect("renewed");
    assert_eq!(world.at(&attempt).deadline, before);
    world.pass(1_000);
    assert_eq!(world.renew(1), Err(Code::ReporterEnded));
    world.fenced(&a, &attempt, from(json!({ "task": "p-1" }), "heartbeat")).expect("the holder renews");
}

#[test]
fn a_renewal_is_neither_progress_nor_the_holder_s_presence_nor_its_sign_of_life() {
    let (mut world, a, attempt) = held();
    world.declare(&a, &attempt, 1, WINDOW_MS).expect("made");
    let (before, events) = (world.at(&attempt), world.set.events.len());
    let present = world.set.sessions.get(&a.session).flatten().expect("known").present_until;
    for _ in 0..16 {
        world.pass(60_000);
        world.renew(1).expect("renewed");
    }
    let after = world.at(&attempt);
    assert_eq!(Attempt { deadline: after.deadline, ..before }, after, "only the deadline moved");
    assert_eq!(world.set.sessions.get(&a.session).flatten().expect("known").present_until, present);
    assert_eq!(world.set.events.len(), events);
    let told = world.renew(1).expect("renewed");
    assert_eq!((&told["progress_overdue"], &told["cancel_requested"]), (&json!(true), &json!(false)));
    let b = world.agent("b");
    world.ok(&b, from(json!({ "task": "p-1", "reason": "not needed" }), "task.cancel"));
    assert_eq!(world.renew(1).expect("renewed")["cancel_requested"], true);
}

#[test]
fn a_repeated_renewal_answers_the_same_and_moves_nothing() {
    let (mut world, a, attempt) = held();
    world.declare(&a, &attempt, 1, WINDOW_MS).expect("made");
    let first = world.report(1, "reporter.renew", Some("again")).expect("renewed");
    world.pass(1_000);
    let second = world.report(1, "reporter.renew", Some("again")).expect("answered");
    assert_eq!(first["deadline"], second["deadline"]);
    assert_ne!(
        world.report(1, "reporter.renew", Some("other")).expect("renewed")["deadline"],
        first["deadline"]
    );
}

#[test]
fn a_window_is_bounded_and_the_next_one_ends_the_one_before() {
    let (mut world, a, attempt) = held();
    for wrong in [0, -1, 999, 3_600_001, i64::MAX, i64::MIN] {
        assert_eq!(world.declare(&a, &attempt, 1, wrong), Err(Code::InvalidInput), "{wrong}");
    }
    world.declare(&a, &attempt, 1, 3_600_000).expect("made");
    world.declare(&a, &attempt, 2, 1_000).expect("made");
    assert_eq!(world.renew(1), Err(Code::ReporterEnded));
    let kinds: Vec<EventKind> =
        world.set.events.iter().rev().take(3).map(|stored| stored.event.kind).collect();
    assert_eq!(kinds, [EventKind::ReporterCreated, EventKind::ReporterEnded, EventKind::ReporterCreated]);
    world.renew(2).expect("renewed");
    world.fenced(&a, &attempt, from(json!({ "task": "p-1" }), "reporter.revoke")).expect("revoked");
    assert_eq!(world.renew(2), Err(Code::ReporterEnded));
    let again = world.fenced(&a, &attempt, from(json!({ "task": "p-1" }), "reporter.revoke"));
    assert_eq!(again.expect_err("nobody renews").code, Code::StateConflict);
}

#[test]
fn only_the_holder_declares_a_window() {
    let (mut world, a, attempt) = held();
    let b = world.agent("b");
    assert_eq!(world.declare(&b, &attempt, 1, WINDOW_MS), Err(Code::NotHolder));
    world.pass(LEASE_MS);
    assert_eq!(world.declare(&a, &attempt, 1, WINDOW_MS), Err(Code::LeaseExpired));
}

#[test]
fn it_ends_with_the_attempt_the_takeover_and_the_session() {
    for end in ["release", "expiry", "session"] {
        let (mut world, a, attempt) = held();
        world.declare(&a, &attempt, 1, WINDOW_MS).expect("made");
        world.renew(1).expect("renewed");
        let code = match end {
            "release" => {
                world.fenced(&a, &attempt, from(json!({ "task": "p-1" }), "release")).expect("released");
                Code::Superseded
            }
            "session" => {
                world.ok(&a, from(json!({}), "session.close"));
                Code::SessionClosed
            }
            _ => {
                world.pass(LEASE_MS);
                assert_eq!(world.renew(1), Err(Code::LeaseExpired), "it does not come back");
                let b = world.agent("b");
                let taken = world.claim(&b, Some("p-1")).expect("taken over").attempt;
                let before = world.at(&taken);
                assert_eq!(world.renew(1), Err(Code::LeaseExpired));
                assert_eq!(world.at(&taken), before);
                continue;
            }
        };
        assert_eq!(world.renew(1), Err(code), "{end}");
        assert_eq!(world.report(1, "reporter.end", None).expect_err(end).code, code);
    }
}

#[test]
fn it_ends_itself_and_the_record_says_for_whom_it_acted() {
    let (mut world, a, attempt) = held();
    world.declare(&a, &attempt, 1, WINDOW_MS).expect("made");
    let over = world.report(1, "reporter.end", None).expect("ended");
    assert_eq!((&over["reporter"], &over["attempt"]), (&json!(id(1)), &json!(attempt)));
    let event = &world.set.events.last().expect("recorded").event;
    assert_eq!((event.kind, &event.attempt), (EventKind::ReporterEnded, &Some(attempt.clone())));
    assert_eq!(event.actor.reporter, Some(id(1)));
    assert_eq!(event.actor.principal.as_ref().map(ToString::to_string).as_deref(), Some("a"));
    assert_eq!(event.actor.session, Some(a.session.clone()));
    assert_eq!(event.data["row"], json!(world.reporter(1).digest()));
    assert_eq!(world.renew(1), Err(Code::ReporterEnded));
}

#[test]
fn a_task_and_its_attempts_show_the_declared_job_and_how_old_its_observation_is() {
    let (mut world, a, attempt) = held();
    world.declare(&a, &attempt, 1, WINDOW_MS).expect("made");
    let shown =
        world.ok(&a, from(json!({ "task": "p-1" }), "task.show"))["task"]["attempt"]["reporter"].clone();
    assert_eq!((&shown["watches"], &shown["window_ms"]), (&json!("cargo test"), &json!(WINDOW_MS)));
    assert_eq!(shown["renewed_age_ms"], Value::Null);
    world.renew(1).expect("renewed");
    world.pass(20_000);
    let shown = world.ok(&a, from(json!({ "task": "p-1" }), "attempts"))["attempts"][0]["reporter"].clone();
    assert_eq!((&shown["renewed_age_ms"], &shown["window_ms"]), (&json!(20_000), &json!(WINDOW_MS - 20_000)));
    world.pass(LEASE_MS);
    let shown = world.ok(&a, from(json!({ "task": "p-1" }), "attempts"))["attempts"][0]["reporter"].clone();
    assert_eq!(shown["window_ms"], 0, "nobody renews what is over");
}
