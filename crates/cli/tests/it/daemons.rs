//! The daemon behind the commands: one for all, and replaceable at any moment.

use rustix::process::Signal;

use crate::place::{Place, signal};

#[test]
fn twenty_commands_at_once_find_one_daemon() {
    let place = Place::new();
    let children: Vec<_> = (0..20)
        .map(|number| {
            let key = format!("p{number}");
            place.command(&key, &["project", "create", &key]).spawn().expect("runs")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(
        place.json("ada", &["project", "list", "--limit", "100"])["projects"].as_array().map(Vec::len),
        Some(20)
    );
    let log = std::fs::read_to_string(place.state().join("daemon.log")).expect("a log");
    assert_eq!(log.matches("\"ready\"").count(), 1, "{log}");
}

#[test]
fn what_was_acknowledged_is_there_after_the_daemon_was_killed() {
    let place = Place::bound();
    let task = place.task("survives", &[]);
    place.ok("ada", &["claim", &task]);
    let first = place.daemon();
    signal(first, Signal::KILL);
    let heartbeat = place.ok("ada", &["heartbeat"]);
    assert!(heartbeat.err.contains("started the daemon"), "{}", heartbeat.err);
    assert_ne!(place.daemon(), first);
    assert_eq!(place.run("bob", &["claim", &task]).code, 3);
    place.ok("ada", &["close"]);
    place.ok("ada", &["audit", "verify"]);
}

#[test]
fn a_daemon_that_does_not_answer_is_not_taken_for_no_work() {
    let place = Place::bound();
    let daemon = place.daemon();
    // A second daemon in the same folder finds the first and leaves it alone.
    let second = place.ok("ada", &["serve", "--folder", place.state().to_str().expect("text")]);
    assert!(second.out.contains("\"already\":true"), "{}", second.out);
    assert_eq!(place.daemon(), daemon);
}

#[test]
fn a_folder_open_to_others_is_refused_with_the_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    std::fs::create_dir(place.state()).expect("created");
    std::fs::set_permissions(place.state(), std::fs::Permissions::from_mode(0o755)).expect("set");
    let ran = place.run("ada", &["ready", "--project", "a"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("chmod 700"), "{}", ran.err);
}

#[test]
fn the_demo_ends_well_and_leaves_nothing_behind() {
    let mut place = Place::new();
    let temporary = place.root.path().join("tmp");
    std::fs::create_dir(&temporary).expect("created");
    place.variables.push(("TMPDIR".to_owned(), temporary.to_str().expect("text").to_owned()));
    let ran = place.ok("", &["demo"]);
    for said in ["lease_held", "taken over", "lease_expired", "the record is whole"] {
        assert!(ran.out.contains(said), "{said} is missing: {}", ran.out);
    }
    assert_eq!(std::fs::read_dir(&temporary).expect("there").count(), 0);
    assert!(!place.state().exists(), "the person's own store was not touched");
}
