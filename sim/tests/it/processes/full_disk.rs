//! P9 on a full disk: nobody can tell, and says so; what was acknowledged is there when room returns.

use serde_json::Value;
use tenure_core::operation::ownership::WriteNote;
use tenure_sim::agent::{Agent, Outcome, client};
use tenure_sim::cut::Way;
use tenure_sim::disk::{self, Disk};
use tenure_sim::fill::create_project;
use tenure_sim::log::calls;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::recount::recount;
use tenure_sim::shell::Shell;
use tenure_sim::{daemon, fill, store, waiting};

use super::races::next;

const TASKS: u64 = 20;

#[test]
fn on_a_full_disk_nobody_can_tell_and_nothing_acknowledged_is_lost() {
    disk::in_a_namespace("processes::full_disk::on_a_small_disk");
}

#[test]
// ignored because: the test above starts it in a mount namespace of its own
#[ignore = "it is the inside of another test"]
fn on_a_small_disk() {
    if !disk::is_inside() {
        return;
    }
    let place = Place::new();
    let disk = Disk::mount(&place.folder("disk"), "3m");
    let place = place.with_state(disk.state());
    let first = place.daemon();
    // The agent's session file lies elsewhere, so that it is the store alone that has no room.
    let way = Way::open(&place.folder("way"), place.state());
    let logs = place.folder("logs");
    let agent = Agent::open(client(way.folder()), "ada");
    create_project(&agent);
    fill::tasks(&agent, usize::try_from(TASKS).expect("few"));
    let agent = agent.logging(&logs);
    let task = agent.ask(&next()).ok().task.id;
    let note = |number: u32| WriteNote {
        task: task.clone(),
        text: format!("{number} {}", "x".repeat(20_000)),
        recovery: false,
    };
    agent.ask(&note(0)).ok();

    disk.fill();
    // What the log holds already may be written over, so the first notes may still find room.
    let mut number = 0;
    let said = waiting::some("a note finds no room", || {
        number += 1;
        match agent.ask(&note(number)) {
            Outcome::Unknown(detail) => Some(detail),
            Outcome::Ok(_) => None,
            Outcome::Refused(refusal) => panic!("a full disk is no refusal: {refusal:?}"),
        }
    });
    eprintln!("after {} more notes the coordinator said: {said}", number - 1);
    let elsewhere = Shell::new(way.folder(), &place.checkout()).named("bob");
    let beside_the_store = Shell::new(place.state(), &place.checkout()).named("carol");
    for shell in [&elsewhere, &beside_the_store] {
        let long = "x".repeat(30_000);
        for words in [
            &["claim", "--project", PROJECT, "--json"][..],
            &["task", "create", "--project", PROJECT, "--title", "more", "--description", &long, "--json"],
        ] {
            let ran = shell.run(words);
            assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.out, ran.err);
            assert_eq!(ran.json()["code"], "cannot_tell");
            assert!(ran.err.contains("error:") && ran.err.contains("next:"), "{}", ran.err);
        }
        check_reading(shell);
    }
    // An export needs room while it is read, and says so.
    let export = elsewhere.run(&["export", "jsonl", "--output", "../e.jsonl", "--json"]);
    assert_eq!((export.code, export.json()["code"].as_str()), (4, Some("disk_full")), "{}", export.err);
    assert!(!place.root().join("e.jsonl").exists());
    let doctor = beside_the_store.run(&["doctor"]);
    assert_eq!(doctor.code, 10, "doctor sees it: {}{}", doctor.out, doctor.err);

    // Killed while there is no room: whether the next one can start or not, it answers rightly or not at all.
    drop(first);
    check_reading(&elsewhere);
    check_reading(&beside_the_store);

    disk.clear();
    waiting::until("the store takes notes again", || {
        number += 1;
        // The first command starts a daemon if none could start before.
        beside_the_store.run(&["stats"]).code == 0 && matches!(agent.ask(&note(number)), Outcome::Ok(_))
    });
    let counted = recount(&client(place.state()), &calls(&logs));
    assert!(counted.acknowledged >= 3 && counted.unknown >= 1, "{counted:?}");
    assert_eq!(store::ready_total(&client(place.state())), TASKS - 1);
    eprintln!("{counted:?}");
    if let Some(pid) = daemon::found_in(place.state()) {
        daemon::kill(pid);
    }
}

/// A question is answered with what is there, or with the exit code for "cannot tell".
fn check_reading(shell: &Shell) {
    let ran = shell.run(&["ready", "--project", PROJECT, "--json"]);
    match ran.code {
        0 => assert_eq!(ran.json()["total"], TASKS - 1, "{}", ran.out),
        2 => assert_eq!(ran.json()["code"], Value::from("cannot_tell"), "{}", ran.out),
        other => panic!("exit {other}: {}{}", ran.out, ran.err),
    }
}
