//! What a restore makes of a record: everything granted before is void, no number comes again, and the chain says so.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use serde_json::json;
use tenure_core::model::event::Fleet;
use tenure_core::model::ids::{Anchor, Digest, Epoch, EventNumber};
use tenure_core::model::limits::{RESTORE_SKIP, RESTORE_SKIP_PER_MS};
use tenure_core::model::refusal::Code;
use tenure_core::model::time::{Now, WallTime};
use tenure_core::rules::restore::{Floors, Told};
use tenure_core::working_set::{Need, WorkingSet};
use tenure_engine::chain::{FlawKind, verify, verify_against};
use tenure_engine::restore::restore;
use tenure_engine::store::batch::Store;
use tenure_engine::store::driver::{Class, Driver, Each, StoreError, Value};
use tenure_engine::store::floors;
use tenure_engine::store::sqlite::Sqlite;

use crate::loop_of_work::{claim, with_tasks};
use crate::world::{Agent, World, on_every_store, operation, pass_the_rest_on, text};

/// What a store that went on after the backup would tell.
fn later(world: &mut World) -> Floors {
    let mut floors = floors::read(&mut *world.driver).expect("the store works");
    floors.event.0 += 40;
    floors.counters = 6;
    floors.tasks.insert("afc".parse().expect("a key"), 9);
    floors.tasks.insert("gone".parse().expect("a key"), 17);
    floors
}

fn restored(world: &mut World, floors: &Floors) -> (Epoch, EventNumber) {
    let before = world.number("SELECT event FROM fleet");
    let fleet = restore(&mut *world.driver, &*world.clocks, floors).expect("the store works");
    assert_eq!(verify(&mut *world.driver, &mut |_| {}).expect("the store works").flaw, None);
    let first = world.number(&format!("SELECT min(number) FROM event WHERE number > {before}"));
    (fleet.epoch, EventNumber(u64::try_from(first).expect("numbers are positive")))
}

#[test]
fn leases_sessions_receipts_and_cursors_of_an_earlier_epoch_count_for_nothing() {
    on_every_store(|mut world| {
        let (bob, eve) = (Agent::new("bob", 1), Agent::new("eve", 2));
        with_tasks(&mut world, &bob, 3);
        world.done(eve.open());
        let held = world.done(claim(&bob));
        let note = bob.command(operation("note", json!({ "task": "afc-2", "text": "before" })));
        world.done(note.clone());
        let reopened = bob.open();
        world.done(reopened.clone());
        let cursor = world.ask(operation("events", json!({ "newest": true })))["cursor"].clone();
        let page = world.ask(operation("ready", json!({ "project": "afc", "limit": 1 })))["cursor"].clone();
        let list = operation("task.list", json!({ "project": "afc", "limit": 1 }));
        let listed = world.ask(list)["cursor"].clone();

        let floors = later(&mut world);
        assert_eq!(restored(&mut world, &floors), (Epoch(2), EventNumber(floors.event.0 + 1)));

        // A client names its epoch, and hears the reason; whoever names none is refused as well.
        let mut beat = bob.fenced(operation("heartbeat", json!({ "task": "afc-1" })), &held);
        assert_eq!(world.refused(beat.clone()), Code::SessionClosed);
        beat.envelope.epoch = Some(Epoch(1));
        let refusal = world.run(beat).expect_err("refused");
        assert_eq!(refusal.code, Code::EpochChanged);
        assert!(refusal.detail.starts_with("restored, reconcile"), "{}", refusal.detail);
        for replayed in [note, reopened] {
            assert_eq!(world.refused(replayed), Code::EpochChanged, "a receipt");
        }
        for (name, input) in [
            ("events", json!({ "after": cursor })),
            ("ready", json!({ "project": "afc", "cursor": page })),
            ("task.list", json!({ "project": "afc", "cursor": listed })),
        ] {
            let refusal = world.asked(operation(name, input)).expect_err(name);
            assert_eq!(refusal.code, Code::EpochChanged, "{name}");
            assert!(refusal.detail.starts_with("restored, reconcile"), "{}", refusal.detail);
        }
        assert_eq!(world.number("SELECT count(*) FROM session WHERE open = 1"), 0);

        // What was held is recovered, by whoever claims it anew.
        let attempts = world.ask(operation("attempts", json!({ "task": "afc-1" })));
        assert_eq!(attempts["attempts"][0]["state"], "voided");
        let anew = Agent::new("bob", 3);
        world.done(anew.open());
        let claimed = world.done(anew.command(operation("claim", json!({ "task": "afc-1" }))));
        assert_eq!((&claimed["mode"], &claimed["attempt"]), (&json!("recovery"), &json!("afc-1@18")));
        assert_eq!(claimed["recovery"]["attempt"]["id"], "afc-1@1");
    });
}

