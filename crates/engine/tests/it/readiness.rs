//! Readiness through the real store: after random commands, the facts in its rows, the queues read from its indexes
//! and what a claim takes equal a naive oracle that reads the tables itself and shares nothing with rules or engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenure_core::model::limits::PAGE_ROWS;
use tenure_core::model::refusal::Code;
use tenure_core::operation::record::RecordOverdue;

use crate::loop_of_work::claim;
use crate::world::{Agent, World, operation, operation_id, text};

/// How many graphs are looked at.
const GRAPHS: u64 = 300;
const LEASE_MS: i64 = 600_000;

/// A generator (SplitMix64) whose numbers can be had again from their seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

/// A task's row as the table has it.
#[derive(Debug)]
struct Row {
    queue: String,
    lifecycle: String,
    objective: bool,
    successor: Option<String>,
    counts: [i64; 2],
    order: (i64, i64, i64),
    deferred_until: Option<i64>,
    /// When the current attempt stops, if there is one.
    stops_at: Option<i64>,
}

/// The tables, and the moment.
struct Tables {
    tasks: BTreeMap<String, Row>,
    waits: BTreeSet<(String, String)>,
    parents: BTreeSet<(String, String)>,
    blocked: BTreeSet<String>,
    fleet: i64,
    wall: i64,
}

impl Tables {
    fn of(world: &mut World) -> Self {
        let mut tables = Self {
            tasks: BTreeMap::new(),
            waits: BTreeSet::new(),
            parents: BTreeSet::new(),
            blocked: BTreeSet::new(),
            fleet: world.number("SELECT time FROM fleet"),
            wall: world.number("SELECT wall FROM fleet"),
        };
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let sql = "SELECT task.id, number, queue, lifecycle, kind, successor, own_blockers, inherited_blockers, priority, \
                   ready_at, deferred_until, stops_at FROM task LEFT JOIN attempt ON attempt.task = task.id AND current = 1";
        let read = world.driver.query(sql, &[], &mut |row| {
            let number = row.integer(1)?.expect("a number");
            let integer = |column| row.integer(column).map(|found| found.expect("a number"));
            let task = Row {
                queue: owned(row.text(2)?).expect("a word"),
                lifecycle: owned(row.text(3)?).expect("a word"),
                objective: row.text(4)? == Some("objective"),
                successor: owned(row.text(5)?),
                counts: [integer(6)?, integer(7)?],
                order: (integer(8)?, integer(9)?, number),
                deferred_until: row.integer(10)?,
                stops_at: row.integer(11)?,
            };
            tables.tasks.insert(owned(row.text(0)?).expect("an id"), task);
            Ok(())
        });
        read.expect("a question");
        let read = world.driver.query("SELECT task, kind, on_task FROM dependency", &[], &mut |row| {
            let pair = (owned(row.text(0)?).expect("an id"), owned(row.text(2)?).expect("an id"));
            match row.text(1)? {
                Some("blocks") => drop(tables.waits.insert(pair)),
                Some("parent") => drop(tables.parents.insert(pair)),
                _ => {}
            }
            Ok(())
        });
        read.expect("a question");
        let read =
            world.driver.query("SELECT task FROM blocker WHERE resolved_at IS NULL", &[], &mut |row| {
                tables.blocked.extend(owned(row.text(0)?));
                Ok(())
            });
        read.expect("a question");
        tables
    }

    fn over(&self, id: &str) -> bool {
        matches!(self.tasks[id].lifecycle.as_str(), "done" | "cancelled")
    }

    /// Who really stands in the way when somebody waits for this one.
    fn place<'a>(&'a self, id: &'a str) -> &'a str {
        self.tasks[id].successor.as_deref().map_or(id, |successor| self.place(successor))
    }

    fn below(&self, root: &str, id: &str) -> bool {
        self.parents.iter().any(|(child, parent)| parent == root && (child == id || self.below(child, id)))
    }

    /// The tasks that stand in a task's way.
    fn open(&self, id: &str) -> Vec<&str> {
        let places = self.waits.iter().filter(|(task, _)| task == id).map(|(_, on)| self.place(on));
        places.filter(|place| *place != id && self.tasks[*place].lifecycle != "done").collect()
    }

    fn gates_are_open(&self, id: &str) -> bool {
        self.parents.iter().filter(|(child, _)| child == id).all(|(_, parent)| {
            let outside = self.open(parent).into_iter().any(|place| !self.below(parent, place));
            (self.over(parent) || !(outside || self.blocked.contains(parent))) && self.gates_are_open(parent)
        })
    }

