//! Readiness through the real store: after random commands, the facts in its rows, the queues read from its indexes
//! and what a claim takes equal a naive oracle that reads the tables itself and shares nothing with rules or engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
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
                let mut record = agent.command(RecordOverdue {});
                record.envelope.caller = None;
                record.envelope.operation_id = Some(operation_id());
                world.done(record);
            }
            return;
        }
    };
    let _ = world.run(agent.command(operation(name, input)));
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
    let listed = world.ask(operation("ready", json!({ "project": "afc", "limit": 1000 })));
    let ids: Vec<&str> =
        listed["tasks"].as_array().expect("a list").iter().map(|task| text(task, "id")).collect();
    assert_eq!(ids, ready.iter().map(|(_, id)| id.as_str()).collect::<Vec<_>>(), "the ready list");
    assert_eq!(listed["total"], ready.len(), "the total");
    let mut tallied = BTreeMap::new();
    for task in tables.tasks.values() {
        *tallied.entry(task.queue.clone()).or_insert(0) += 1;
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
