//! How many statements a group of commands takes: a few for the whole group, not some for each command.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tenure_engine::Command;
use tenure_engine::store::driver::{Driver, Each, StoreError, Value};
use tenure_engine::store::sqlite::Sqlite;

use crate::loop_of_work::{claim, with_tasks};
use crate::world::{Agent, World, operation};

/// Counts statements by their text up to the first placeholder.
type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

struct Counting {
    inner: Sqlite,
    counts: Counts,
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

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.inner.rollback()
    }

    fn schema(&mut self) -> Result<u32, StoreError> {
        self.inner.schema()
    }

    fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
        self.inner.migrate(number, sql)
    }

    fn version(&mut self) -> Result<String, StoreError> {
        self.inner.version()
    }
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

#[test]
fn a_group_shares_its_statements() {
    let counts = Counts::default();
    let inner = Sqlite::in_memory().expect("a database");
    let mut world = World::on(Box::new(Counting { inner, counts: counts.clone() }), None, None);
    let agents: Vec<Agent> = (1..=64).map(|n| Agent::new(&format!("agent-{n}"), n)).collect();
    with_tasks(&mut world, &agents[0], 200);
    world.batch(agents[1..].iter().map(Agent::open).collect()).expect("the store works");
    // One more for each claim: when its session was last served is asked for only once a rule decides.
    let held = run(&mut world, &counts, "claims", 20 + agents.len(), agents.iter().map(claim).collect());
    let fenced = |name: &str| -> Vec<Command> {
        let pairs = agents.iter().zip(&held);
        pairs
            .map(|(agent, held)| agent.fenced(operation(name, json!({ "task": held["task"]["id"] })), held))
            .collect()
    };
    run(&mut world, &counts, "heartbeats", 8, fenced("heartbeat"));
    run(&mut world, &counts, "closes", 20, fenced("close"));
}