    fn unblocked(&self, id: &str) -> bool {
        self.open(id).is_empty() && !self.blocked.contains(id) && self.gates_are_open(id)
    }

    /// The word that a task is counted under: its queue, and where time changes something, what that made of it.
    fn status<'t>(&self, task: &'t Row) -> &'t str {
        match task.queue.as_str() {
            "held" if task.stops_at.is_some_and(|stops_at| stops_at > self.fleet) => "in_progress",
            "held" => "recovery",
            "deferred" if task.deferred_until.is_some_and(|until| until <= self.wall) => "ready",
            queue => queue,
        }
    }

    /// Whether it could be claimed if nobody held it or had left it.
    fn can_go_on(&self, id: &str) -> bool {
        let task = &self.tasks[id];
        task.lifecycle == "open"
            && !task.objective
            && task.deferred_until.is_none_or(|until| until <= self.wall)
            && self.unblocked(id)
    }
}

/// One random command; what is refused leaves nothing behind.
fn change(world: &mut World, agents: &[Agent], held: &mut Vec<(usize, Value)>, random: &mut Random) {
    let who = random.below(agents.len());
    let agent = &agents[who];
    let tasks = world.number("SELECT count(*) FROM task").cast_unsigned() as usize;
    let id = |random: &mut Random| format!("afc-{}", 1 + random.below(tasks.max(1)));
    let (a, b) = (id(random), id(random));
    let revision = |world: &mut World| {
        world.number(&format!("SELECT coalesce(max(revision), 0) FROM task WHERE id = '{a}'"))
    };
    let kind = ["blocks", "parent"][random.below(2)];
    let (name, input) = match random.below(14) {
        0..=2 => {
            let kind = ["code", "code", "objective"][random.below(3)];
            let create = json!({
                "project": "afc", "title": "t", "priority": random.below(3),
                "kind": kind, "planned": random.below(8) == 0,
                "parents": if tasks > 0 && random.below(2) == 0 { json!([a]) } else { json!([]) },
                "blocked_by": if tasks > 0 && random.below(3) == 0 { json!([b]) } else { json!([]) },
            });
            ("task.create", create)
        }
        3 | 4 => ("dependency.add", json!({ "task": a, "on": b, "kind": kind })),
        5 => ("dependency.remove", json!({ "task": a, "on": b, "kind": kind })),
        6 => {
            let dependents = ["keep", "release", "cancel"][random.below(3)];
            let cancel = json!({
                "task": a, "revision": revision(world), "reason": "r", "dependents": dependents,
                "resolution": "superseded", "successor": b,
            });
            ("task.cancel", cancel)
        }
        7 => ("task.defer", json!({ "task": a, "reason": "r", "until": 1_700_000_000_000_i64 + LEASE_MS })),
        8 => ("blocker.raise", json!({ "task": a, "kind": "permission", "reason": "r" })),
        9 => ("blocker.resolve", json!({ "task": a, "number": 1, "reason": "r" })),
        10 => ("close", json!({ "task": a, "revision": revision(world) })),
        11 => {
            if let Ok(claimed) = world.run(claim(agent)) {
                held.push((who, claimed));
            }
            return;
        }
        12 => {
            if !held.is_empty() {
                let (who, claimed) = held.swap_remove(random.below(held.len()));
                let name = ["close", "release"][random.below(2)];
                let end = operation(name, json!({ "task": claimed["task"]["id"] }));
                let _ = world.run(agents[who].fenced(end, &claimed));
            }
            return;
        }
        _ => {
            world.clocks.pass(LEASE_MS);
            if random.below(2) == 0 {
                record_overdue(world, agent);
            }
            return;
        }
    };
    let _ = world.run(agent.command(operation(name, input)));
}

/// The ids of all ready tasks, page by page, and how many there are said to be.
fn every_ready(world: &mut World) -> (Vec<String>, u64) {
    let mut ids = Vec::new();
    let mut ask = json!({ "project": "afc", "limit": PAGE_ROWS });
    loop {
        let listed = world.ask(operation("ready", ask.clone()));
        let tasks = listed["tasks"].as_array().expect("a list");
        ids.extend(tasks.iter().map(|task| text(task, "id").to_owned()));
        match &listed["cursor"] {
            Value::Null => return (ids, listed["total"].as_u64().expect("a count")),
            cursor => ask["cursor"] = cursor.clone(),
        }
    }
}

