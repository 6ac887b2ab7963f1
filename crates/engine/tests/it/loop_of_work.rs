//! Real operations on a real store: sessions, replays, groups of claims, and time.

use serde_json::{Value, json};
use tenure_core::model::limits::RECEIPT_MS;
use tenure_core::model::refusal::Code;
use tenure_engine::Command;

use crate::world::{Agent, World, on_every_store, operation, operation_id, text};

/// Opens the agent's session and makes a project with so many tasks.
pub fn with_tasks(world: &mut World, agent: &Agent, tasks: usize) {
    world.done(agent.open());
    world.done(agent.command(operation("project.create", json!({ "key": "afc" }))));
    let create = |n| {
        agent.command(operation("task.create", json!({ "project": "afc", "title": format!("task {n}") })))
    };
    let answers = world.batch((1..=tasks).map(create).collect()).expect("the store works").answers;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

pub fn claim(agent: &Agent) -> Command {
    agent.command(operation("claim", json!({ "projects": ["afc"], "another": true })))
}

fn with_id(mut command: Command, id: &str) -> Command {
    command.envelope.operation_id = Some(id.parse().expect("valid"));
    command.envelope.token_hash = None;
    command
}

#[test]
fn a_task_goes_from_creation_to_done() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        let claimed = world.done(claim(&bob));
        assert_eq!(text(&claimed, "attempt"), "afc-1@1");
        let beat = bob.fenced(operation("heartbeat", json!({ "task": "afc-1" })), &claimed);
        assert_eq!(world.done(beat)["expires_in_ms"], 600_000);
        let close = bob.fenced(operation("close", json!({ "task": "afc-1", "note": "done" })), &claimed);
        assert_eq!(world.done(close)["task"]["lifecycle"], "done");
        let ready = world.ask(operation("ready", json!({ "project": "afc" })));
        assert_eq!((&ready["total"], &ready["tasks"][0]["id"]), (&json!(1), &json!("afc-2")));
        assert_eq!(world.number("SELECT count(*) FROM event"), world.number("SELECT event FROM fleet"));
    });
}

#[test]
fn a_repeated_heartbeat_renews_once_and_one_without_an_id_is_refused() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 1);
        let claimed = world.done(claim(&bob));
        let beat = bob.fenced(operation("heartbeat", json!({ "task": "afc-1" })), &claimed);
        world.clocks.pass(1_000);
        assert_eq!(world.done(beat.clone())["expires_in_ms"], 600_000);
        world.clocks.pass(1_000);
        assert_eq!(world.done(beat.clone())["expires_in_ms"], 599_000);
        let mut unnamed = beat;
        unnamed.envelope.operation_id = None;
        assert_eq!(world.refused(unnamed), Code::InvalidInput);
    });
}

#[test]
fn a_group_of_claims_in_one_commit_gives_each_its_own_task() {
    on_every_store(|mut world| {
        let agents: Vec<Agent> = (1..=40).map(|n| Agent::new(&format!("agent-{n}"), n)).collect();
        with_tasks(&mut world, &agents[0], 30);
        let opened = world.batch(agents[1..].iter().map(Agent::open).collect()).expect("the store works");
        assert!(opened.answers.iter().all(Result::is_ok));
        let answers = world.batch(agents.iter().map(claim).collect()).expect("the store works").answers;
        let mut tasks: Vec<String> = answers
            .iter()
            .filter_map(|answer| answer.as_ref().ok())
            .map(|answer| text(&serde_json::from_str(answer).expect("JSON"), "attempt").to_owned())
            .collect();
        tasks.sort();
        tasks.dedup();
        assert_eq!(tasks.len(), 30);
        let refused = answers.iter().filter_map(|answer| answer.as_ref().err());
        assert!(refused.clone().all(|refusal| refusal.code == Code::NothingEligible), "{answers:?}");
        assert_eq!(refused.count(), 10);
    });
}

#[test]
fn a_group_of_everything_that_is_hot_happens_together() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 4);
        let held = world.done(claim(&bob));
        let group = vec![
            claim(&bob),
            bob.fenced(operation("close", json!({ "task": "afc-1", "note": "done" })), &held),
            bob.command(operation("task.create", json!({ "project": "afc", "title": "more" }))),
            bob.command(operation("note", json!({ "task": "afc-2", "text": "a" }))),
            claim(&bob),
        ];
        let answers = world.batch(group.clone()).expect("the store works").answers;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(world.batch(group).expect("the store works").answers, answers);
        assert_eq!(world.number("SELECT count(*) FROM attempt WHERE current = 1"), 2);
    });
}

#[test]
fn a_repeated_operation_id_hears_the_first_answer_counted_from_now() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        let command = claim(&bob);
        let first = world.done(command.clone());
        world.clocks.pass(1_000);
        let again = world.done(command);
        assert_eq!(again["expires_in_ms"], json!(599_000));
        let timeless = |mut answer: Value| {
            answer["expires_in_ms"] = Value::Null;
            answer
        };
        assert_eq!(timeless(first), timeless(again));
        assert_eq!(world.number("SELECT count(*) FROM attempt"), 1);
    });
}

