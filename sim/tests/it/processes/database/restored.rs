//! A database that PostgreSQL's own means have restored: from a base backup and the log up to a moment, and from a dump.
//! Whoever restored it says so, and nothing of the future that is lost counts.

use std::path::Path;

use serde_json::Value;
use tenure_cluster::Cluster;
use tenure_core::model::ids::{EventCursor, TaskId};
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::{Claimed, Heartbeat, WriteNote};
use tenure_core::operation::record::ListEvents;
use tenure_core::operation::task::ShowTask;
use tenure_sim::agent::{Agent, Outcome, client};
use tenure_sim::daemon::Daemon;
use tenure_sim::fleet::{Fleet, url};
use tenure_sim::load::{Load, close, create};
use tenure_sim::place::Place;
use tenure_sim::seed::Seed;
use tenure_sim::shell::Shell;
use tenure_sim::{store, waiting};

use super::super::races::named;
use super::UNFLUSHED;

fn newest(agent: &Agent) -> EventCursor {
    let question = ListEvents { after: None, newest: true, task: None, limit: Some(1) };
    agent.client.call(&question, None).expect("events can be listed").value.cursor
}

/// Work up to the moment that the database is restored to, and what was granted until then.
struct Before {
    ada: Agent,
    task: TaskId,
    cursor: EventCursor,
    acknowledged: u64,
}

impl Before {
    fn of(fleet: &Fleet, seed: u64) -> Self {
        let agents = fleet.crowd(3);
        let acknowledged = Load::during(&agents, seed, |load| {
            load.go_on(60);
            load.acknowledged()
        });
        let ada = fleet.agent(0, "ada");
        let created = ada.ask(&create("from before the moment")).ok().task.id;
        ada.ask(&named(&created)).ok();
        let note = WriteNote { task: created.clone(), text: "still here".to_owned(), recovery: false };
        ada.ask(&note).ok();
        let cursor = newest(&ada);
        Self { ada, task: created, cursor, acknowledged }
    }
}

/// Work after it, which will be gone, and what was granted in it.
struct Lost {
    bob: Agent,
    held: Claimed,
    cursor: EventCursor,
}

impl Lost {
    fn of(fleet: &Fleet) -> Self {
        let bob = fleet.agent(1, "bob");
        let created = bob.ask(&create("after the moment")).ok().task.id;
        let closed = bob.ask(&create("closed after the moment")).ok().task.id;
        bob.ask(&named(&closed)).ok();
        bob.ask(&close(&closed)).ok();
        let held = bob.ask(&named(&created)).ok();
        let cursor = newest(&bob);
        Self { bob, held, cursor }
    }
}

/// Says that a database was restored, as its operator does.
fn say_so(place: &Place, url: &str) -> Value {
    let shell = Shell::new(place.state(), &place.checkout());
    let planned = waiting::some("nobody serves the store", || {
        let ran = shell.run(&["store", "restored", url, "--dry-run", "--json"]);
        assert!([0, 3].contains(&ran.code), "{}{}", ran.out, ran.err);
        (ran.code == 0).then(|| ran.json())
    });
    let done = waiting::some("nobody serves the store", || {
        let ran = shell.run(&["store", "restored", url, "--json"]);
        assert!([0, 3].contains(&ran.code), "{}{}", ran.out, ran.err);
        (ran.code == 0).then(|| ran.json())
    });
    assert_eq!((&planned["applied"], &done["applied"]), (&false.into(), &true.into()));
    assert_eq!(
        (&planned["after"], &planned["leases"]),
        (&done["after"], &done["leases"]),
        "{planned} {done}"
    );
    done
}

