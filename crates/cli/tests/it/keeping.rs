//! `tenure keep` as it is typed: the lease lasts while a real process runs, and what ends that.

use std::process::{Child, Command};

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_client::processes;
use tenure_cluster::Authority;

use crate::network::{administered, by_ada, token_in};
use crate::place::{Place, signal, until};

/// A lease of a second and a half: without renewals it is soon over.
const HURRIED: [&str; 4] = ["--lease-ms", "1500", "--lease-ms-min", "100"];

/// A process that is ended with the test.
struct Long(Child);

impl Long {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().expect("it starts"))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn end(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Drop for Long {
    fn drop(&mut self) {
        self.end();
    }
}

/// A task that ada holds.
fn held(durations: &[&str]) -> Place {
    let place = Place::hurried(durations);
    place.task("build it", &[]);
    place.ok("ada", &["claim", "afc-1"]);
    place
}

fn keep(place: &Place, long: &Long, more: &[&str]) -> Child {
    let pid = long.pid();
    let words = [&["keep", "afc-1", "--watch", &pid][..], more].concat();
    let child = place.command("ada", &words).spawn().expect("it starts");
    until("the window is declared", || !reporter(place).is_null());
    child
}

fn attempt(place: &Place) -> Value {
    place.json("bob", &["attempts", "afc-1"])["attempts"][0].clone()
}

fn reporter(place: &Place) -> Value {
    attempt(place)["reporter"].clone()
}

fn outcome(child: Child) -> (i32, String) {
    let output = child.wait_with_output().expect("it ends");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

/// Leases have been over for a while that nobody renewed.
fn outlasts_a_lease(place: &Place) {
    let begun = attempt(place)["progress_age_ms"].as_i64().expect("a number");
    until("two leases have passed", || attempt(place)["progress_age_ms"].as_i64() > Some(begun + 3_000));
}

#[test]
fn a_lease_is_kept_while_a_process_runs_and_the_end_of_the_process_ends_it() {
    let place = held(&HURRIED);
    let mut long = Long::new();
    let keeping = keep(&place, &long, &["--for", "1h", "--doing", "cargo test"]);
    outlasts_a_lease(&place);
    let shown = attempt(&place);
    assert_eq!((&shown["state"], &shown["reporter"]["watches"]), (&json!("active"), &json!("cargo test")));
    let told = place.ok("bob", &["show", "afc-1"]).out;
    assert!(told.contains("cargo test is watched"), "{told}");
    long.end();
    let (code, text) = outcome(keeping);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("has ended; the lease lasts another"), "{text}");
    assert_eq!(reporter(&place)["window_ms"], 0);
    until("nothing renews it", || attempt(&place)["state"] == "expired");
}

#[test]
fn the_process_that_renews_knows_the_reporters_secret_alone() {
    let place = held(&HURRIED);
    let long = Long::new();
    let keeping = keep(&place, &long, &["--for", "1h"]);
    let pid = keeping.id();
    until("another program has taken over", || {
        processes::process(pid).is_some_and(|process| process.words.iter().any(|word| word == "keep-watch"))
    });
    let of = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).expect("it lives");
    for file in ["cmdline", "environ"] {
        assert!(!String::from_utf8_lossy(&of(file)).contains("tnr_reporter_"), "{file}");
    }
    let session = std::fs::read_dir(place.state().join("sessions")).expect("there").flatten();
    let texts = session.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    assert!(texts.into_iter().all(|text| !text.contains("tnr_reporter_")), "it is in no file");
    until("it renews, and hears signals", || !reporter(&place)["renewed_age_ms"].is_null());
    signal(pid, Signal::TERM);
    let (code, text) = outcome(keeping);
    assert_eq!(code, 130, "{text}");
    assert_eq!(reporter(&place)["window_ms"], 0, "it said that it renews no more");
}

#[test]
fn a_number_that_another_process_got_is_not_renewed_for() {
    let place = held(&HURRIED);
    let long = Long::new();
    // What `keep` noted of a process that has ended since: the same number, and an earlier start.
    let started = processes::started(long.0.id()).expect("it lives") - 1;
    let secret = tenure_client::reporting::draw();
    let input = json!({ "task": "afc-1", "hash": secret.hash(), "watches": "a build", "window_ms": 60_000 });
    place.ok("ada", &["call", "reporter.create", &input.to_string()]);
    let orders = json!({ "secret": secret.as_str(), "attempt": "afc-1@1", "pid": long.0.id(), "started": started,
        "ends_at": i64::MAX, "renew_ms": 500 });
    let ran = place.fed("", &["keep-watch", "--local", "--json"], orders.to_string().as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.problem()["renewals"], 0);
}

#[test]
fn a_keeper_that_is_killed_renews_nothing_more() {
    let place = held(&HURRIED);
    let long = Long::new();
    let keeping = keep(&place, &long, &["--for", "1h"]);
    outlasts_a_lease(&place);
    signal(keeping.id(), Signal::KILL);
    outcome(keeping);
    until("the lease runs out", || attempt(&place)["state"] == "expired");
}

#[test]
fn a_coordinator_that_dies_and_comes_back_within_the_lease_is_asked_again() {
    let place = held(&["--lease-ms", "20000", "--lease-ms-min", "100"]);
    let mut long = Long::new();
    let keeping = keep(&place, &long, &["--for", "1h", "--every", "100ms"]);
    until("it was renewed", || !reporter(&place)["renewed_age_ms"].is_null());
    let daemon = place.daemon();
    signal(daemon, Signal::KILL);
    until("it is gone", || processes::started(daemon).is_none());
    until("another renewal came", || {
        reporter(&place)["renewed_age_ms"].as_i64().is_some_and(|age| age < 1_000) && place.daemon() != daemon
    });
    long.end();
    assert_eq!(outcome(keeping).0, 0);
}

