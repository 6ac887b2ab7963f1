//! What is refused, and that a refusal changes nothing.

use std::fs;

use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::copy::{Place, plan};
use tenure_engine::store::driver::{Class, Driver, Role, StoreError};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::sqlite::Sqlite;

use super::{Room, begun, copied, ended, folder, pairs, rows, served};
use crate::world::{SECOND_SCHEMA, StillClocks, World};

/// A store that nobody serves.
fn left(room: &Room, place: &Place) {
    let mut world = served(place);
    begun(&mut world);
    ended(world, room);
}

/// What a copy is refused with, both when it is only planned and when it is meant.
fn refused(room: &Room, from: &Place, to: &Place) -> Refusal {
    let before = (room.contents(from), room.contents(to));
    let planned = plan(from, to, &*StillClocks::new()).expect_err("refused");
    let meant = copied(from, to).expect_err("refused");
    assert_eq!(planned.to_string(), meant.to_string());
    assert_eq!((room.contents(from), room.contents(to)), before, "a refusal changes nothing");
    Refusal::from(meant)
}

#[test]
fn a_store_that_is_served_is_neither_copied_nor_written() {
    let room = Room::new();
    for (from, to) in pairs(&room) {
        let mut world = served(&from);
        begun(&mut world);
        let refusal = refused(&room, &from, &to);
        assert_eq!(refusal.code, Code::InUse, "{from}: {}", refusal.detail);
        ended(world, &room);
        let world = served(&to);
        let refusal = refused(&room, &from, &to);
        assert_eq!(refusal.code, Code::InUse, "{to}: {}", refusal.detail);
        ended(world, &room);
        assert_eq!(refused(&room, &from, &to).code, Code::AlreadyExists, "{to}");
    }
}

#[test]
fn a_schema_that_is_being_copied_is_not_served() {
    let room = Room::new();
    let place = room.schema("one");
    left(&room, &place);
    let Place::Database(address) = &place else { panic!("it is a database") };
    let alone = Postgres::open_alone(address, Role::Reader).expect("a connection").expect("nobody is there");
    let class = Postgres::open(address, Role::Writer).err().map(|error| error.class);
    assert_eq!(class, Some(Class::Busy));
    assert!(Postgres::open_alone(address, Role::Writer).expect("a connection").is_none());
    Postgres::open(address, Role::Reader).expect("a look disturbs nobody");
    alone.leave().expect("left");
    let one = Postgres::open(address, Role::Writer).expect("it is free at once");
    Postgres::open(address, Role::Writer).expect("several servers serve a schema together");
    drop(one);
}

#[test]
fn a_target_with_a_fleet_is_left_alone_and_the_fleet_is_named() {
    let room = Room::new();
    let from = room.state("from");
    left(&room, &from);
    for to in [room.state("to"), room.schema("to")] {
        left(&room, &to);
        let told = |to: &Place| {
            let mut world = served(to);
            let told = rows(&mut *world.driver, u64::MAX >> 1);
            ended(world, &room);
            told
        };
        let before = told(&to);
        let refusal = refused(&room, &from, &to);
        assert_eq!(refusal.code, Code::AlreadyExists);
        assert!(refusal.detail.contains("the fleet test lives in"), "{}", refusal.detail);
        assert_eq!(told(&to), before);
    }
}

#[test]
fn a_place_without_a_store_and_one_onto_itself_are_told_apart() {
    let room = Room::new();
    let (state, schema) = (room.state("none"), room.schema("none"));
    for (from, to) in [(&state, &schema), (&schema, &state)] {
        let refusal = refused(&room, from, to);
        assert_eq!(refusal.code, Code::NotFound, "{}", refusal.detail);
        assert!(refusal.detail.contains(&from.to_string()), "{}", refusal.detail);
    }
    for place in [&state, &schema] {
        assert_eq!(refused(&room, place, place).code, Code::InvalidInput);
    }
    let linked = room.state("linked");
    left(&room, &state);
    std::os::unix::fs::symlink(folder(&state), folder(&linked)).expect("linked");
    assert_eq!(refused(&room, &state, &linked).code, Code::InvalidInput, "another name of the same folder");
}