#[test]
fn every_counter_goes_on_after_what_may_have_been_handed_out() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        let floors = later(&mut world);
        restored(&mut world, &floors);
        let bob = Agent::new("bob", 2);
        world.done(bob.open());
        let mut create = |project: &str| {
            let input = json!({ "project": project, "title": "more" });
            world.done(bob.command(operation("task.create", input)))["task"]["id"].clone()
        };
        assert_eq!(create("afc"), "afc-10");
        let project = world.done(bob.command(operation("project.create", json!({ "key": "gone" }))));
        assert_eq!(project["project"]["revision"], 18);
        let mut create = |project: &str| {
            let input = json!({ "project": project, "title": "more" });
            world.done(bob.command(operation("task.create", input)))["task"]["id"].clone()
        };
        assert_eq!(create("gone"), "gone-18");
        let edit = json!({ "task": "afc-1", "revision": 1, "criteria": ["tests pass", "it is fast"] });
        let edited = world.done(bob.command(operation("task.edit", edit)))["task"].clone();
        assert_eq!(edited["revision"], 18);
        let criteria: Vec<_> =
            edited["criteria"].as_array().expect("a list").iter().map(|c| &c["id"]).collect();
        assert_eq!(criteria, ["c18", "c19"], "their ids count within the task");
        let blocker = json!({ "task": "afc-1", "kind": "human_decision", "reason": "which one?" });
        let raised = world.done(bob.command(operation("blocker.raise", blocker)));
        assert_eq!(raised["task"]["blockers"][0]["number"], 18);
        let claimed = world.done(bob.command(operation("claim", json!({ "task": "afc-2" }))));
        assert_eq!(text(&claimed, "attempt"), "afc-2@18");
    });
}

#[test]
fn every_counter_within_a_record_counts_for_how_far_a_store_has_come() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        let edit = json!({ "task": "afc-1", "revision": 1, "criteria": ["a", "b", "c"] });
        world.done(bob.command(operation("task.edit", edit)));
        let blocker = json!({ "task": "afc-2", "kind": "human_decision", "reason": "which one?" });
        world.done(bob.command(operation("blocker.raise", blocker)));
        let counters = |world: &mut World| floors::read(&mut *world.driver).expect("it works").counters;
        assert_eq!(counters(&mut world), 3, "three ids of criteria were given");
        for (raised, statement) in (10..).zip([
            "UPDATE task SET generation = N WHERE id = 'afc-1'",
            "UPDATE task SET revision = N WHERE id = 'afc-2'",
            "UPDATE project SET revision = N",
            "UPDATE blocker SET number = N",
            "UPDATE body SET details = '{\"criteria_given\":N}' WHERE task = 'afc-2'",
            "UPDATE fleet SET floor = N",
        ]) {
            let statement = statement.replace('N', &raised.to_string());
            world.driver.execute(&statement, &[]).expect("edited");
            assert_eq!(counters(&mut world), raised, "{statement}");
        }
        world.driver.execute("UPDATE project SET tasks_issued = 70", &[]).expect("edited");
        let tasks = floors::read(&mut *world.driver).expect("it works").tasks;
        assert_eq!(tasks.into_values().collect::<Vec<_>>(), [70], "a project counts its tasks by itself");
    });
}