#[test]
fn what_ends_the_attempt_or_asks_for_a_stop_ends_the_keeper() {
    for (words, expected, says) in [
        (&["release", "afc-1"][..], 6, "superseded"),
        (&["session", "close"], 5, "session_closed"),
        (&["call", "reporter.revoke", r#"{"task":"afc-1"}"#], 6, "reporter_ended"),
    ] {
        let place = held(&[]);
        let long = Long::new();
        let keeping = keep(&place, &long, &["--for", "1h", "--every", "100ms"]);
        place.ok("ada", words);
        let (code, text) = outcome(keeping);
        assert_eq!(code, expected, "{words:?}: {text}");
        assert!(text.contains(says), "{words:?}: {text}");
    }
    let place = held(&[]);
    let long = Long::new();
    let keeping = keep(&place, &long, &["--for", "1h", "--every", "100ms"]);
    place.ok("bob", &["task", "cancel", "afc-1", "--reason", "not needed"]);
    let (code, text) = outcome(keeping);
    assert_eq!(code, 8, "{text}");
    assert!(text.contains("is asked to stop"), "{text}");
}

#[test]
fn after_a_takeover_its_renewals_are_refused() {
    let place = held(&HURRIED);
    let long = Long::new();
    let keeping = keep(&place, &long, &["--for", "1h"]);
    signal(keeping.id(), Signal::STOP);
    until("the lease runs out", || attempt(&place)["state"] == "expired");
    place.ok("bob", &["claim", "afc-1"]);
    signal(keeping.id(), Signal::CONT);
    let (code, text) = outcome(keeping);
    assert_eq!(code, 6, "{text}");
    assert_eq!(place.json("bob", &["attempts", "afc-1"])["attempts"][0]["id"], "afc-1@2");
}

#[test]
fn a_window_that_is_over_says_so_while_the_lease_still_lasts() {
    let place = held(&[]);
    let long = Long::new();
    let pid = long.pid();
    let words = ["keep", "afc-1", "--watch", &pid, "--for", "1s", "--json"];
    let ran = place.run("ada", &words);
    assert_eq!(ran.code, 9, "{}", ran.err);
    assert!(ran.problem()["detail"].as_str().is_some_and(|text| text.contains("still runs")), "{}", ran.out);
    assert_eq!(attempt(&place)["state"], "active");
    let longer = ["keep", "afc-1", "--watch", &pid, "--for", "61m"];
    assert_eq!(place.run("ada", &longer).code, 1);
}

#[test]
fn in_the_background_it_is_told_by_its_number_and_outlives_the_command() {
    let place = held(&HURRIED);
    let mut long = Long::new();
    let pid = long.pid();
    let words = ["keep", "--watch", &pid, "--for", "1h", "--detach"];
    let told = place.json("ada", &words);
    assert_eq!(told["attempt"], "afc-1@1");
    let pid = u32::try_from(told["pid"].as_u64().expect("a number")).expect("small");
    until("it has a session of its own", || {
        processes::process(pid).is_some_and(|process| process.leader == pid && process.terminal == 0)
    });
    outlasts_a_lease(&place);
    assert_eq!(attempt(&place)["state"], "active");
    long.end();
    until("it has ended", || processes::started(pid).is_none());
    assert_eq!(reporter(&place)["window_ms"], 0);
}

#[test]
fn what_is_not_there_is_not_watched_and_what_is_not_held_is_not_kept() {
    let place = held(&[]);
    let mut long = Long::new();
    let pid = long.pid();
    let foreign = place.run("bob", &["keep", "afc-1", "--watch", &pid, "--for", "1m"]);
    assert_eq!(foreign.code, 6, "{}", foreign.err);
    long.end();
    let gone = place.run("ada", &["keep", "afc-1", "--watch", &pid, "--for", "1m"]);
    assert_eq!(gone.code, 1, "{}", gone.err);
    assert!(reporter(&place).is_null());
}

#[test]
fn by_the_network_it_renews_with_the_reporters_secret_alone_which_no_log_has() {
    let authority = Authority::new().expect("openssl");
    let (host, _server, url) = administered(&authority);
    let token = token_in(&by_ada(&host, "token create ci-1 --kind agent --reason nightly"));
    let mut work = Place::new();
    let file = authority.certificate().display().to_string();
    work.variables = vec![("TENURE_SERVER".to_owned(), url), ("TENURE_CA_FILE".to_owned(), file)];
    assert_eq!(work.fed("", &["login", "--stdin"], token.as_bytes()).code, 0);
    work.ok("ci-1", &["claim", "afc-1"]);
    let mut long = Long::new();
    let pid = long.pid();
    let words = ["keep", "--watch", &pid, "--for", "10m", "--every", "100ms"];
    let keeping = work.command("ci-1", &words).spawn().expect("it starts");
    until("it was renewed", || !reporter(&host)["renewed_age_ms"].is_null());
    long.end();
    let (code, text) = outcome(keeping);
    assert_eq!(code, 0, "{text}");
    let events = host.json("lead", &["events", "--newest", "--task", "afc-1"]);
    let ended = events["events"].as_array().expect("a list").iter().find(|it| it["kind"] == "reporter_ended");
    assert_eq!(ended.expect("recorded")["actor"]["principal"], "ci-1");
    let log = std::fs::read_to_string(host.state().join("daemon.log")).expect("a log");
    assert!(!log.contains("tnr_reporter_"), "{log}");
    assert_eq!(host.run("lead", &["audit", "verify"]).code, 0);
}