#[test]
fn a_repeat_within_one_batch_happens_once() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        let command = claim(&bob);
        let answers = world.batch(vec![command.clone(), command]).expect("the store works").answers;
        assert_eq!(answers[0], answers[1]);
        assert_eq!(world.number("SELECT count(*) FROM attempt"), 1);
    });
}

#[test]
fn an_operation_id_means_one_request() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 1);
        let note = |text: &str| bob.command(operation("note", json!({ "task": "afc-1", "text": text })));
        world.done(with_id(note("a"), "same"));
        assert_eq!(world.refused(with_id(note("b"), "same")), Code::OperationConflict);
        world.clocks.pass(RECEIPT_MS);
        world.done(with_id(note("a"), "same"));
        let mut record = bob.command(tenure_core::operation::record::RecordOverdue {});
        record.envelope.caller = None;
        assert_eq!(world.done(record.clone())["tombstones"], 0, "a receipt is kept to the end of its term");
        world.clocks.pass(1);
        assert_eq!(
            world.refused(with_id(note("a"), "same")),
            Code::ReceiptExpired,
            "before anybody recorded it"
        );
        assert!(world.done(record)["tombstones"].as_u64() > Some(0));
        assert_eq!(world.refused(with_id(note("a"), "same")), Code::ReceiptExpired);
        // Ids belong to a principal: another one may use the same.
        let eve = Agent::new("eve", 2);
        world.done(eve.open());
        world.done(with_id(eve.command(operation("note", json!({ "task": "afc-1", "text": "c" }))), "same"));
    });
}

#[test]
fn a_caller_proves_its_session_or_hears_nothing() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 1);
        let note = || bob.command(operation("note", json!({ "task": "afc-1", "text": "a" })));
        let mut nobody = note();
        nobody.envelope.caller = None;
        assert_eq!(world.refused(nobody), Code::SessionRequired);
        let mut thief = note();
        thief.envelope.caller.as_mut().expect("named").proof = Agent::new("eve", 2).secret.session_proof();
        assert_eq!(world.refused(thief), Code::SessionUnknown);
        assert_eq!(world.refused(Agent::new("eve", 2).command(note().operation)), Code::SessionUnknown);
        let mut restored = note();
        restored.envelope.epoch = Some(tenure_core::model::ids::Epoch(2));
        assert_eq!(world.refused(restored), Code::EpochChanged);
        let mut unnamed = note();
        unnamed.envelope.operation_id = None;
        assert_eq!(world.refused(unnamed), Code::InvalidInput);
        let reopen = bob.command(operation("task.reopen", json!({ "task": "afc-1", "reason": "x" })));
        assert_eq!(world.refused(reopen), Code::OperatorRequired);
        assert_eq!(world.number("SELECT count(*) FROM entry"), 0);
    });
}

#[test]
fn a_closed_session_hears_its_old_answers_and_no_new_ones() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 1);
        let note = bob.command(operation("note", json!({ "task": "afc-1", "text": "a" })));
        let first = world.done(note.clone());
        let close = bob.command(operation("session.close", json!({})));
        let late = bob.command(operation("note", json!({ "task": "afc-1", "text": "late" })));
        // In one batch: what follows the closing is refused at its turn.
        let answers = world.batch(vec![close.clone(), late]).expect("the store works").answers;
        assert!(answers[0].is_ok());
        assert_eq!(answers[1].as_ref().map_err(|refusal| refusal.code), Err(Code::SessionClosed));
        assert_eq!(world.done(note), first);
        assert!(world.run(close).is_ok());
        let another = bob.command(operation("note", json!({ "task": "afc-1", "text": "b" })));
        assert_eq!(world.refused(another), Code::SessionClosed);
    });
}

#[test]
fn a_refused_command_leaves_nothing_behind_and_time_is_committed_all_the_same() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 1);
        let before = (world.number("SELECT event FROM fleet"), world.number("SELECT count(*) FROM receipt"));
        let time = world.number("SELECT time FROM fleet");
        world.clocks.pass(700);
        let absent = bob.command(operation("note", json!({ "task": "afc-9", "text": "a" })));
        assert_eq!(world.refused(absent), Code::NotFound);
        let after = (world.number("SELECT event FROM fleet"), world.number("SELECT count(*) FROM receipt"));
        assert_eq!(before, after);
        assert_eq!(world.number("SELECT time FROM fleet"), time + 700);
        world.clocks.pass(300);
        world.batch(Vec::new()).expect("the store works");
        assert_eq!(world.number("SELECT time FROM fleet"), time + 1_000);
    });
}