/// A store that never finds what it is asked for.
struct Forgetful(Fleet);

impl Store for Forgetful {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        panic!("nothing is done")
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn fleet(&mut self) -> Result<Fleet, StoreError> {
        Ok(self.0.clone())
    }

    fn load(&mut self, _set: &mut WorkingSet, _needs: Vec<Need>, _now: Now) -> Result<(), StoreError> {
        Ok(())
    }

    fn load_ahead(&mut self, _set: &mut WorkingSet, _needs: &[Need], _now: Now) -> Result<(), StoreError> {
        Ok(())
    }

    fn flush(&mut self, _set: &WorkingSet) -> Result<(), StoreError> {
        panic!("nothing is done")
    }
}

#[test]
fn a_restore_that_never_gets_what_it_asks_for_ends() {
    let mut world = World::in_memory();
    let fleet = tenure_engine::store::fleet::existing(&mut *world.driver).expect("the store works");
    let error = restore(&mut Forgetful(fleet), &*world.clocks, &Floors::default()).expect_err("it ends");
    assert_eq!(error.class, Class::Corrupt);
}

#[test]
fn where_nothing_tells_what_was_handed_out_every_counter_moves_far_on() {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 2);
    let known = floors::read(&mut *world.driver).expect("the store works");
    let (taken, now) = (WallTime(1_699_999_999_000), WallTime(1_700_000_000_000));
    let floors = Floors::after(known.clone(), taken, Told::Nothing, now);
    let skip = RESTORE_SKIP + 1_000 * RESTORE_SKIP_PER_MS;
    let event = EventNumber(known.event.0 + skip + 1);
    assert_eq!(restored(&mut world, &floors), (Epoch(1_700_000_001), event));
    let bob = Agent::new("bob", 2);
    world.done(bob.open());
    let create = bob.command(operation("task.create", json!({ "project": "afc", "title": "more" })));
    assert_eq!(world.done(create)["task"]["id"], format!("afc-{}", skip + 3));
}

#[test]
fn a_restore_can_follow_a_restore() {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 2);
    world.done(claim(&bob));
    let mut epochs = BTreeSet::new();
    for round in 2..6 {
        let floors = later(&mut world);
        let (epoch, event) = restored(&mut world, &floors);
        assert_eq!((epoch, event), (Epoch(round), EventNumber(floors.event.0 + 1)));
        epochs.insert(epoch);
    }
    assert_eq!(epochs.len(), 4);
    let voided = world.number("SELECT count(*) FROM event WHERE kind = 'attempt_voided'");
    assert_eq!(voided, 1, "what is void is not voided again");
}

#[test]
fn a_gap_is_allowed_where_a_restore_says_so_and_nowhere_else() {
    let check = |edit: &str| {
        let mut world = World::on_file();
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        world.done(claim(&bob));
        let last = world.number("SELECT event FROM fleet");
        let floors = later(&mut world);
        let (_, event) = restored(&mut world, &floors);
        world.done(Agent::new("bob", 2).open());
        for statement in edit.split(';').filter(|statement| !statement.is_empty()) {
            let statement = statement.replace("FIRST", &event.to_string()).replace("LAST", &last.to_string());
            world.driver.execute(&statement, &[]).expect("edited");
        }
        let flaw = verify(&mut *world.driver, &mut |_| {}).expect("the store works").flaw;
        flaw.map(|flaw| (flaw.kind, flaw.event.0 as i64 - last))
    };
    assert_eq!(check(""), None);
    assert_eq!(check("DELETE FROM event WHERE number = FIRST"), Some((FlawKind::Missing, 1)));
    assert_eq!(check("DELETE FROM event WHERE number = LAST"), Some((FlawKind::Missing, 0)));
    assert_eq!(check("DELETE FROM event WHERE number = FIRST + 1"), Some((FlawKind::Missing, 42)));
    let moved = "UPDATE event SET number = FIRST - 5 WHERE number = FIRST";
    assert_eq!(check(moved), Some((FlawKind::Misplaced, 36)));
    let claims = "UPDATE event SET body = replace(body, '\"after\":', '\"afters\":') WHERE number = FIRST";
    assert_eq!(check(claims), Some((FlawKind::Missing, 1)));
}

