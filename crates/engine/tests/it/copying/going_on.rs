//! A store that was restored by other means, and goes on where it is.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use serde_json::json;
use tenure_core::model::event::EventKind;
use tenure_core::model::limits::RESTORE_SKIP;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::chain::verify;
use tenure_engine::copy::{CopyError, Place, Side};
use tenure_engine::restored::{Restored, RestoredError, Wish, go_on, restored};
use tenure_engine::store::driver::{Class, Role, StoreError};
use tenure_engine::store::fleet;

use super::breaking::cut_off;
use super::{Room, begun, ended, rows, served};
use crate::world::{Agent, SECOND_SCHEMA, StillClocks, operation};

/// A place in each database.
fn places(room: &Room) -> [Place; 2] {
    [room.state("store"), room.schema("store")]
}

fn asked(place: &Place, wish: Wish) -> Result<Restored, RestoredError> {
    restored(place, wish, &*StillClocks::new(), &mut |_| ())
}

/// All rows of a place that nobody serves.
fn all_rows(room: &Room, place: &Place) -> Vec<(&'static str, Vec<String>)> {
    let mut world = served(place);
    let rows = rows(&mut *world.driver, u64::MAX >> 1);
    ended(world, room);
    rows
}

#[test]
fn the_next_epoch_begins_and_what_was_granted_in_a_lost_future_counts_for_nothing() {
    let room = Room::new();
    for place in places(&room) {
        let mut world = served(&place);
        let (bob, held) = begun(&mut world);
        let found = fleet::existing(&mut *world.driver).expect("a fleet");
        ended(world, &room);
        let before = all_rows(&room, &place);

        let planned = asked(&place, Wish::Plan).expect("planned");
        assert_eq!(all_rows(&room, &place), before, "{place}: a plan changes nothing");
        let done = asked(&place, Wish::Begin).expect("begun");
        assert_eq!(done, planned, "{place}: what was told is what is done");
        assert_eq!((&done.found, done.last.number), (&found, found.event), "{place}");
        assert_eq!(done.last.kind, EventKind::TaskClaimed, "{place}");
        assert!(done.leases >= 1 && done.sessions == 2, "{place}: {done:?}");
        assert!(done.event.0 > found.event.0 + RESTORE_SKIP, "{place}: nobody tells what was handed out");

        let mut world = served(&place);
        let now = fleet::existing(&mut *world.driver).expect("a fleet");
        assert_eq!((now.epoch, &now.id), (done.epoch, &found.id), "{place}");
        assert!(now.epoch.0 > found.epoch.0 + 1, "{place}: the lost future may have had epochs of its own");
        assert_eq!(verify(&mut *world.driver, &mut |_| ()).expect("the store works").flaw, None, "{place}");
        let newest = world.ask(operation("events", json!({ "limit": 1000 })));
        let told = newest["events"].as_array().expect("a list").iter();
        let told = told.filter(|event| event["kind"] == "fleet_restored").count();
        assert_eq!(told, 1, "{place}: the record says so");
        let mut beat = bob.fenced(operation("heartbeat", json!({ "task": "afc-3" })), &held);
        beat.envelope.epoch = Some(found.epoch);
        assert_eq!(world.refused(beat), Code::EpochChanged, "{place}");
        let anew = Agent::new("bob", 3);
        world.done(anew.open());
        let again = world.done(anew.command(operation("claim", json!({ "task": "afc-3" }))));
        assert_eq!(again["mode"], "recovery", "{place}");
        ended(world, &room);

        let twice = asked(&place, Wish::Begin).expect("begun");
        assert!(twice.epoch > done.epoch && twice.leases == 1, "{place}: {twice:?}");
    }
}

#[test]
fn a_store_of_an_older_version_goes_on_in_this_one_and_in_its_next_epoch_at_once() {
    let room = Room::new();
    let place = room.state("older");
    let mut world = served(&place);
    begun(&mut world);
    world.driver.migrate(2, SECOND_SCHEMA).expect("as it was");
    ended(world, &room);
    let planned = asked(&place, Wish::Plan).expect("planned");
    let done = asked(&place, Wish::Begin).expect("begun");
    assert_eq!(done, planned);
    let mut world = served(&place);
    let found = world.ask(operation("search", json!({ "query": "needle" })));
    assert_eq!(found["tasks"][0]["id"], "afc-1", "its words are there");
}

#[test]
fn what_cannot_go_on_is_refused_and_stays_as_it_is() {
    let room = Room::new();
    for place in places(&room) {
        let refused = |wish| Refusal::from(asked(&place, wish).expect_err("refused"));
        for wish in [Wish::Plan, Wish::Begin] {
            assert_eq!(refused(wish).code, Code::NotFound, "{place}");
        }
        let mut world = served(&place);
        begun(&mut world);
        for wish in [Wish::Plan, Wish::Begin] {
            assert_eq!(refused(wish).code, Code::InUse, "{place}");
        }
        world.driver.execute("UPDATE event SET body = body || ' ' WHERE number = 7", &[]).expect("tampered");
        ended(world, &room);
        let before = all_rows(&room, &place);
        for wish in [Wish::Plan, Wish::Begin] {
            let refusal = refused(wish);
            assert_eq!(refusal.code, Code::StateConflict, "{place}");
            assert!(refusal.next_actions[0].contains("another moment"), "{place}: {refusal:?}");
        }
        assert_eq!(all_rows(&room, &place), before, "{place}");
    }
}

#[test]
fn wherever_it_is_cut_off_the_epoch_has_begun_or_everything_is_as_it_was() {
    let room = Room::new();
    for (place, step) in places(&room).into_iter().zip([1, 5]) {
        let mut world = served(&place);
        begun(&mut world);
        ended(world, &room);
        let before = all_rows(&room, &place);
        let mut calls = 0;
        loop {
            let mut driver = cut_off(&place, Role::Writer, &Arc::new(AtomicI64::new(calls)));
            let mut side = Side { name: "there".to_owned(), driver: &mut driver };
            let done = go_on(&mut side, Wish::Begin, &*StillClocks::new(), &mut |_| ());
            drop(driver);
            if done.is_ok() {
                break;
            }
            assert_eq!(all_rows(&room, &place), before, "{place}, call {calls}");
            calls += step;
        }
        assert!(calls > 30, "{place}: {calls}");
    }
}

#[test]
fn whoever_cannot_tell_whether_the_epoch_began_is_told_to_begin_another_one() {
    let lost = CopyError::Store("there".to_owned(), StoreError::new(Class::Lost, "as the test demands"));
    let refusal = Refusal::from(RestoredError::from(lost));
    assert_eq!(refusal.code, Code::CannotTell);
    assert!(refusal.next_actions[0].contains("repeat the command"), "{refusal:?}");
}
