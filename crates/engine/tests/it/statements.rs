//! How many statements a group of commands takes, and how many round trips to a database that is far: a few for the whole
//! group, not some for each command.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tenure_engine::Command;
use tenure_engine::store::driver::{Driver, Each, StoreError, Value};
use tenure_engine::store::sqlite::Sqlite;

use crate::loop_of_work::{claim, with_tasks};
use crate::world::pass_the_rest_on;
use crate::world::{Agent, World, operation};

/// Counts statements by their text up to the first placeholder.
type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

struct Counting {
    inner: Sqlite,
    counts: Counts,
}

/// How often somebody had to wait for a database that is far before it was written to.
type Waits = Arc<Mutex<usize>>;

/// As far away as PostgreSQL: the first question of those that were foreseen is asked with all of them.
struct Far {
    inner: Sqlite,
    foreseen: Vec<(String, Vec<Value<'static>>)>,
    asked: Vec<(String, Vec<Value<'static>>)>,
    waits: Waits,
}

fn question(sql: &str, values: &[Value<'_>]) -> (String, Vec<Value<'static>>) {
    (sql.to_owned(), values.iter().cloned().map(Value::into_owned).collect())
}

impl Driver for Far {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.asked.clear();
        self.foreseen.clear();
        self.inner.begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.inner.begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.inner.begin_read()
    }

    fn is_far(&self) -> bool {
        true
    }

    fn foresee(&mut self, sql: &str, values: &[Value<'_>]) -> Result<(), StoreError> {
        self.foreseen.push(question(sql, values));
        Ok(())
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.inner.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        let question = question(sql, values);
        if !self.asked.contains(&question) {
            *self.waits.lock().expect("no panic") += 1;
            self.asked.append(&mut self.foreseen);
        }
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.inner.commit()
    }

    pass_the_rest_on!();
}

impl Counting {
    fn count(&self, sql: &str) {
        let head = sql.split('$').next().unwrap_or(sql).to_owned();
        *self.counts.lock().expect("no panic").entry(head).or_default() += 1;
    }
}

impl Driver for Counting {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.inner.begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.inner.begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.inner.begin_read()
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.count(sql);
        self.inner.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.count(sql);
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.inner.commit()
    }

    pass_the_rest_on!();
}

fn run(
    world: &mut World,
    counts: &Counts,
    what: &str,
    most: usize,
    commands: Vec<Command>,
) -> Vec<serde_json::Value> {
    counts.lock().expect("no panic").clear();
    let answers = world.batch(commands).expect("the store works").answers;
    let answers =
        answers.into_iter().map(|answer| serde_json::from_str(&answer.expect("accepted")).expect("JSON"));
    let answers = answers.collect();
    let counts = counts.lock().expect("no panic");
    let total: usize = counts.values().sum();
    assert!(total <= most, "{what}: {total} statements, {counts:#?}");
    answers
}

fn counted() -> (World, Counts) {
    let counts = Counts::default();
    let inner = Sqlite::in_memory().expect("a database");
    (World::on(Box::new(Counting { inner, counts: counts.clone() }), None, None), counts)
}

#[test]
fn a_group_shares_its_statements() {
    let (mut world, counts) = counted();
    let agents: Vec<Agent> = (1..=64).map(|n| Agent::new(&format!("agent-{n}"), n)).collect();
    with_tasks(&mut world, &agents[0], 200);
    world.batch(agents[1..].iter().map(Agent::open).collect()).expect("the store works");
    let held = run(&mut world, &counts, "claims", 20, agents.iter().map(claim).collect());
    let asks_what_is_held =
        counts.lock().expect("no panic").keys().any(|sql| sql.contains("attempt WHERE session"));
    assert!(!asks_what_is_held, "who asks for another task is not asked what it holds");
    let fenced = |name: &str| -> Vec<Command> {
        let pairs = agents.iter().zip(&held);
        pairs
            .map(|(agent, held)| agent.fenced(operation(name, json!({ "task": held["task"]["id"] })), held))
            .collect()
    };
    let touches_texts = |counts: &Counts| {
        let counts = counts.lock().expect("no panic");
        counts.keys().any(|sql| {
            sql.contains("passage") || sql.contains("INTO label") || sql.contains("INTO completion")
        })
    };
    assert!(!touches_texts(&counts), "a claim writes no text, so it costs nothing for being searched");
    run(&mut world, &counts, "heartbeats", 8, fenced("heartbeat"));
    assert!(!touches_texts(&counts), "nor does a heartbeat");
    run(&mut world, &counts, "closes", 24, fenced("close"));
    assert!(touches_texts(&counts), "what is written is found");
}

#[test]
fn a_group_of_claims_waits_twice_for_a_database_that_is_far() {
    let waits = Waits::default();
    let inner = Sqlite::in_memory().expect("a database");
    let far = Far { inner, foreseen: Vec::new(), asked: Vec::new(), waits: waits.clone() };
    let mut world = World::on(Box::new(far), None, None);
    let agents: Vec<Agent> = (1..=64).map(|n| Agent::new(&format!("agent-{n}"), n)).collect();
    with_tasks(&mut world, &agents[0], 200);
    world.batch(agents[1..].iter().map(Agent::open).collect()).expect("the store works");
    *waits.lock().expect("no panic") = 0;
    let claimed = world.batch(agents.iter().map(claim).collect()).expect("the store works");
    assert!(claimed.answers.iter().all(Result::is_ok));
    // Once for the fleet's row, the callers and the queue; once for their receipts and what stands in the tasks.
    assert_eq!(*waits.lock().expect("no panic"), 2);
}

/// A hub of a thousand and a tree of hundreds of levels are ordinary work: what they cost grows with their size and
/// not with its square, so that nobody else's heartbeat waits for them.
#[test]
fn wide_and_deep_graphs_take_few_statements() {
    let (mut world, counts) = counted();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 2);
    let create = |more: serde_json::Value| {
        let mut input = json!({ "project": "afc", "title": "one of many" });
        input.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        bob.command(operation("task.create", input))
    };
    for _ in 0..10 {
        let waiting = (0..100).map(|_| create(json!({ "blocked_by": ["afc-1"] }))).collect();
        world.batch(waiting).expect("the store works");
    }
    for level in 0..300 {
        let parent = if level == 0 { 2 } else { 1002 + level };
        world.done(create(json!({ "parents": [format!("afc-{parent}")] })));
    }
    let held = world.done(bob.command(operation("claim", json!({ "task": "afc-1" }))));
    let close = bob.fenced(operation("close", json!({ "task": "afc-1" })), &held);
    let closed = run(&mut world, &counts, "closing a hub", 150, vec![close]);
    assert_eq!(closed[0]["freed"].as_array().map(Vec::len), Some(1_000));
    let add = bob.command(operation("dependency.add", json!({ "task": "afc-2", "on": "afc-3" })));
    run(&mut world, &counts, "blocking the root of a deep tree", 2_000, vec![add]);
}
