//! Every call to the database fails in turn. A batch that failed left nothing behind; one that was committed is
//! whole; and whoever asks again with the same operation id gets the one answer.

use serde_json::json;
use tenure_engine::Command;
use tenure_engine::store::driver::{Class, Driver, Each, StoreError, Value};
use tenure_engine::store::sqlite::Sqlite;

use crate::loop_of_work::{claim, with_tasks};
use crate::world::pass_the_rest_on;
use crate::world::{Agent, World, operation};

/// A driver whose k-th call from now fails, before it does anything or, for a commit, after it has happened.
struct Failing {
    inner: Sqlite,
    countdown: std::sync::Arc<std::sync::atomic::AtomicI64>,
    commit_happens: bool,
}

impl Failing {
    fn step(&self) -> Result<(), StoreError> {
        use std::sync::atomic::Ordering::Relaxed;
        if self.countdown.fetch_sub(1, Relaxed) == 1 {
            return Err(StoreError::new(Class::Io, "as the test demands"));
        }
        Ok(())
    }
}

impl Driver for Failing {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.inner.begin_write()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.inner.begin_read()
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.step()?;
        self.inner.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.step()?;
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let step = self.step();
        if step.is_ok() || self.commit_happens {
            self.inner.commit()?;
        }
        step
    }

    pass_the_rest_on!();
}

/// Everything that is stored, as text.
fn contents(world: &mut World) -> String {
    let mut all = String::new();
    for (table, columns) in [
        ("fleet", "id || time || event || head"),
        ("task", "id || queue || generation"),
        ("attempt", "id || state || deadline"),
        ("tally", "project || queue || count"),
        ("event", "number || hash"),
        ("receipt", "principal || operation_id || answer"),
        ("entry", "number || text"),
        ("served", "session || project || event"),
    ] {
        let sql = format!("SELECT {columns} FROM {table} ORDER BY 1");
        let read = world.driver.query(&sql, &[], &mut |row| {
            all.push_str(row.text(0)?.unwrap_or("null"));
            all.push('\n');
            Ok(())
        });
        read.expect("a question");
    }
    all
}

/// A batch of everything that is hot, run with the k-th call failing; `None` once k is beyond the last call.
fn run_failing_at(k: i64, commit_happens: bool) -> Option<bool> {
    let countdown = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
    let inner = Sqlite::in_memory().expect("a database");
    let driver = Failing { inner, countdown: countdown.clone(), commit_happens };
    let mut world = World::on(Box::new(driver), None, None);
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 4);
    let held = world.done(claim(&bob));
    let batch: Vec<Command> = vec![
        claim(&bob),
        bob.fenced(operation("close", json!({ "task": "afc-1", "note": "done" })), &held),
        bob.command(operation("task.create", json!({ "project": "afc", "title": "more" }))),
        bob.command(operation("note", json!({ "task": "afc-2", "text": "a" }))),
        claim(&bob),
    ];
    let before = contents(&mut world);
    countdown.store(k, std::sync::atomic::Ordering::Relaxed);
    let outcome = world.batch(batch.clone());
    countdown.store(0, std::sync::atomic::Ordering::Relaxed);
    let Err(error) = outcome else { return None };
    assert_eq!(error.class, Class::Io);
    let after = contents(&mut world);
    let happened = after != before;
    assert!(commit_happens || !happened, "call {k} failed and something was stored");
    let again = world.batch(batch.clone()).expect("the store works again").answers;
    assert!(again.iter().all(Result::is_ok), "call {k}: {again:?}");
    let settled = contents(&mut world);
    if happened {
        assert_eq!(settled, after, "call {k}: a repeat changed what had happened");
    }
    let replayed = world.batch(batch).expect("the store works").answers;
    assert_eq!(replayed, again, "call {k}");
    Some(happened)
}

#[test]
fn whichever_call_fails_a_batch_is_all_or_nothing() {
    let mut calls = 0;
    while let Some(happened) = run_failing_at(calls + 1, false) {
        assert!(!happened);
        calls += 1;
    }
    assert!(calls > 15, "only {calls} calls were made to fail");
}

#[test]
fn a_commit_that_happened_but_was_not_confirmed_is_found_by_asking_again() {
    let mut calls = 0;
    let mut happened = 0;
    while let Some(committed) = run_failing_at(calls + 1, true) {
        calls += 1;
        happened += u32::from(committed);
    }
    assert_eq!(happened, 1, "the last call of a batch is its commit");
}