/// What was before the moment is there, what came after it is gone, and nothing that was granted counts.
fn judge(before: &Before, lost: &Lost, told: &Value, folder: &Path) {
    store::verify(&client(folder));
    let record = store::events(&client(folder));
    let tasks = store::tasks(&client(folder));
    let titled = |title: &str| tasks.iter().filter(|task| task.title == title).count();
    assert_eq!((titled("from before the moment"), titled("after the moment")), (1, 0));
    assert_eq!(store::texts(&client(folder), &before.task).get("still here"), Some(&1));
    let gone = client(folder).call(&ShowTask { task: lost.held.task.id.clone(), entries: None }, None);
    assert_eq!(gone.expect_err("it is gone").code(), Code::NotFound);
    assert!(record.len() as u64 > before.acknowledged / 2, "{} events are left", record.len());
    let restored = record.iter().filter(|event| event.kind.as_str() == "fleet_restored").count();
    assert_eq!(restored, 1, "the record says so");
    assert!(told["leases"].as_u64() >= Some(1), "{told}");

    for cursor in [before.cursor, lost.cursor] {
        let question = ListEvents { after: Some(cursor), newest: false, task: None, limit: Some(1) };
        let refused = client(folder).call(&question, None).expect_err("it is of an earlier epoch");
        assert_eq!(refused.code(), Code::EpochChanged);
    }
    for (agent, held) in [(&before.ada, &before.task), (&lost.bob, &lost.held.task.id)] {
        let beat = client(folder).call(&Heartbeat { task: held.clone() }, Some(&agent.session));
        let refused = beat.expect_err("it is of an earlier epoch");
        assert_eq!(refused.code(), Code::EpochChanged, "{}", agent.name);
    }
    let cyd = Agent::open(client(folder), "cyd");
    let again = cyd.ask(&named(&before.task)).ok();
    assert!(again.recovery.is_some() && again.generation.0 > 1, "held work is recovered");
    let more = cyd.ask(&create("after the restore")).ok().task.id;
    assert!(more.number > lost.held.task.id.number, "{more} may have been given before");
    store::verify(&client(folder));
}

#[test]
fn a_database_that_was_recovered_to_a_moment_goes_on_from_there_in_an_epoch_of_its_own() {
    let seed = Seed::of_this_run();
    let mut database = Cluster::archiving(UNFLUSHED).expect("PostgreSQL");
    let url = url(&[database.host().expect("it listens")]);
    let mut fleet = Fleet::of([&url, &url]);
    let backup = database.base_backup().expect("a base backup");
    let before = Before::of(&fleet, seed);
    let moment = database.moment().expect("a moment");
    let lost = Lost::of(&fleet);
    let dan = fleet.agent(1, "dan").asking_once();
    let place = Place::new();

    fleet.servers[0].terminate();
    database.recover(&backup, &moment).expect("it is recovered");
    // One server was forgotten. The database lacks what it has acknowledged, and then is in another epoch.
    let forgotten = |what: &str| {
        let asked = dan.ask(&create(what));
        assert!(matches!(asked, Outcome::Unknown(_)), "{what}: {asked:?}");
    };
    forgotten("before anybody said so");
    let told = say_so(&place, &url);
    let again = Daemon::start(fleet.servers[0].folder(), &["--database", &url], &[]);
    forgotten("beside a server of the next epoch");
    judge(&before, &lost, &told, again.folder());
}

#[test]
fn a_dump_that_was_loaded_into_another_database_goes_on_there_in_an_epoch_of_its_own() {
    let seed = Seed::of_this_run();
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let url = url(&[database.host().expect("it listens")]);
    let mut fleet = Fleet::of([&url, &url]);
    let before = Before::of(&fleet, seed);
    let dump = database.dump("tenure").expect("a dump, while servers serve");
    let lost = Lost::of(&fleet);
    let place = Place::new();

    for server in &mut fleet.servers {
        server.terminate();
    }
    database.load("other", &dump).expect("loaded");
    let other = url.replace("/postgres", "/other");
    let told = say_so(&place, &other);
    let again = Daemon::start(fleet.servers[0].folder(), &["--database", &other], &[]);
    judge(&before, &lost, &told, again.folder());
}
