//! A command is stopped when ownership is lost, before anybody else can have it, and nothing is called done then.

use rustix::process::Signal;
use serde_json::json;
use tenure_core::model::attempt::EntryKind;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::TaskId;
use tenure_core::operation::ownership::{Claimed, Heartbeat};
use tenure_core::operation::record::History;
use tenure_sim::agent::{Agent, Outcome, client};
use tenure_sim::daemon::has_ended;
use tenure_sim::waiting;

use super::super::races::named;
use super::{Story, THREE, gone, guard_of, stand_still};

/// Takes the task as soon as nobody else's lease is in the way.
fn taken_over(agent: &Agent, task: &TaskId) -> Claimed {
    waiting::some("the lease ends", || match agent.ask(&named(task)) {
        Outcome::Ok(claimed) => Some(claimed),
        Outcome::Refused(_) | Outcome::Unknown(_) => None,
    })
}

#[test]
fn a_daemon_that_stays_away_stops_the_command_before_the_lease_can_end() {
    let story = Story::leasing(12_000);
    let task = story.task();
    // It does not hear the asking, so it is there until it is ended.
    let mut running = story.start(&task, &[], "trap '' TERM; echo $$; while :; do sleep 0.01; done");
    let command = running.number();
    story.daemon.stop();
    gone(&[command]);
    story.daemon.go_on();
    // The coordinator's own time, read by a write: the lease has not ended yet.
    let later = story.task();
    let events = story.events();
    let moment = events.iter().find(|event| event.task.as_ref() == Some(&later)).expect("created").fleet_time;
    let attempts = story.shell.json(&["attempts", &task.to_string()]);
    let deadline = attempts["attempts"][0]["deadline"].as_i64().expect("a deadline");
    assert!(moment.0 < deadline, "ended at {} or before, the lease ends at {deadline}", moment.0);
    let ran = running.end();
    assert_eq!(ran.code, 123, "{}", ran.err);
    assert_eq!(story.endings(&task), []);
}

#[test]
fn a_run_that_stands_still_does_not_keep_its_command_going() {
    let story = Story::leasing(2_000);
    let task = story.task();
    let mut running = story.start(&task, &[], THREE);
    let pids = [running.number(), running.number(), running.number()];
    stand_still(running.child.id());
    let bob = Agent::open(client(story.place.state()), "bob");
    let claimed = taken_over(&bob, &task);
    assert!(pids.iter().all(|pid| has_ended(*pid)), "nobody works on it any more");
    running.signal(Signal::CONT);
    let ran = running.end();
    assert_eq!(ran.code, 123, "{}", ran.err);
    assert_eq!(story.endings(&task), []);
    bob.ask(&Heartbeat { task: claimed.task.id }).ok();
    let history = story.founder.client.call(&History { task, limit: None }, None).expect("it can be read");
    let notes: Vec<_> = history.value.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(notes, [EntryKind::RecoveryNote], "what run knows is kept, and changes nothing");
}

#[test]
fn a_run_that_is_told_of_a_takeover_stops_what_its_guard_does_not() {
    let story = Story::leasing(2_000);
    let task = story.task();
    let mut running = story.start(&task, &[], "echo $$; while :; do sleep 0.01; done");
    let command = running.number();
    // Only when both stand still nothing is promised; that is how somebody else can have it meanwhile.
    let guard = guard_of(command);
    stand_still(guard);
    stand_still(running.child.id());
    let bob = Agent::open(client(story.place.state()), "bob");
    taken_over(&bob, &task);
    assert!(!has_ended(command));
    running.signal(Signal::CONT);
    let ran = running.end();
    gone(&[command, guard]);
    assert_eq!(ran.code, 123, "{}", ran.err);
    assert_eq!(story.endings(&task), []);
}

#[test]
fn a_session_that_is_closed_beside_a_run_stops_its_command() {
    let story = Story::leasing(3_000);
    let task = story.task();
    let mut running = story.start(&task, &[], "echo $$; while :; do sleep 0.01; done");
    let command = running.number();
    story.shell.json(&["session", "close"]);
    let ran = running.end();
    assert!(has_ended(command));
    assert_eq!(ran.code, 123, "{}", ran.err);
    assert!(ran.err.contains("was closed or replaced"), "{}", ran.err);
    assert_eq!(story.endings(&task), []);
}

#[test]
fn a_stop_that_is_asked_for_stops_the_command_and_hands_off() {
    let story = Story::leasing(3_000);
    let task = story.task();
    let mut running = story.start(&task, &[], THREE);
    let pids = [running.number(), running.number(), running.number()];
    let asked = story.founder.mutate("task.cancel", &json!({ "task": task, "reason": "not wanted" }));
    assert_eq!(asked.expect("it is asked")["asked_to_stop"], "ada");
    let ran = running.end();
    assert!(pids.iter().all(|pid| has_ended(*pid)));
    assert_eq!(ran.code, 123, "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskHandedOff]);
    assert!(story.texts(&task).contains("cancellation was asked for"), "{}", story.texts(&task));
}

#[test]
fn an_outcome_that_nobody_can_record_is_said_and_left() {
    let mut story = Story::leasing(2_000);
    let (task, go) = (story.task(), story.place.root().join("go"));
    let script = format!("echo $$; while ! test -e {}; do sleep 0.01; done", go.display());
    let mut running = story.start(&task, &[], &script);
    let command = running.number();
    story.daemon.kill();
    // A folder that is nobody's keeps the next daemon from starting.
    let marker = story.place.state().join("fleet");
    std::fs::write(&marker, "another-fleet").expect("it is ours");
    std::fs::write(go, "").expect("it is ours");
    gone(&[command]);
    let ran = running.end();
    assert_eq!(ran.code, 125, "{}", ran.err);
    assert!(ran.err.contains("could not be recorded"), "{}", ran.err);
}