fn compare(world: &mut World, agent: &Agent) {
    // Questions are judged at the time that was committed last.
    world.batch(Vec::new()).expect("the store works");
    let tables = Tables::of(world);
    let (mut ready, mut takeable) = (Vec::new(), Vec::new());
    for (id, task) in &tables.tasks {
        let live = task.stops_at.is_some_and(|stops_at| stops_at > tables.fleet);
        assert_eq!(task.counts == [0, 0], tables.unblocked(id), "the kept facts of {id}: {task:?}");
        if tables.can_go_on(id) && task.stops_at.is_none() {
            ready.push((task.order, id.clone()));
        }
        if tables.can_go_on(id) && !live {
            takeable.push(((task.order.0, task.stops_at.is_some(), task.order), id.clone()));
        }
    }
    ready.sort();
    let (ids, total) = every_ready(world);
    assert_eq!(ids, ready.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>(), "the ready list");
    assert_eq!(total, ready.len() as u64, "the total");
    let mut tallied = BTreeMap::new();
    for task in tables.tasks.values() {
        *tallied.entry(tables.status(task)).or_insert(0) += 1;
    }
    let shown = world.ask(operation("project.show", json!({ "project": "afc" })));
    assert_eq!(shown["project"]["tasks"], json!(tallied), "the tallies");
    let first = takeable.iter().min().map(|(_, id)| id.as_str());
    match world.run(claim(agent)) {
        Ok(claimed) => assert_eq!(Some(text(&claimed["task"], "id")), first),
        Err(refusal) => assert_eq!((refusal.code, first), (Code::NothingEligible, None)),
    }
}

#[test]
fn what_is_stored_of_readiness_equals_a_naive_oracle() {
    for seed in 0..GRAPHS {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::in_memory();
            let agents = [Agent::new("bob", 1), Agent::new("eve", 2)];
            agents.iter().for_each(|agent| drop(world.done(agent.open())));
            world.done(agents[0].command(operation("project.create", json!({ "key": "afc" }))));
            let mut random = Random(seed);
            let mut held = Vec::new();
            for _ in 0..10 + random.below(30) {
                change(&mut world, &agents, &mut held, &mut random);
            }
            compare(&mut world, &agents[0]);
        });
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

/// The background ends what is overdue, as far as one of its rounds goes.
fn record_overdue(world: &mut World, agent: &Agent) {
    let mut record = agent.command(RecordOverdue {});
    record.envelope.caller = None;
    record.envelope.operation_id = Some(operation_id());
    world.done(record);
}

#[test]
fn deferrals_that_pass_their_date_at_once_are_ready_before_the_background_says_so() {
    let many = PAGE_ROWS as usize + 150;
    let mut world = World::in_memory();
    let agent = Agent::new("bob", 1);
    world.done(agent.open());
    world.done(agent.command(operation("project.create", json!({ "key": "afc" }))));
    for number in 1..=many {
        let requires = if number < many - 1 { json!(["gpu"]) } else { json!([]) };
        let task = json!({ "project": "afc", "title": "t", "priority": number % 3, "requires": requires });
        world.done(agent.command(operation("task.create", task)));
        // Some dates lie in an order that is not the numbers', and some tasks are ready all along.
        if number % 9 != 0 {
            let until = 1_700_000_000_000_i64 + LEASE_MS - ((number * 7) % 100) as i64;
            let defer = json!({ "task": format!("afc-{number}"), "reason": "r", "until": until });
            world.done(agent.command(operation("task.defer", defer)));
        }
    }
    world.clocks.pass(LEASE_MS);
    world.batch(Vec::new()).expect("the store works");
    let (listed, total) = every_ready(&mut world);
    let tables = Tables::of(&mut world);
    let mut ready: Vec<_> = tables.tasks.iter().map(|(id, task)| (task.order, id.clone())).collect();
    ready.sort();
    assert_eq!((listed.len(), total), (many, many as u64));
    assert_eq!(listed, ready.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>());
    // Only the last two ask for nothing that this agent lacks.
    let free = ready.iter().find(|(order, _)| order.2 > many as i64 - 2).map(|(_, id)| id.as_str());
    let claimed = world.done(agent.command(operation("claim", json!({ "projects": ["afc"] }))));
    assert_eq!(Some(text(&claimed["task"], "id")), free);
    record_overdue(&mut world, &agent);
    assert_eq!(every_ready(&mut world).0.len(), many - 1, "what the background has done makes no difference");
}
