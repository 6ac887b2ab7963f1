//! Copies between databases: that everything arrives, that nothing granted before counts there, what is refused, and that
//! there is never a part of a copy.

mod breaking;
mod going_on;
mod refusing;
mod telling;

use std::cell::RefCell;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tenure_cluster::Cluster;
use tenure_engine::copy::{Copied, CopyError, Place, copy};
use tenure_engine::store::driver::{Driver, Role};
use tenure_engine::store::folder::hold;
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;
use tenure_engine::store::sqlite::Sqlite;
use tenure_engine::store::tables;

use crate::world::{Agent, StillClocks, World, operation};

/// Room for stores of both databases. Nothing here is to survive a crash, so PostgreSQL's disk is not waited for.
pub struct Room {
    folder: tempfile::TempDir,
    /// Asks what the database has and who is there. It goes before its server.
    onlooker: RefCell<Postgres>,
    cluster: Cluster,
}

impl Room {
    pub fn new() -> Self {
        let cluster = Cluster::start(&["fsync=off", "synchronous_commit=on"]).expect("PostgreSQL");
        let address = Address::parse(&cluster.url(), None).expect("an address");
        let onlooker = Postgres::open(&address, Role::Reader).expect("a connection").into();
        Self { folder: tempfile::tempdir().expect("a folder"), onlooker, cluster }
    }

    /// A state folder, which is not there yet.
    pub fn state(&self, name: &str) -> Place {
        Place::Folder(self.folder.path().join(name))
    }

    /// A schema, which is not there yet.
    pub fn schema(&self, name: &str) -> Place {
        let url = format!("{}?schema={name}", self.cluster.url());
        Place::Database(Box::new(Address::parse(&url, None).expect("an address")))
    }

    /// The names of everything that is in a place.
    pub fn contents(&self, place: &Place) -> Vec<String> {
        match place {
            Place::Folder(folder) => names(folder),
            Place::Database(address) => {
                let schema = address.to_string().rsplit(' ').next().expect("a name").to_owned();
                self.asked(&format!(
                    "SELECT tablename::text FROM pg_tables WHERE schemaname = '{schema}' ORDER BY 1"
                ))
            }
        }
    }

    /// The texts that the database answers.
    fn asked(&self, sql: &str) -> Vec<String> {
        let mut texts = Vec::new();
        let asked = self.onlooker.borrow_mut().query(sql, &[], &mut |row| {
            texts.extend(row.text(0)?.map(str::to_owned));
            Ok(())
        });
        asked.expect(sql);
        texts
    }
}

/// The files in a folder that outlast their use.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.ends_with(".lock") && !name.ends_with("-shm"));
    names.sort();
    names
}

/// The store in a place, served; a new one where none is.
pub fn served(place: &Place) -> World {
    match place {
        Place::Folder(folder) => {
            let hold = hold(folder).expect("a store");
            let driver = Sqlite::open(hold.database(), Role::Writer).expect("a database");
            World::on(Box::new(driver), Some(hold), None)
        }
        Place::Database(address) => {
            let driver = Postgres::open(address, Role::Writer).expect("a connection");
            World::on(Box::new(driver), None, None)
        }
    }
}

/// Ends serving; a schema is free once its server has noticed.
pub fn ended(world: World, room: &Room) {
    drop(world);
    while !room.asked("SELECT locktype FROM pg_locks WHERE locktype = 'advisory'").is_empty() {}
}

pub fn copied(from: &Place, to: &Place) -> Result<Copied, CopyError> {
    copy(from, to, &*StillClocks::new(), &mut |_| ())
}

/// Every row of every table in the order of its key, the record up to an event.
pub fn rows(driver: &mut dyn Driver, until: u64) -> Vec<(&'static str, Vec<String>)> {
    let mut all = Vec::new();
    for shape in tables::all() {
        let mut sql = shape.select();
        if shape.table() == "event" {
            sql += &format!(" WHERE number <= {until}");
        }
        sql += &format!(" ORDER BY {}", shape.key().join(", "));
        let mut rows = Vec::new();
        let asked = driver.query(&sql, &[], &mut |row| {
            let values = (0..shape.columns().len()).map(|column| row.value(column));
            let values: Result<Vec<_>, _> = values.collect();
            rows.push(format!("{:?}", values?));
            Ok(())
        });
        asked.expect("the store works");
        all.push((shape.table(), rows));
    }
    all
}