#[test]
fn a_folder_of_another_fleet_and_files_of_nobody_are_not_taken() {
    let room = Room::new();
    let (from, to) = (room.state("from"), room.state("to"));
    left(&room, &from);
    let files = folder(&to);
    fs::create_dir(files).expect("made");
    let marker = files.join(tenure_core::wire::FLEET_MARKER);
    fs::write(&marker, "another\n").expect("written");
    let refusal = refused(&room, &from, &to);
    assert_eq!(refusal.code, Code::StateConflict);
    assert!(refusal.detail.contains("the fleet another was founded here"), "{}", refusal.detail);
    fs::remove_file(&marker).expect("removed");
    let elsewhere = files.join(tenure_core::wire::DATABASE_MARKER);
    fs::write(&elsewhere, "PostgreSQL at db\n").expect("written");
    for (from, to) in [(&from, &to), (&to, &room.schema("one"))] {
        let refusal = refused(&room, from, to);
        assert_eq!(refusal.code, Code::StateConflict);
        assert!(refusal.detail.contains("keeps its store in PostgreSQL at db"), "{}", refusal.detail);
    }
    fs::remove_file(&elsewhere).expect("removed");
    fs::write(files.join("tenure.db-wal"), "another database's").expect("written");
    let refusal = refused(&room, &from, &to);
    assert_eq!(refusal.code, Code::AlreadyExists);
    assert!(refusal.detail.contains("tenure.db-wal"), "{}", refusal.detail);
    fs::remove_file(files.join("tenure.db-wal")).expect("removed");
    fs::write(files.join("tenure.db.restoring"), "a restore").expect("written");
    assert_eq!(refused(&room, &from, &to).code, Code::StateConflict);
}

#[test]
fn a_store_of_an_older_version_is_served_by_this_one_first() {
    let room = Room::new();
    let (from, to) = (room.state("from"), room.schema("to"));
    left(&room, &from);
    let database = folder(&from).join("tenure.db");
    let mut older = Sqlite::open(&database, Role::Writer).expect("a connection");
    older.migrate(2, SECOND_SCHEMA).expect("changed");
    drop(older);
    let refusal = refused(&room, &from, &to);
    assert_eq!(refusal.code, Code::StateConflict);
    assert!(refusal.detail.contains("has schema 2"), "{}", refusal.detail);
}

/// Changes a store behind the back of the engine.
fn tampered(room: &Room, place: &Place, sql: &str) {
    let mut world: World = served(place);
    world.driver.execute(sql, &[]).expect(sql);
    ended(world, room);
}

#[test]
fn a_text_that_has_no_place_in_the_other_database_is_named() {
    let room = Room::new();
    let (from, to) = (room.state("from"), room.schema("to"));
    left(&room, &from);
    tampered(&room, &from, "UPDATE body SET title = 'a' || char(0) WHERE task = 'other-3'");
    let refusal = Refusal::from(copied(&from, &to).expect_err("refused"));
    assert_eq!(refusal.code, Code::StateConflict);
    assert!(refusal.detail.contains("the row other-3 of the table body"), "{}", refusal.detail);
    assert_eq!(room.contents(&to), [""; 0]);
    copied(&from, &room.state("to")).expect("a file takes it");
}

#[test]
fn a_damaged_record_is_not_copied() {
    let room = Room::new();
    for (from, to) in pairs(&room) {
        left(&room, &from);
        tampered(&room, &from, "UPDATE event SET body = body || ' ' WHERE number = 5");
        let refusal = Refusal::from(copied(&from, &to).expect_err("refused"));
        assert_eq!(refusal.code, Code::StateConflict, "{}", refusal.detail);
        assert!(refusal.detail.contains("event 5 was altered"), "{}", refusal.detail);
        assert!(!room.contents(&to).iter().any(|name| name.starts_with("tenure.db") || name == "fleet"));
    }
}

#[test]
fn a_database_that_cannot_be_reached_is_no_answer() {
    let room = Room::new();
    let nowhere = "postgres://me@%2Fnowhere/fleet";
    let address = tenure_engine::store::postgres::address::Address::parse(nowhere, None).expect("an address");
    let nowhere = Place::Database(Box::new(address));
    let refusal = Refusal::from(copied(&nowhere, &room.state("to")).expect_err("refused"));
    assert_eq!(refusal.code, Code::CannotTell);
    let _: Option<StoreError> = None;
}