#[test]
fn a_command_that_is_refused_after_it_wrote_is_taken_back_within_its_batch() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 1);
        let named = || json!({ "project": "afc", "title": "named", "aliases": ["x"] });
        let create = |input: Value| bob.command(operation("task.create", input));
        world.done(create(named()));
        let events = world.number("SELECT event FROM fleet");
        let plain = json!({ "project": "afc", "title": "plain" });
        let answers = world.batch(vec![create(named()), create(plain)]).expect("the store works").answers;
        assert_eq!(answers[0].as_ref().map_err(|refusal| refusal.code), Err(Code::AlreadyExists));
        assert!(answers[1].as_ref().is_ok_and(|created| created.contains("afc-3")), "{answers:?}");
        assert_eq!(world.number("SELECT count(*) FROM task"), 3);
        assert_eq!(world.number("SELECT count FROM tally WHERE queue = 'ready'"), 3);
        assert_eq!(world.number("SELECT event FROM fleet"), events + 1);
    });
}

#[test]
fn an_expired_lease_is_recorded_in_the_background_and_taken_over() {
    on_every_store(|mut world| {
        let (bob, eve) = (Agent::new("bob", 1), Agent::new("eve", 2));
        with_tasks(&mut world, &bob, 1);
        let claimed = world.done(claim(&bob));
        world.clocks.pass(600_000);
        let beat = bob.fenced(operation("heartbeat", json!({ "task": "afc-1" })), &claimed);
        assert_eq!(world.refused(beat), Code::LeaseExpired);
        let mut record = eve.command(tenure_core::operation::record::RecordOverdue {});
        record.envelope.caller = None;
        assert_eq!(world.done(record.clone())["expired"], json!(["afc-1"]));
        record.envelope.operation_id = Some(operation_id());
        assert_eq!(world.done(record)["expired"], json!([]));
        world.done(eve.open());
        let taken = world.done(claim(&eve));
        assert_eq!((text(&taken, "attempt"), text(&taken, "mode")), ("afc-1@2", "recovery"));
    });
}

#[test]
fn a_long_chain_is_walked_to_its_end_and_a_circle_is_refused() {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    let length = 300;
    with_tasks(&mut world, &bob, length);
    let edge = |task: usize, on: usize| {
        let input = json!({ "task": format!("afc-{task}"), "on": format!("afc-{on}") });
        bob.command(operation("dependency.add", input))
    };
    for task in (2..=length).rev() {
        world.done(edge(task, task - 1));
    }
    assert_eq!(world.refused(edge(1, length)), Code::DependencyCycle);
    let ready = world.ask(operation("ready", json!({ "project": "afc" })));
    assert_eq!((&ready["total"], &ready["tasks"][0]["id"]), (&json!(1), &json!("afc-1")));
}

#[test]
fn a_cursor_beyond_every_counter_is_refused_and_the_largest_one_is_an_empty_page() {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 1);
    for (number, answered) in [(i64::MAX as u64, true), (i64::MAX as u64 + 1, false), (u64::MAX, false)] {
        for (name, input) in [
            ("task.list", json!({ "project": "afc", "cursor": format!("1.{number}") })),
            ("ready", json!({ "project": "afc", "cursor": format!("1.4.{}.{number}", i64::MAX) })),
        ] {
            let page = world.asked(operation(name, input));
            match page {
                Ok(page) => assert!(answered && page["tasks"] == json!([]), "{name} {number}: {page}"),
                Err(refusal) => {
                    assert!(!answered && refusal.code == Code::InvalidInput, "{name} {number}: {refusal:?}");
                }
            }
        }
    }
    let events = world.asked(operation("events", json!({ "after": format!("1-{}", i64::MAX) })));
    assert_eq!(events.expect_err("no event has this number").code, Code::InvalidInput);
}

#[test]
fn the_newest_events_are_the_end_of_the_whole_list() {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 3);
    let numbers = |answer: &Value| -> Vec<u64> {
        let events = answer["events"].as_array().expect("a list");
        events.iter().map(|event| event["number"].as_u64().expect("a number")).collect()
    };
    for task in [json!(null), json!("afc-1"), json!("afc-3")] {
        let all = world.ask(operation("events", json!({ "task": task, "limit": 1000 })));
        let all = numbers(&all);
        for limit in 1..=all.len() + 1 {
            let newest =
                world.ask(operation("events", json!({ "task": task, "limit": limit, "newest": true })));
            assert_eq!(numbers(&newest), all[all.len().saturating_sub(limit)..], "{task} {limit}");
            assert_eq!(newest["more"], false);
            let after = world.ask(operation("events", json!({ "after": newest["cursor"] })));
            assert_eq!(after["events"], json!([]), "nothing lies behind its cursor");
        }
    }
    let both = operation("events", json!({ "newest": true, "after": "1-1" }));
    assert_eq!(world.asked(both).expect_err("contradictory").code, Code::InvalidInput);
}
