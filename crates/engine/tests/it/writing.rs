//! The thread that writes: groups, refusals when too much waits, failures, and the end.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::json;
use tenure_core::envelope::Envelope;
use tenure_core::model::limits::{Durations, QUEUE_COMMANDS};
use tenure_core::model::refusal::Code;
use tenure_engine::clock::MachineClocks;
use tenure_engine::execute::prepare;
use tenure_engine::store::driver::{Class, Driver, Each, StoreError, Value};
use tenure_engine::store::sqlite::Sqlite;
use tenure_engine::writer::Writer;
use tenure_engine::{Command, Engine, Failure, Options, Outcome, Told};

use crate::loop_of_work::claim;
use crate::world::pass_the_rest_on;
use crate::world::{Agent, operation};

fn answered(outcome: Outcome) -> serde_json::Value {
    serde_json::from_str(&outcome.expect("accepted")).expect("answers are JSON")
}

#[test]
fn many_callers_claim_and_close_every_task_once() {
    let place = tempfile::tempdir().expect("a folder");
    let engine = Engine::open(place.path(), Options::default()).expect("a new store");
    let agents: Vec<Agent> = (1..=8).map(|n| Agent::new(&format!("agent-{n}"), n)).collect();
    agents.iter().for_each(|agent| {
        answered(engine.call(agent.open()));
    });
    answered(engine.call(agents[0].command(operation("project.create", json!({ "key": "afc" })))));
    for n in 0..64 {
        let create = operation("task.create", json!({ "project": "afc", "title": format!("task {n}") }));
        answered(engine.call(agents[0].command(create)));
    }
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for agent in &agents {
            scope.spawn(|| {
                while let Ok(claimed) = engine.call(claim(agent)) {
                    let claimed: serde_json::Value = serde_json::from_str(&claimed).expect("JSON");
                    let task = claimed["task"]["id"].clone();
                    let close = operation("close", json!({ "task": task, "note": "done" }));
                    answered(engine.call(agent.fenced(close, &claimed)));
                    done.lock().expect("no panic").push(task.to_string());
                }
            });
        }
    });
    let done = done.into_inner().expect("no panic");
    assert_eq!((done.len(), done.iter().collect::<BTreeSet<_>>().len()), (64, 64));
    let ready = engine.read(&operation("ready", json!({ "project": "afc" })), &Envelope::default());
    assert_eq!(answered(ready)["total"], 0);
    let report = engine.verify_chain(None, &mut |_| {}).expect("the store works");
    assert_eq!((report.flaw, report.events), (None, engine.info().expect("told").event.0));
}

#[test]
fn the_writer_records_by_itself_that_a_lease_ended() {
    let place = tempfile::tempdir().expect("a folder");
    let durations = Durations { lease_ms_min: 1, lease_ms_default: 1, ..Durations::default() };
    let options = Options { durations, ..Options::default() };
    let engine = Engine::open(place.path(), options).expect("a new store");
    let bob = Agent::new("bob", 1);
    answered(engine.call(bob.open()));
    answered(engine.call(bob.command(operation("project.create", json!({ "key": "afc" })))));
    let create = operation("task.create", json!({ "project": "afc", "title": "short" }));
    answered(engine.call(bob.command(create)));
    answered(engine.call(claim(&bob)));
    let claimed = engine.info().expect("told");
    let expired = || {
        let history = operation("events", json!({ "task": "afc-1" }));
        let events = answered(engine.read(&history, &Envelope::default()));
        events["events"].as_array().expect("a list").iter().any(|event| event["kind"] == "lease_expired")
    };
    while !expired() {
        // waits because: the writer's tick comes once a second, and asking without a pause only slows it down.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(engine.info().expect("told").fleet_time > claimed.fleet_time);
}

#[test]
fn a_reply_may_be_the_last_to_let_go_of_an_engine() {
    let place = tempfile::tempdir().expect("a folder");
    let engine = Engine::open(place.path(), Options::default()).expect("a new store");
    let (tell, told) = channel();
    let last = engine.clone();
    let reply = move |heard: Told| {
        drop(last);
        tell.send(heard).expect("heard");
    };
    engine.submit(note(), Box::new(reply));
    drop(engine);
    assert!(told.recv().is_ok());
    // The lock is free again as soon as the thread is gone.
    while Engine::open(place.path(), Options::default()).is_err() {
        std::thread::yield_now();
    }
}

/// A driver that waits at a gate, fails when told to, and counts commits.
struct Gated {
    inner: Sqlite,
    control: Arc<Control>,
}

#[derive(Default)]
struct Control {
    shut: Mutex<bool>,
    opened: Condvar,
    commits: AtomicUsize,
    fail_commit: Mutex<Option<Class>>,
    connects: AtomicUsize,
    closed: AtomicBool,
}

impl Control {
    fn shut(&self) {
        *self.shut.lock().expect("no panic") = true;
    }

    fn open(&self) {
        *self.shut.lock().expect("no panic") = false;
        self.opened.notify_all();
    }
}

impl Driver for Gated {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        let shut = self.control.shut.lock().expect("no panic");
        drop(self.control.opened.wait_while(shut, |shut| *shut).expect("no panic"));
        self.inner.begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.inner.begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.inner.begin_read()
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.inner.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if let Some(class) = self.control.fail_commit.lock().expect("no panic").take() {
            return Err(StoreError::new(class, "as the test demands"));
        }
        self.inner.commit()?;
        self.control.commits.fetch_add(1, SeqCst);
        Ok(())
    }

    pass_the_rest_on!();
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.control.closed.store(true, SeqCst);
    }
}