#[test]
fn an_event_that_was_noted_and_then_lost_to_a_restore_is_told_as_that() {
    let mut world = World::on_file();
    let bob = Agent::new("bob", 1);
    with_tasks(&mut world, &bob, 1);
    let last = verify(&mut *world.driver, &mut |_| {}).expect("the store works").last;
    let floors = later(&mut world);
    let (_, event) = restored(&mut world, &floors);
    let noted = |number: u64| Anchor { event: EventNumber(number), hash: Digest([7; 32]) };
    let mut check = |number| {
        let report = verify_against(&mut *world.driver, Some(noted(number)), &mut |_| {});
        report.expect("the store works").flaw.map(|flaw| (flaw.kind, flaw.event.0))
    };
    assert!(last.0 + 1 < event.0, "the restore has left numbers out");
    assert_eq!(check(last.0 + 1), Some((FlawKind::LeftBehind, last.0 + 1)));
    assert_eq!(check(event.0 - 1), Some((FlawKind::LeftBehind, event.0 - 1)));
    assert_eq!(check(last.0), Some((FlawKind::Rewritten, last.0)));
}

/// A driver of which one call fails: the one that the counter has come down to.
struct Stumbling {
    inner: Sqlite,
    left: Arc<AtomicI64>,
}

impl Stumbling {
    fn step(&self) -> Result<(), StoreError> {
        match self.left.fetch_sub(1, Relaxed) {
            1 => Err(StoreError::new(Class::Io, "as the test demands")),
            _ => Ok(()),
        }
    }
}

impl Driver for Stumbling {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.inner.begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.inner.begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
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
        self.step()?;
        self.inner.commit()
    }

    pass_the_rest_on!();
}

#[test]
fn a_restore_happens_whole_or_not_at_all() {
    let mut calls = 0;
    loop {
        let left = Arc::new(AtomicI64::new(0));
        let driver = Stumbling { inner: Sqlite::in_memory().expect("a database"), left: left.clone() };
        let mut world = World::on(Box::new(driver), None, None);
        let bob = Agent::new("bob", 1);
        with_tasks(&mut world, &bob, 2);
        world.done(claim(&bob));
        let floors = later(&mut world);
        let before = world.number("SELECT event FROM fleet");
        left.store(calls + 1, Relaxed);
        let outcome = restore(&mut *world.driver, &*world.clocks, &floors);
        left.store(0, Relaxed);
        let Err(error) = outcome else { break };
        calls += 1;
        assert_eq!(error.class, Class::Io);
        assert_eq!(world.number("SELECT event FROM fleet"), before, "call {calls}");
        assert_eq!(world.number("SELECT count(*) FROM attempt WHERE state = 'active'"), 1, "call {calls}");
        assert_eq!(restored(&mut world, &floors).0, Epoch(2), "call {calls}");
    }
    assert!(calls > 8, "only {calls} calls were made to fail");
}

#[test]
fn a_store_of_the_first_schema_is_read_as_it_is() {
    let mut world = World::in_memory();
    with_tasks(&mut world, &Agent::new("bob", 1), 2);
    let before = floors::read(&mut *world.driver).expect("the store works");
    world.driver.migrate(1, crate::world::FIRST_SCHEMA).expect("as it was");
    assert_eq!(floors::read(&mut *world.driver).expect("the store works"), before);
    assert_eq!(verify(&mut *world.driver, &mut |_| {}).expect("the store works").flaw, None);
    let fleet = tenure_engine::execute::prepare(&mut *world.driver, &*world.clocks, || unreachable!());
    assert_eq!(fleet.expect("brought up to date").floor, 0);
}
