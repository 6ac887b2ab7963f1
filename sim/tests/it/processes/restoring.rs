//! P8 with the real program: a backup, work after it, a restore, and old clients that go on.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;
use tenure_sim::agent::{Agent, client};
use tenure_sim::daemon::{self, found_in, has_ended};
use tenure_sim::disk::{self, Disk};
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::seed::rounds;
use tenure_sim::shell::{Ran, Shell};
use tenure_sim::{fill, store, waiting};

/// Ends the daemon of a place in peace, whoever started it.
fn stop(place: &Place) {
    let Some(pid) = found_in(place.state()) else { return };
    daemon::signal(pid, Signal::TERM);
    waiting::until("the daemon has gone", || has_ended(pid));
}

/// The command is refused because of the restore, with exit code 6 and the words that an agent acts on.
fn is_refused(ran: &Ran) {
    assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
    assert_eq!(ran.json()["code"], "epoch_changed", "{}", ran.out);
    assert!(ran.err.contains("restored, reconcile"), "{}", ran.err);
}

fn json(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.json()
}

#[test]
fn old_clients_go_on_after_a_restore_and_are_refused_until_they_reconcile() {
    let place = Place::new();
    let shell = Shell::new(place.state(), &place.checkout());
    let [ada, bob, cyd, dan] = ["ada", "bob", "cyd", "dan"].map(|name| shell.named(name));
    let create = |title: &str| {
        let words = ["task", "create", "--project", PROJECT, "--title", title];
        ada.json(&words)["task"]["id"].as_str().expect("an id").to_owned()
    };
    ada.json(&["project", "create", PROJECT]);
    create("from before");
    create("also from before");
    assert_eq!(ada.json(&["claim", "afc-1"])["attempt"], "afc-1@1");
    dan.json(&["session", "open"]);
    let written = ada.json(&["backup", "create", "../backup.db"]);
    let file = written["file"].as_str().expect("a path").to_owned();
    assert_eq!(PathBuf::from(&file), place.root().join("backup.db"));
    assert_eq!(json(&ada.run(&["backup", "verify", &file, "--json"]))["intact"], true);

    // After the backup: five tasks, three claims, and one of them closed.
    let mut given: BTreeSet<String> = ["one", "two", "three", "four", "five"].map(create).into();
    for (agent, task) in [(&bob, "afc-3"), (&cyd, "afc-4"), (&bob, "afc-5")] {
        given.insert(agent.json(&["claim", task])["attempt"].as_str().expect("an attempt").to_owned());
    }
    cyd.json(&["close", "afc-4", "--note", "done"]);
    let cursor = ada.json(&["events", "--newest"])["cursor"].as_str().expect("a cursor").to_owned();
    let last: u64 = cursor.strip_prefix("1-").expect("the first epoch").parse().expect("a number");

    let beside = ada.run(&["restore", &file, "--confirm", "--json"]);
    assert_eq!((beside.code, &beside.json()["code"]), (3, &"in_use".into()), "{}", beside.err);
    stop(&place);

    let plan = json(&ada.run(&["restore", &file, "--json"]));
    assert_eq!(
        (&plan["applied"], &plan["is_known"], &plan["epoch"]),
        (&false.into(), &true.into(), &2.into())
    );
    let lost = &plan["present"]["lost"];
    assert_eq!(lost["kinds"]["task_created"], 5, "{lost}");
    assert_eq!((&lost["kinds"]["task_claimed"], &lost["kinds"]["task_closed"]), (&3.into(), &1.into()));
    assert_eq!(ada.json(&["show", "afc-4"])["task"]["lifecycle"], "done", "nothing was changed");
    stop(&place);
    let restored = json(&ada.run(&["restore", &file, "--confirm", "--json"]));
    assert_eq!((&restored["applied"], &restored["epoch"]), (&true.into(), &2.into()));

    // Old clients go on. Holders are refused, whether the backup knows their claim or not, and stay refused.
    for _ in 0..2 {
        is_refused(&ada.run(&["heartbeat", "afc-1", "--json"]));
        is_refused(&bob.run(&["close", "afc-3", "--note", "done", "--json"]));
        is_refused(&bob.run(&["claim", "--project", PROJECT, "--json"]));
    }
    is_refused(&ada.run(&["events", "--after", &cursor, "--json"]));
    assert_eq!(ada.run(&["show", "afc-4"]).code, 7, "what came after the backup is gone");
    // Whoever holds nothing goes on in a new session, and is told so.
    let note = dan.run(&["note", "afc-2", "still here"]);
    assert_eq!(note.code, 0, "{}", note.err);
    assert!(
        note.err.contains("restored, reconcile") && note.err.contains("a new session was opened"),
        "{}",
        note.err
    );

    // They reconcile: a new session, the present state, and a claim anew.
    for agent in [&ada, &bob] {
        agent.json(&["session", "open", "--anew"]);
    }
    let claimed = ada.json(&["claim", "afc-1"]);
    assert_eq!(
        (&claimed["mode"], &claimed["recovery"]["attempt"]["state"]),
        (&"recovery".into(), &"voided".into())
    );
    let mut anew: BTreeSet<String> = [claimed["attempt"].as_str().expect("an attempt").to_owned()].into();
    anew.insert(bob.json(&["claim", "afc-2"])["attempt"].as_str().expect("an attempt").to_owned());
    anew.extend(["six", "seven"].map(create));
    assert!(given.is_disjoint(&anew), "{given:?} {anew:?}");
    assert!(anew.contains("afc-8"), "the numbers go on after what was handed out: {anew:?}");
    ada.json(&["dispose", "afc-1", "--disposition", "resume"]);
    ada.json(&["close", "afc-1", "--note", "done"]);
    let events = ada.json(&["events", "--limit", "1000"]);
    let numbers: Vec<u64> = events["events"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|event| event["epoch"] == 2)
        .filter_map(|event| event["number"].as_u64())
        .collect();
    assert_eq!(numbers[0], last + 1, "the epoch begins after the last number that was handed out");
    assert_eq!(ada.run(&["audit", "verify"]).code, 0);

    // The same backup once more.
    stop(&place);
    assert_eq!(json(&ada.run(&["restore", &file, "--confirm", "--json"]))["epoch"], 3);
    is_refused(&bob.run(&["heartbeat", "afc-2", "--json"]));
    assert_eq!(ada.run(&["audit", "verify"]).code, 0);
}