/// A writer on a store in memory that the test controls. A new connection is a new, empty store.
fn writer() -> (Writer, Arc<Control>) {
    let control = Arc::new(Control::default());
    let connect = {
        let control = control.clone();
        move || {
            let mut inner = Sqlite::in_memory()?;
            prepare(&mut inner, &MachineClocks, || Ok("test".to_owned()))?;
            control.connects.fetch_add(1, SeqCst);
            let driver: Box<dyn Driver> = Box::new(Gated { inner, control: control.clone() });
            Ok(driver)
        }
    };
    let mut driver: Box<dyn Driver> = connect().expect("a store");
    let fleet = prepare(&mut *driver, &MachineClocks, || Ok("test".to_owned())).expect("a fleet");
    let clocks = Arc::new(MachineClocks);
    let writer = Writer::start(driver, Box::new(connect), fleet, clocks, Durations::default());
    (writer.expect("a thread"), control)
}

fn note() -> Command {
    Agent::new("bob", 1).command(operation("note", json!({ "task": "afc-1", "text": "a" })))
}

#[test]
fn what_waits_during_a_commit_shares_the_next_one() {
    let (writer, control) = writer();
    writer.probe().expect("it works");
    control.shut();
    let (tell, told) = channel();
    let before = control.commits.load(SeqCst);
    for _ in 0..100 {
        let tell = tell.clone();
        writer.submit(note(), Box::new(move |outcome| tell.send(outcome).expect("heard")));
    }
    control.open();
    for _ in 0..100 {
        let heard = told.recv().expect("answered");
        assert!(
            matches!(heard.outcome, Err(Failure::Refused(refusal)) if refusal.code == Code::SessionUnknown)
        );
    }
    let commits = control.commits.load(SeqCst) - before;
    assert!((1..=3).contains(&commits), "{commits} commits");
}

#[test]
fn a_full_queue_refuses_at_once() {
    let (writer, control) = writer();
    writer.probe().expect("it works");
    control.shut();
    let (tell, told) = channel();
    let submitted = QUEUE_COMMANDS + 600;
    for _ in 0..submitted {
        let tell = tell.clone();
        writer.submit(note(), Box::new(move |outcome| tell.send(outcome).expect("heard")));
    }
    let first = told.recv().expect("answered while the writer waits");
    assert!(matches!(first.outcome, Err(Failure::Refused(refusal)) if refusal.code == Code::Overloaded));
    control.open();
    assert_eq!(told.iter().take(submitted - 1).count(), submitted - 1, "everybody is answered");
}

fn hear(writer: &Writer, command: Command) -> Outcome {
    let (tell, told) = channel();
    writer.submit(command, Box::new(move |outcome| tell.send(outcome).expect("heard")));
    told.recv().expect("answered").outcome
}

fn class(outcome: Outcome) -> Option<Class> {
    match outcome {
        Err(Failure::CannotTell(error)) => Some(error.class),
        Ok(_) | Err(Failure::Refused(_)) => None,
    }
}

#[test]
fn a_busy_store_fails_one_batch_and_a_lost_one_is_connected_again() {
    let (writer, control) = writer();
    writer.probe().expect("it works");
    for (failure, connects) in [(Class::Busy, 1), (Class::Lost, 2)] {
        *control.fail_commit.lock().expect("no panic") = Some(failure);
        assert_eq!(class(hear(&writer, note())), Some(failure));
        assert_eq!(class(hear(&writer, note())), None);
        assert_eq!(control.connects.load(SeqCst), connects, "{failure:?}");
    }
}

#[test]
fn a_commit_that_the_disk_did_not_confirm_is_the_writers_end() {
    let (writer, control) = writer();
    writer.probe().expect("it works");
    assert!(!writer.is_unconfirmed());
    *control.fail_commit.lock().expect("no panic") = Some(Class::Sync);
    for _ in 0..3 {
        assert_eq!(class(hear(&writer, note())), Some(Class::Sync));
        assert!(writer.is_unconfirmed(), "whoever runs it must hear");
    }
    assert_eq!(writer.probe().expect_err("it is over").class, Class::Sync);
    assert_eq!(control.connects.load(SeqCst), 1);
}

#[test]
fn stopping_finishes_what_is_queued_and_answers_whoever_comes_later() {
    let (writer, control) = writer();
    writer.probe().expect("it works");
    control.shut();
    let (tell, told) = channel();
    for _ in 0..10 {
        let tell = tell.clone();
        writer.submit(note(), Box::new(move |outcome| tell.send(outcome).expect("heard")));
    }
    control.open();
    writer.stop();
    assert!(control.closed.load(SeqCst));
    let refused = told.try_iter().filter(|heard| matches!(heard.outcome, Err(Failure::Refused(_)))).count();
    assert_eq!(refused, 10);
    assert_eq!(class(hear(&writer, note())), Some(Class::Lost));
    assert!(writer.probe().is_err());
}
