//! Where rows lie: what one commit changes lies together, and a store that was laid out otherwise is laid out anew.

use serde_json::{Value, json};
use tenure_core::model::limits::BATCH_COMMANDS;
use tenure_engine::chain::verify;
use tenure_engine::execute::prepare;
use tenure_engine::store::driver::Class;
use tenure_engine::store::folder::hold;
use tenure_engine::store::schema_known;
use tenure_engine::store::sqlite::{Role, Sqlite};

use crate::loop_of_work::{claim, with_tasks};
use crate::world::{Agent, THIRD_SCHEMA, World, operation};

/// The bytes of a page in the write-ahead log, with what stands before it, and of what stands before the first.
const FRAME_BYTES: u64 = 4096 + 24;
const HEAD_BYTES: u64 = 32;

#[test]
fn a_group_of_claims_changes_few_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let hold = hold(&folder.path().join("store")).expect("a new store");
    let log = hold.database().with_extension("db-wal");
    let driver = Sqlite::open(hold.database(), Role::Writer).expect("a database");
    let mut world = World::on(Box::new(driver), Some(hold), Some(folder));
    let agents: Vec<Agent> = (1..=32).map(|n| Agent::new(&format!("agent-{n}"), n)).collect();
    with_tasks(&mut world, &agents[0], BATCH_COMMANDS);
    for _ in 1..20 {
        let create =
            |_| agents[0].command(operation("task.create", json!({ "project": "afc", "title": "t" })));
        world.batch((0..BATCH_COMMANDS).map(create).collect()).expect("the store works");
    }
    world.batch(agents[1..].iter().map(Agent::open).collect()).expect("the store works");
    let mut pages = Vec::new();
    for _ in 0..8 {
        world.driver.settle().expect("nobody reads");
        let answers = world.batch(agents.iter().map(claim).collect()).expect("the store works").answers;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        let bytes = std::fs::metadata(&log).expect("a log").len();
        pages.push((bytes - HEAD_BYTES) / FRAME_BYTES);
    }
    // With ids as keys of tasks, callers first in the key of receipts, and sessions written whole it was more than 100.
    assert!(pages.iter().all(|pages| *pages <= 60), "{pages:?}");
}

/// A store with a past: tasks in every state, edges, entries, and somebody at work.
fn with_a_past() -> (World, Agent, Value) {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 12);
    let on = json!({ "task": "afc-2", "on": "afc-1" });
    world.done(bob.command(operation("dependency.add", on)));
    let held = world.done(claim(&bob));
    world.done(bob.fenced(operation("close", json!({ "task": held["task"]["id"], "note": "done" })), &held));
    let cancel = json!({ "task": "afc-4", "revision": 1, "reason": "not needed" });
    world.done(bob.command(operation("task.cancel", cancel)));
    let held = world.done(claim(&bob));
    (world, bob, held)
}

/// Lays the store out as the third schema had it.
fn lay_out_as_before(world: &mut World) {
    world.driver.begin_migration().expect("a write");
    for statement in THIRD_SCHEMA.split_inclusive(';') {
        world.driver.execute(statement, &[]).expect("as it was");
    }
    world.driver.execute("PRAGMA user_version = 3", &[]).expect("as it was");
    world.driver.commit().expect("as it was");
}

#[test]
fn a_store_of_the_third_schema_is_laid_out_anew_and_says_what_it_said() {
    let (mut world, bob, held) = with_a_past();
    let questions = || {
        let all = json!({ "project": "afc", "limit": 100 });
        let one = |name: &str, task: &str| operation(name, json!({ "task": task }));
        [
            operation("task.list", all.clone()),
            operation("ready", all),
            one("task.show", "afc-1"),
            one("explain", "afc-2"),
            one("history", "afc-1"),
            operation("stats", json!({})),
        ]
    };
    let note = bob.fenced(operation("note", json!({ "task": held["task"]["id"], "text": "halfway" })), &held);
    let noted = world.done(note.clone());
    let before: Vec<Value> = questions().into_iter().map(|question| world.ask(question)).collect();

    lay_out_as_before(&mut world);
    let clocks = world.clocks.clone();
    prepare(&mut *world.driver, &*clocks, || unreachable!()).expect("laid out anew");
    assert_eq!(world.driver.schema().expect("told"), schema_known());
    assert_eq!(world.done(note), noted, "the answer is found under its id");
    let after: Vec<Value> = questions().into_iter().map(|question| world.ask(question)).collect();
    assert_eq!(before, after);
    assert_eq!(verify(&mut *world.driver, &mut |_| ()).expect("told").flaw, None);
    world.done(bob.fenced(operation("close", json!({ "task": held["task"]["id"] })), &held));
}

#[test]
fn a_store_whose_rows_refer_to_nothing_is_not_laid_out_anew() {
    let (mut world, ..) = with_a_past();
    lay_out_as_before(&mut world);
    world.driver.begin_migration().expect("a write");
    world.driver.execute("DELETE FROM task WHERE number = 1", &[]).expect("a loss");
    let lost = world.driver.commit().expect_err("refused");
    assert_eq!(lost.class, Class::Corrupt);
    world.driver.rollback().expect("taken back");
    // From then on every reference is checked where it is written.
    world.driver.begin_write().expect("a write");
    world.driver.execute("DELETE FROM task WHERE number = 1", &[]).expect_err("others refer to it");
    world.driver.rollback().expect("taken back");
}
