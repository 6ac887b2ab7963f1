//! What arrives.

use std::collections::BTreeSet;

use serde_json::json;
use tenure_core::model::refusal::Code;
use tenure_engine::chain::verify;
use tenure_engine::copy::{Place, plan};
use tenure_engine::store::driver::{Driver, Role};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::sqlite::Sqlite;
use tenure_engine::store::tables;
use tenure_engine::store::{fleet, folder};

use super::{Room, assert_same, begun, copied, ended, found, pairs, rows, served};
use crate::world::{Agent, StillClocks, operation};

#[test]
fn everything_arrives_in_another_database_and_work_goes_on_there() {
    let room = Room::new();
    for (from, to) in pairs(&room) {
        let what = format!("{from} to {to}");
        let mut world = served(&from);
        let (bob, held) = begun(&mut world);
        let seen = found(&mut world);
        let before = fleet::existing(&mut *world.driver).expect("a fleet");
        let told = rows(&mut *world.driver, u64::MAX >> 1);
        ended(world, &room);

        let copied = copied(&from, &to).expect(&what);
        assert_eq!((&copied.held.fleet, copied.begun.epoch.0), (&before, 2), "{what}");
        let counts: Vec<u64> = tables::all().iter().map(|shape| copied.held.rows[shape.table()]).collect();
        let expected: Vec<u64> = told.iter().map(|(_, rows)| rows.len() as u64).collect();
        assert_eq!(counts, expected, "{what}");
        assert!(copied.held.ready > 10, "{what}: {copied:?}");

        let mut there = served(&to);
        assert_same(&found(&mut there), &seen, &what);
        let report = verify(&mut *there.driver, &mut |_| ()).expect("the store works");
        assert_eq!((report.flaw, report.head), (None, copied.begun.head), "{what}");
        // The next epoch has changed the fleet's row, open sessions and live attempts, and nothing else.
        let arrived = rows(&mut *there.driver, before.event.0);
        for ((table, rows), (_, arrived)) in told.iter().zip(&arrived) {
            let changed = rows.iter().zip(arrived).filter(|(row, arrived)| row != arrived).count();
            let expected = match *table {
                "fleet" => 1,
                "session" => 2,
                // One had expired, and is not told to be void.
                "attempt" => 2,
                _ => 0,
            };
            assert!(rows.len() == arrived.len() && changed <= expected, "{what}: {table} {changed}");
            assert!(changed == expected || *table == "attempt", "{what}: {table} {changed}");
        }

        let mut beat = bob.fenced(operation("heartbeat", json!({ "task": "afc-3" })), &held);
        assert_eq!(there.refused(beat.clone()), Code::SessionClosed, "{what}");
        beat.envelope.epoch = Some(before.epoch);
        assert_eq!(there.refused(beat), Code::EpochChanged, "{what}");
        let anew = Agent::new("bob", 3);
        there.done(anew.open());
        let again = there.done(anew.command(operation("claim", json!({ "task": "afc-3" }))));
        // Counters within a record go on together, after the highest of them.
        assert_eq!((&again["mode"], &again["attempt"]), (&json!("recovery"), &json!("afc-3@3")), "{what}");
        let more = json!({ "project": "afc", "title": "more" });
        let more = there.done(anew.command(operation("task.create", more)));
        assert_eq!(more["task"]["id"], "afc-7", "{what}");
        ended(there, &room);

        let mut world = served(&from);
        assert_eq!(
            fleet::existing(&mut *world.driver).expect("a fleet"),
            before,
            "{what}: the source is as it was"
        );
        assert_same(&rows(&mut *world.driver, u64::MAX >> 1), &told, &what);
        ended(world, &room);
    }
}

#[test]
fn a_copy_of_a_copy_comes_back_as_it_went() {
    let room = Room::new();
    let (here, there, back) = (room.state("here"), room.schema("there"), room.state("back"));
    let mut world = served(&here);
    begun(&mut world);
    ended(world, &room);
    let first = copied(&here, &there).expect("copied");
    let second = copied(&there, &back).expect("copied");
    assert_eq!(second.held.fleet, first.begun);
    assert_eq!(second.begun.epoch.0, 3);
    assert_eq!(room.contents(&back), ["tenure.db"], "one file is the whole store");
    let mut world = served(&back);
    assert_eq!(verify(&mut *world.driver, &mut |_| ()).expect("the store works").flaw, None);
    // The folder's clients know it again, also where its database was put elsewhere.
    drop(world);
    std::fs::write(super::folder(&back).join(tenure_core::wire::FLEET_MARKER), "test\n").expect("written");
    std::fs::remove_file(super::folder(&back).join("tenure.db")).expect("removed");
    let _ = std::fs::remove_file(super::folder(&back).join("tenure.db-wal"));
    copied(&there, &back).expect("its own fleet comes back");
}

#[test]
fn a_plan_tells_what_the_copy_then_does_and_changes_nothing() {
    let room = Room::new();
    for (from, to) in pairs(&room) {
        let mut world = served(&from);
        begun(&mut world);
        ended(world, &room);
        let clocks = StillClocks::new();
        let planned = plan(&from, &to, &*clocks).expect("a plan");
        assert_eq!(room.contents(&to), [""; 0], "{to}");
        if let Place::Folder(folder) = &to {
            assert!(!folder.exists(), "{to}");
        }
        let copied = copied(&from, &to).expect("copied");
        assert_eq!((&planned.held, planned.begun.epoch), (&copied.held, copied.begun.epoch), "{from}");
        let mut there = served(&to);
        let first = format!("SELECT min(number) FROM event WHERE number > {}", copied.held.fleet.event);
        assert_eq!(there.number(&first).unsigned_abs(), planned.begun.event.0);
        ended(there, &room);
    }
}

/// The tables of a database by its own word, with their columns.
fn catalog(driver: &mut dyn Driver, sql: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let asked = driver.query(sql, &[], &mut |row| {
        let text = |column| row.text(column).map(|text| text.expect("a name").to_owned());
        found.insert((text(0)?, text(1)?));
        Ok(())
    });
    asked.expect("a catalog");
    found
}

#[test]
fn every_table_and_column_of_the_schema_is_copied_or_follows_from_what_is() {
    let room = Room::new();
    let (Place::Database(address), Place::Folder(state)) = (room.schema("one"), room.state("one")) else {
        panic!("they are of these kinds")
    };
    drop(served(&Place::Database(address.clone())));
    drop(served(&Place::Folder(state.clone())));
    let mut postgres = Postgres::open(&address, Role::Reader).expect("a connection");
    let mut sqlite = Sqlite::open(&folder::database_in(&state), Role::Reader).expect("a connection");
    let shapes = tables::all();
    let known: BTreeSet<(String, String)> = shapes
        .iter()
        .flat_map(|shape| {
            shape.columns().iter().map(|column| (shape.table().to_owned(), (*column).to_owned()))
        })
        .collect();
    let of_sqlite = "SELECT sqlite_schema.name, found.name FROM sqlite_schema JOIN pragma_table_info(sqlite_schema.name) \
         AS found WHERE sqlite_schema.type = 'table'";
    let of_postgres = "SELECT table_name::text, column_name::text FROM information_schema.columns \
         WHERE table_schema = current_schema()";
    for (mut found, own) in [
        (catalog(&mut sqlite, of_sqlite), "passage_words_"),
        (catalog(&mut postgres, of_postgres), "migration"),
    ] {
        found.retain(|(table, _)| !tables::FOLLOWING.contains(&table.as_str()) && !table.starts_with(own));
        assert_eq!(found, known);
    }
}
