//! `wait`, `claim --wait` and `events --follow`, as they are typed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::place::{Place, until};

/// Starts a command that waits, and comes back when the daemon knows of it.
fn waits(place: &Place, agent: &str, words: &[&str]) -> Child {
    let child = place.command(agent, &[words, &["--json"]].concat()).spawn().expect("runs");
    until("it waits", || {
        let info = place.client().get("/api/v1/info").expect("the daemon answers");
        serde_json::from_slice::<Value>(&info).expect("JSON")["waiting"] == 1
    });
    child
}

/// What a command that waited told, and its exit code.
fn told(child: Child) -> (Option<i32>, Value) {
    let output = child.wait_with_output().expect("ends");
    let told = serde_json::from_slice(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    (output.status.code(), told.unwrap_or_else(|wrong| panic!("{wrong}: {error}")))
}

#[test]
fn a_task_is_waited_for_by_its_end_its_readiness_and_its_next_change() {
    let place = Place::bound();
    let first = place.task("first", &[]);
    let second = place.task("second", &["--blocked-by", &first]);
    place.ok("ada", &["claim", &first]);
    let changed = waits(&place, "bob", &["wait", &first, "--until", "changed"]);
    place.ok("ada", &["note", &first, "half of it"]);
    let (code, answer) = told(changed);
    assert_eq!((code, &answer["task"]["status"]), (Some(0), &"in_progress".into()), "{answer}");
    let ready = waits(&place, "bob", &["wait", &second, "--until", "ready", "--timeout", "5m"]);
    place.ok("ada", &["close", &first]);
    let (code, answer) = told(ready);
    assert_eq!((code, &answer["next"]), (Some(0), &format!("tenure claim {second}").into()), "{answer}");
    place.ok("bob", &["wait", &first, "--timeout", "0s"]);
}

#[test]
fn a_claim_that_waits_leaves_to_others_what_it_would_not_take() {
    let place = Place::hurried(&["--lease-ms", "300", "--lease-ms-min", "100"]);
    let expired = place.task("left behind", &[]);
    place.ok("ada", &["claim", &expired]);
    until("it expires", || place.json("bob", &["explain", &expired])["status"] == "recovery");
    let claim = waits(&place, "bob", &["claim", "--no-recovery", "--wait", "5m"]);
    let fresh = place.task("fresh", &[]);
    let (code, answer) = told(claim);
    assert_eq!((code, &answer["task"]["id"]), (Some(0), &fresh.into()), "{answer}");
}

#[test]
fn the_record_is_followed_from_its_newest_events_on_until_nobody_reads() {
    let place = Place::bound();
    place.task("before", &[]);
    let mut follower = place
        .command("ada", &["events", "--follow", "--limit", "1", "--json=kind,task"])
        .stderr(Stdio::null())
        .spawn()
        .expect("runs");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped"));
    let mut next = || {
        let mut line = String::new();
        lines.read_line(&mut line).expect("a line");
        line
    };
    assert_eq!(next(), "{\"kind\":\"task_created\",\"task\":\"afc-1\"}\n");
    place.task("after", &[]);
    assert_eq!(next(), "{\"kind\":\"task_created\",\"task\":\"afc-2\"}\n");
    drop(lines);
    until("it ends with its reader", || {
        place.task("one more", &[]);
        follower.try_wait().expect("our child").is_some()
    });
    assert_eq!(follower.wait().expect("our child").code(), Some(0), "that nobody reads is no error");
}
