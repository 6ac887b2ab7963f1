//! The check of the record finds whatever was done to it behind the coordinator's back.

use serde_json::json;
use tenure_core::model::event::chain_hash;
use tenure_core::model::ids::{Anchor, Digest, EventNumber};
use tenure_engine::chain::{ChainReport, FlawKind, verify, verify_against};

use crate::loop_of_work::{claim, with_tasks};
use crate::world::{Agent, World, on_every_store, operation};

fn check(world: &mut World) -> ChainReport {
    verify(&mut *world.driver, &mut |_| {}).expect("the store works")
}

/// Makes a record, does something to it, and says what the check finds first.
fn after(edit: &str) -> (u64, FlawKind) {
    let mut world = World::on_file();
    worked(&mut world);
    assert_eq!(check(&mut world).flaw, None);
    for statement in edit.split(';') {
        world.driver.execute(statement, &[]).expect(statement);
    }
    let flaw = check(&mut world).flaw.expect("it is found");
    (flaw.event.0, flaw.kind)
}

fn worked(world: &mut World) {
    let bob = Agent::new("bob", 1);
    with_tasks(world, &bob, 3);
    let held = world.done(claim(&bob));
    world.done(bob.fenced(operation("close", json!({ "task": "afc-1", "note": "done" })), &held));
}

#[test]
fn an_untouched_record_holds() {
    on_every_store(|mut world| {
        worked(&mut world);
        let mut heard = 0;
        let report = verify(&mut *world.driver, &mut |events| heard = events).expect("the store works");
        assert_eq!(report.flaw, None);
        assert_eq!((report.events as i64, heard), (world.number("SELECT event FROM fleet"), report.events));
        assert_eq!(report.receipts as i64, world.number("SELECT count(*) FROM receipt"));
    });
}

/// Verifies a record against an event that was noted elsewhere.
fn against(world: &mut World, event: u64, hash: Digest) -> Option<(u64, FlawKind)> {
    let noted = Anchor { event: EventNumber(event), hash };
    let report = verify_against(&mut *world.driver, Some(noted), &mut |_| {}).expect("the store works");
    report.flaw.map(|flaw| (flaw.event.0, flaw.kind))
}

/// Writes a link of the chain and those behind it anew, as somebody would who can edit the store.
fn hash_anew(world: &mut World) {
    let mut bodies = Vec::new();
    let all = "SELECT number, body FROM event ORDER BY number";
    let read = world.driver.query(all, &[], &mut |row| {
        bodies.push((row.integer(0)?.unwrap_or_default(), row.text(1)?.unwrap_or_default().to_owned()));
        Ok(())
    });
    read.expect("read");
    let mut head = Digest([0; 32]);
    for (number, body) in bodies {
        head = chain_hash(&head, &body);
        for edit in [
            format!("UPDATE event SET hash = '{head}' WHERE number = {number}"),
            format!("UPDATE fleet SET head = '{head}', event = {number}"),
        ] {
            world.driver.execute(&edit, &[]).expect("edited");
        }
    }
}

#[test]
fn what_was_noted_elsewhere_tells_a_record_that_was_rewritten_as_a_whole() {
    let mut world = World::on_file();
    worked(&mut world);
    let whole = check(&mut world);
    let last = whole.last.0;
    assert_eq!(against(&mut world, last, whole.head), None);
    world
        .driver
        .execute("UPDATE event SET body = replace(body, 'bob', 'eve') WHERE number = 4", &[])
        .expect("edited");
    hash_anew(&mut world);
    assert_eq!(check(&mut world).flaw, None, "by itself it is whole again");
    assert_eq!(against(&mut world, last, whole.head), Some((last, FlawKind::Rewritten)));
}

#[test]
fn what_was_noted_elsewhere_tells_a_record_whose_tail_was_cut() {
    let mut world = World::on_file();
    worked(&mut world);
    let whole = check(&mut world);
    let last = whole.last.0;
    world.driver.execute("DELETE FROM event WHERE number > 5", &[]).expect("edited");
    hash_anew(&mut world);
    assert_eq!(check(&mut world).flaw, None, "by itself it is whole again");
    assert_eq!(against(&mut world, last, whole.head), Some((last, FlawKind::Cut)));
}

#[test]
fn what_was_noted_elsewhere_is_found_although_the_record_went_on() {
    let mut world = World::on_file();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 1);
    let noted = check(&mut world);
    world.done(claim(&bob));
    assert!(check(&mut world).last > noted.last);
    assert_eq!(against(&mut world, noted.last.0, noted.head), None);
    assert_eq!(
        against(&mut world, noted.last.0 - 1, noted.head),
        Some((noted.last.0 - 1, FlawKind::Rewritten)),
        "a hash belongs to its number"
    );
}

#[test]
fn altered_bytes() {
    assert_eq!(
        after("UPDATE event SET body = replace(body, 'bob', 'eve') WHERE number = 4"),
        (4, FlawKind::Broken)
    );
}

#[test]
fn an_altered_column() {
    assert_eq!(after("UPDATE event SET task = 'afc-3' WHERE number = 5"), (5, FlawKind::Misplaced));
    assert_eq!(after("UPDATE event SET kind = 'task_edited' WHERE number = 5"), (5, FlawKind::Misplaced));
}

#[test]
fn a_removed_event() {
    assert_eq!(after("DELETE FROM event WHERE number = 3"), (3, FlawKind::Missing));
}

#[test]
fn a_cut_tail() {
    let last = "(SELECT max(number) FROM event)";
    let (event, kind) = after(&format!("DELETE FROM event WHERE number = {last}"));
    assert_eq!(kind, FlawKind::Missing);
    assert!(event > 5);
}

#[test]
fn a_removed_event_with_the_others_moved_up() {
    let edit = "DELETE FROM event WHERE number = 3; UPDATE event SET number = number - 1 WHERE number > 3; \
                UPDATE fleet SET event = event - 1";
    assert_eq!(after(edit), (3, FlawKind::Broken));
}

#[test]
fn an_inserted_event() {
    let edit = "INSERT INTO event SELECT max(number) + 1, 'note_recorded', NULL, NULL, '{}', 'x' FROM event";
    assert!(matches!(after(edit), (_, FlawKind::Inserted)));
}

#[test]
fn reordered_events() {
    let edit = "UPDATE event SET number = 1000 WHERE number = 4; UPDATE event SET number = 4 WHERE number = 5; \
                UPDATE event SET number = 5 WHERE number = 1000";
    assert_eq!(after(edit), (4, FlawKind::Broken));
}

#[test]
fn a_head_of_another_record() {
    let (_, kind) = after("UPDATE fleet SET head = (SELECT hash FROM event WHERE number = 2)");
    assert_eq!(kind, FlawKind::NotTheHead);
}

#[test]
fn an_altered_receipt() {
    let (_, kind) =
        after("UPDATE receipt SET answer = replace(answer, 'done', 'open') WHERE operation = 'close'");
    assert_eq!(kind, FlawKind::Receipt);
    let (event, kind) = after("UPDATE receipt SET answer = '{}' WHERE operation = 'session.open'");
    assert_eq!((event, kind), (3, FlawKind::Receipt));
}

#[test]
fn a_receipt_that_is_kept_no_longer_is_no_flaw() {
    let mut world = World::on_file();
    worked(&mut world);
    world.driver.execute("UPDATE receipt SET answer = NULL", &[]).expect("edited");
    let report = check(&mut world);
    assert_eq!((report.flaw, report.receipts), (None, 0));
}