#[test]
fn a_restore_that_is_killed_leaves_the_old_store_or_the_new_one() {
    let place = Place::new();
    let mut first = place.daemon();
    let agent = Agent::open(client(place.state()), "ada");
    create_project(&agent);
    fill::tasks(&agent, 2_000);
    let shell = Shell::new(place.state(), &place.checkout()).named("ada");
    shell.json(&["backup", "create", "../backup.db"]);
    // Its log is left behind, and belongs to the store.
    first.kill();
    let (mut old, mut new) = (0, 0);
    let mut epoch = 1;
    let database = place.state().join("tenure.db");
    for round in 0..rounds(12) {
        let names = ["tenure.db.restoring", "tenure.db.restoring-wal"].map(str::to_owned);
        let kept = format!("tenure.db.before-epoch-{}", epoch + 1);
        let name = [&names[..], &[kept]].concat()[round as usize % 3].clone();
        let mut restore = shell.spawn(&["restore", "../backup.db", "--confirm"]);
        let sign = place.state().join(name);
        waiting::until("the restore has come so far", || {
            sign.exists() || restore.try_wait().expect("it is our child").is_some()
        });
        restore.kill().expect("it is our child");
        restore.wait().expect("it is our child");
        assert!(database.exists());
        let mut daemon = place.daemon();
        let info = client(place.state()).info().expect("it answers");
        store::verify(&agent.client);
        match info.epoch.0 {
            found if found == epoch => old += 1,
            found if found == epoch + 1 => new += 1,
            found => panic!("epoch {found} after {epoch}"),
        }
        epoch = info.epoch.0;
        daemon.kill();
    }
    eprintln!("{old} restores were killed before they were done, {new} after");
    assert!(old > 0, "no restore was met in the middle");
    assert_eq!(shell.run(&["restore", "../backup.db", "--confirm"]).code, 0);
    let _daemon = place.daemon();
    store::verify(&agent.client);
    assert_eq!(store::ready_total(&agent.client), 2_000);
}

#[test]
fn without_room_there_is_neither_a_backup_nor_a_restore() {
    disk::in_a_namespace("processes::restoring::on_a_small_disk");
}

#[test]
// ignored because: the test above starts it in a mount namespace of its own
#[ignore = "it is the inside of another test"]
fn on_a_small_disk() {
    if !disk::is_inside() {
        return;
    }
    let place = Place::new();
    let folder = place.folder("disk");
    let disk = Disk::mount(&folder, "3m");
    let place = place.with_state(disk.state());
    let shell = Shell::new(place.state(), &place.checkout()).named("ada");
    shell.json(&["project", "create", PROJECT]);
    shell.json(&["backup", "create", "../backup.db"]);
    shell.json(&["task", "create", "--project", PROJECT, "--title", "after the backup"]);

    disk.fill();
    let ran = shell.run(&["backup", "create", "../disk/backup.db", "--json"]);
    assert_eq!((ran.code, &ran.json()["code"]), (4, &"disk_full".into()), "{}", ran.err);
    let names = std::fs::read_dir(&folder).expect("it is ours").flatten().map(|entry| entry.file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().contains("backup.db")).collect();
    assert!(left.is_empty(), "{left:?} was left behind");
    stop(&place);
    let ran = shell.run(&["restore", "../backup.db", "--confirm", "--json"]);
    assert!([2, 4].contains(&ran.code), "{}{}", ran.out, ran.err);
    assert!(!place.state().join("tenure.db.restoring").exists());

    disk.clear();
    assert_eq!(shell.json(&["show", "afc-1"])["task"]["title"], "after the backup");
    assert_eq!(client(place.state()).info().expect("it answers").epoch.0, 1);
    stop(&place);
    assert_eq!(json(&shell.run(&["restore", "../backup.db", "--confirm", "--json"]))["epoch"], 2);
}