/// A store with something of everything, and what its agent holds.
pub fn begun(world: &mut World) -> (Agent, Value) {
    let (bob, eve) = (Agent::new("bob", 1), Agent::new("eve", 2));
    world.done(bob.open());
    world.done(eve.open());
    for key in ["afc", "other"] {
        world.done(bob.command(operation("project.create", json!({ "key": key }))));
    }
    let bind = json!({ "project": "afc", "repository": "git://here/afc", "folder": "" });
    world.done(bob.command(operation("project.bind", bind)));
    for (number, title) in
        ["The reader", "Ein Zürcher Wörterbuch", "%_\\ 'quoted' \"text\"", "日本 🚀", "later", "ends"]
            .iter()
            .enumerate()
    {
        let create = json!({
            "project": "afc", "title": title, "description": format!("words of {number}\r\nand\ttabs"),
            "labels": ["ui", format!("phase {}", number % 2)], "priority": 4 - number % 3,
        });
        world.done(bob.command(operation("task.create", create)));
    }
    for n in 0..12 {
        let create = json!({ "project": "other", "title": format!("task {n}"), "priority": n % 2 });
        world.done(eve.command(operation("task.create", create)));
        world.clocks.pass(7);
    }
    world.done(bob.command(operation("dependency.add", json!({ "task": "other-2", "on": "other-3" }))));
    let defer = json!({ "task": "afc-5", "reason": "later" });
    world.done(bob.command(operation("task.defer", defer)));
    let handed = world.done(eve.command(operation("claim", json!({ "task": "afc-1" }))));
    let note = json!({ "task": "afc-1", "text": "a needle in the haystack" });
    world.done(eve.fenced(operation("note", note), &handed));
    let handoff = json!({ "task": "afc-1", "text": "bob knows the rest", "to": "bob" });
    world.done(eve.fenced(operation("handoff", handoff), &handed));
    let close = json!({ "task": "afc-6", "revision": 1, "evidence": { "commit": "1a2b3c4" } });
    world.done(bob.command(operation("close", close)));
    let lost = eve.command(operation("claim", json!({ "task": "other-5", "another": true })));
    world.done(lost);
    world.clocks.pass(11 * 60_000);
    let held = world.done(bob.command(operation("claim", json!({ "task": "afc-3" }))));
    (bob, held)
}

/// What people find in a store.
pub fn found(world: &mut World) -> Vec<Value> {
    let mut answers = Vec::new();
    for (name, input, field) in [
        ("search", json!({ "query": "needle" }), "tasks"),
        ("search", json!({ "query": "zurcher worter*" }), "tasks"),
        ("label.list", json!({ "project": "afc" }), "labels"),
        ("task.list", json!({ "project": "afc", "labels": ["phase 1", "ui"] }), "tasks"),
        ("commits", json!({ "project": "afc", "label": "ui" }), "commits"),
        ("ready", json!({ "project": "other" }), "tasks"),
        ("history", json!({ "task": "afc-1" }), "entries"),
        ("task.show", json!({ "task": "afc-4" }), "task"),
    ] {
        let answer = world.ask(operation(name, input));
        assert!(!answer[field].is_null(), "{name} tells no {field}: {answer}");
        answers.push(answer[field].clone());
    }
    answers
}

/// The kinds of pairs that a copy goes between.
pub fn pairs(room: &Room) -> Vec<(Place, Place)> {
    vec![
        (room.state("s1"), room.schema("p1")),
        (room.schema("p2"), room.state("s2")),
        (room.state("s3"), room.state("new/s4")),
        (room.schema("p3"), room.schema("p4")),
    ]
}

pub fn folder(place: &Place) -> &PathBuf {
    match place {
        Place::Folder(folder) => folder,
        Place::Database(address) => panic!("{address} is no folder"),
    }
}

pub fn assert_same<T: PartialEq + Debug>(one: &[T], other: &[T], what: &dyn Debug) {
    assert_eq!(one.len(), other.len(), "{what:?}");
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one, other, "{what:?}");
    }
}
