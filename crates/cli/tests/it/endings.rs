//! How commands end: the exit code and the problem say the same.

use rustix::process::Signal;

use crate::place::{Place, signal, until};

/// Runs with and without `--json`, and checks that the endings agree.
fn check(place: &Place, agent: &str, words: &[&str], exit: i32, code: &str) {
    let human = place.run(agent, words);
    assert_eq!(human.code, exit, "{words:?}: {}{}", human.out, human.err);
    assert_eq!(human.out, "", "{words:?}: a refusal is no data");
    assert!(human.err.contains(&format!("({code})")), "{words:?}: {}", human.err);
    assert!(human.err.contains("\nnext:  "), "{words:?} names no next step: {}", human.err);
    let problem = place.run(agent, &[words, &["--json"]].concat()).problem();
    assert_eq!(problem["code"], code, "{words:?}");
    assert_eq!(problem["exit_code"], exit, "{words:?}");
}

#[test]
fn each_refusal_has_its_exit_code() {
    let place = Place::bound();
    let held = place.task("held", &[]);
    let waiting = place.task("waiting", &["--blocked-by", &held]);
    place.ok("ada", &["claim", &held]);
    check(&place, "bob", &["claim", &held], 3, "lease_held");
    check(&place, "bob", &["claim", &waiting], 8, "not_ready");
    check(&place, "bob", &["claim"], 9, "nothing_eligible");
    check(&place, "bob", &["wait", "--timeout", "0s"], 9, "nothing_eligible");
    check(&place, "bob", &["wait", &held, "--timeout", "10ms"], 9, "not_yet");
    check(&place, "bob", &["wait", &waiting, "--until", "ready", "--timeout", "10ms"], 9, "not_yet");
    check(&place, "bob", &["claim", &held, "--project", "afc", "--wait", "10ms"], 3, "lease_held");
    check(&place, "bob", &["claim", "--wait", "10ms"], 9, "nothing_eligible");
    check(&place, "bob", &["heartbeat", &held], 6, "not_holder");
    check(&place, "bob", &["show", "afc-99"], 7, "not_found");
    check(&place, "bob", &["show", "no-alias"], 7, "not_found");
    check(&place, "", &["claim", &held], 5, "session_required");
    check(&place, "bob", &["task", "force-release", &held, "--reason", "x"], 5, "operator_required");
    check(&place, "bob", &["project", "create", "afc"], 8, "already_exists");
    check(&place, "bob", &["dependency", "add", &held, &waiting], 8, "dependency_cycle");
    check(&place, "bob", &["note", &held], 1, "invalid_input");
    check(&place, "bob", &["note", &held, "x", "--file", "y"], 1, "invalid_input");
    check(&place, "bob", &["ready", "--server", "https://x"], 2, "cannot_tell");
    check(&place, "no good name", &["claim"], 1, "invalid_input");
    std::fs::write(place.checkout().join(".git/config"), "").expect("written");
    check(&place, "bob", &["ready"], 8, "ambiguous_project");
    place.ok("bob", &["ready", "--project", "afc"]);
}

#[test]
fn a_cursor_of_another_epoch_is_no_reason_to_give_up_the_session() {
    let place = Place::bound();
    let task = place.task("one", &[]);
    place.ok("bob", &["next"]);
    check(&place, "bob", &["wait", &task, "--until", "changed", "--after", "7-1"], 6, "epoch_changed");
    let events = place.ok("bob", &["events", "--limit", "1000", "--json=kind"]).out;
    assert!(!events.contains("session_closed"), "{events}");
    let ran = place.run("bob", &["wait", &task, "--until", "changed", "--after", "7-1"]);
    assert!(!ran.err.contains("--anew"), "{}", ran.err);
}

#[test]
fn help_says_what_each_command_is_for() {
    let place = Place::new();
    for words in [&["--help"][..], &["task", "--help"], &["project", "-h"]] {
        let help = place.ok("", words).out;
        let commands = help.split("Commands:\n").nth(1).expect("a list of commands");
        let listed = commands.lines().take_while(|line| !line.is_empty());
        let bare: Vec<&str> = listed.filter(|line| line.split_whitespace().count() < 3).collect();
        assert!(bare.is_empty(), "{words:?}: {bare:?}");
    }
}

#[test]
fn a_holder_s_command_without_a_task_names_what_is_held_elsewhere() {
    let place = Place::bound();
    for words in [&["heartbeat"][..], &["note", "done so far"], &["close"], &["show"]] {
        check(&place, "bob", words, 1, "invalid_input");
        let ran = place.run("bob", words);
        assert!(ran.err.contains("bob holds none") && ran.err.contains("`tenure claim`"), "{}", ran.err);
    }
    place.ok("bob", &["project", "create", "other"]);
    for _ in 0..2 {
        place.ok("bob", &["task", "create", "--project", "other", "--title", "far away"]);
        place.ok("bob", &["claim", "--project", "other", "--another"]);
    }
    check(&place, "bob", &["close"], 1, "invalid_input");
    let ran = place.run("bob", &["close"]);
    assert!(ran.err.contains("bob holds none here, but other-1, other-2"), "{}", ran.err);
    place.ok("bob", &["close", "other-1"]);
}

#[test]
fn a_session_that_closes_is_told_what_it_still_holds() {
    let place = Place::bound();
    let task = place.task("held", &[]);
    place.ok("ada", &["claim", &task]);
    let closed = place.ok("ada", &["session", "close"]);
    assert!(closed.out.contains("holds:       afc-1@1"), "{}", closed.out);
    assert!(
        closed.err.contains("still holds afc-1@1") && closed.err.contains("lease ends"),
        "{}",
        closed.err
    );
    check(&place, "bob", &["claim", &task], 3, "lease_held");
    assert_eq!(place.ok("bob", &["session", "close"]).err, "", "who holds nothing is told nothing");
}

#[test]
fn what_cannot_be_read_as_a_command_is_bad_input() {
    let place = Place::new();
    for words in [&["claims"][..], &["ready", "--limt", "3"], &["ready", "--limit", "x"], &["task", "cancel"]]
    {
        let ran = place.run("ada", words);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{words:?}: {}", ran.err);
        let problem = place.run("ada", &[words, &["--json"]].concat()).problem();
        assert_eq!(problem["code"], "invalid_input");
        let help = problem["next_actions"].as_array().and_then(|steps| steps.last()).expect("a next step");
        let help: Vec<&str> =
            help.as_str().and_then(|help| help.split(' ').skip(1).into()).expect("words").collect();
        place.ok("ada", &help);
    }
    let limit = place.run("ada", &["ready", "--limit", "x", "--json"]).problem();
    assert_eq!(
        (&limit["facts"]["field"], &limit["next_actions"][0]),
        (&"limit".into(), &"tenure help ready".into())
    );
    assert!(place.run("ada", &["claims"]).err.contains("`tenure claim`"), "it says what was meant");
    assert!(!place.state().exists(), "nothing was started for it");
}

#[test]
fn a_lease_that_ended_is_a_lost_lease() {
    let place = Place::hurried(&["--lease-ms", "300", "--lease-ms-min", "100"]);
    let task = place.task("short", &[]);
    place.ok("ada", &["claim", &task]);
    // Bob gets it as soon as ada's lease has ended, and not before.
    while place.run("bob", &["claim", &task]).code == 3 {}
    for words in [&["close", &task][..], &["note", &task, "late"], &["release", &task], &["heartbeat", &task]]
    {
        let ran = place.run("ada", words);
        assert_eq!(ran.code, 6, "{words:?}: {}", ran.err);
    }
}

#[test]
fn a_session_that_is_over_is_followed_in_silence_only_where_nothing_is_lost() {
    let place = Place::bound();
    place.ok("ada", &["session", "show"]);
    let files = std::fs::read_dir(place.state().join("sessions")).expect("there");
    let mut files = files.map(|entry| entry.expect("there").path());
    let file =
        files.find(|path| path.extension().is_some_and(|end| end == "json")).expect("a session's file");
    let stale = std::fs::read(&file).expect("read");
    place.ok("ada", &["session", "close"]);
    std::fs::write(&file, stale).expect("written");
    let task = "afc-1";
    check(&place, "ada", &["heartbeat", task], 5, "session_closed");
    assert!(place.run("ada", &["heartbeat", task]).err.contains("next:  tenure session open --anew"));
    let created = place.ok("ada", &["project", "create", "other"]);
    assert!(created.err.contains("a new session was opened"), "{}", created.err);
    assert_eq!(place.ok("ada", &["project", "create", "third"]).err, "");
}

#[test]
fn a_live_session_makes_way_for_the_next_of_its_name() {
    let place = Place::bound();
    let task = place.task("held", &[]);
    place.ok("ada", &["claim", &task]);
    check(&place, "ada", &["session", "open", "--capability", "gpu"], 8, "state_conflict");
    let opened = place.json("ada", &["session", "open", "--anew", "--capability", "gpu"]);
    assert_eq!(opened["session"]["capabilities"][0], "gpu", "{opened}");
    assert_eq!(opened["session"]["holds"].as_array().map(Vec::len), Some(0), "{opened}");
    place.ok("ada", &["session", "open", "--anew"]);
    check(&place, "ada", &["heartbeat", &task], 6, "not_holder");
}

#[test]
fn a_repository_joins_a_project_of_its_folder_s_name_only_when_that_is_said() {
    let place = Place::new();
    place.ok("ada", &["init"]);
    std::fs::write(place.checkout().join(".git/config"), "").expect("written");
    check(&place, "bob", &["init"], 8, "already_exists");
    assert!(place.run("bob", &["init"]).err.contains("next:  tenure init checkout"));
    place.ok("bob", &["init", "checkout"]);
    place.ok("bob", &["init"]);
}

#[test]
fn an_interrupted_command_ends_with_130() {
    let place = Place::bound();
    let daemon = place.daemon();
    signal(daemon, Signal::STOP);
    let child = place.command("ada", &["ready"]).spawn().expect("runs");
    until("the command waits for an answer", || {
        // It catches the interrupt (the second bit) and sleeps in a system call.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
        let line =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        line("State:").starts_with('S')
            && u64::from_str_radix(line("SigCgt:"), 16).is_ok_and(|set| set & 2 != 0)
    });
    signal(child.id(), Signal::INT);
    let output = child.wait_with_output().expect("ends");
    signal(daemon, Signal::CONT);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{output:?}");
}

#[test]
fn an_answer_that_could_not_be_written_is_no_success() {
    let place = Place::new();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("there");
    let output = place.command("ada", &["version"]).stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"), "{output:?}");
}

#[test]
fn a_change_whose_answer_could_not_be_written_is_told_as_done() {
    let place = Place::bound();
    place.task("first", &[]);
    let unwritten = |words: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("there");
        let output = place.command("ada", words).stdout(full).output().expect("runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (
            output.status.code(),
            errors.contains("is done; only its answer"),
            errors.contains("repeat the command"),
        )
    };
    for words in [
        &["task", "create", "--title", "second"][..],
        &["task", "create", "--title", "third", "--json"],
        &["task", "create", "--title", "fourth", "--jq", ".task.id"],
        &["claim", "afc-1"],
        &["heartbeat"],
        &["note", "a text"],
        &["call", "note", r#"{"task":"afc-1","text":"more"}"#],
        &["close"],
        &["project", "create", "other"],
        &["backup", "create", "copy"],
    ] {
        assert_eq!(unwritten(words), (Some(1), true, false), "{words:?}");
    }
    for words in [&["show", "afc-1"][..], &["task", "list", "--json"], &["session", "show"]] {
        assert_eq!(unwritten(words), (Some(2), false, true), "{words:?}");
    }
    assert_eq!(place.json("ada", &["task", "list", "--json"])["tasks"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_long_name_is_not_repeated_whole() {
    let place = Place::bound();
    let long = "x".repeat(100_000);
    for words in
        [&["import", "beads", &long][..], &["backup", "verify", &long], &["ready", "--server", &long]]
    {
        let ran = place.run("ada", words);
        assert!(ran.code != 0 && ran.err.len() < 3_000, "{}: {}", ran.code, ran.err.len());
        assert!(place.run("ada", &[words, &["--json"]].concat()).out.len() < 3_000);
    }
}

#[test]
fn a_task_whose_name_cannot_be_one_is_told_by_that() {
    let place = Place::bound();
    let long = "x".repeat(70_000);
    for name in ["a\r\u{1b}[31mb", &*long] {
        for command in ["claim", "show", "close", "explain"] {
            let ran = place.run("ada", &[command, name, "--json"]);
            let problem = ran.problem();
            assert_eq!((ran.code, problem["facts"]["field"].as_str()), (1, Some("task")), "{}", ran.err);
            assert!(!ran.err.contains("alias") && ran.err.contains("the task's name"), "{}", ran.err);
        }
    }
}

#[test]
fn a_question_too_long_for_the_wire_is_refused_by_its_field() {
    let place = Place::bound();
    let ids: Vec<String> = (1..12_000).map(|n| format!("afc-{n}")).collect();
    let commits: Vec<&str> = std::iter::once("commits").chain(ids.iter().map(String::as_str)).collect();
    for bytes in [13_000, 30_000, 70_000, 120_000] {
        let long = "x".repeat(bytes);
        let input = format!(r#"{{"query":"{long}"}}"#);
        for (words, field) in [
            (&["search", &*long][..], "query"),
            (&["task", "list", "--label", &long], "labels"),
            (&["task", "list", "--cursor", &long], "cursor"),
            (&["session", "show", &long], "session"),
            (&["call", "search", &input], "query"),
            (&commits, "tasks"),
        ] {
            let ran = place.run("ada", &[words, &["--json"]].concat());
            let problem = ran.problem();
            assert_eq!(
                (ran.code, problem["facts"]["field"].as_str()),
                (1, Some(field)),
                "{bytes}: {}",
                ran.err
            );
            assert!(ran.err.contains("the limit is") && ran.err.len() < 1_000, "{}", ran.err);
        }
    }
}

#[test]
fn a_configured_server_is_never_left_in_silence() {
    let mut place = Place::new();
    // Nobody listens there.
    place.variables.push(("TENURE_SERVER".to_owned(), "https://127.0.0.1:1".to_owned()));
    let ran = place.run("ada", &["project", "create", "afc"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("TENURE_SERVER") && ran.err.contains("--local"), "{}", ran.err);
    assert!(!place.state().exists());
    assert!(
        place.ok("ada", &["config", "show", "--origin"]).out.contains("https://127.0.0.1:1  (TENURE_SERVER)")
    );
    assert!(!place.ok("ada", &["config", "show", "--local"]).out.contains("server:"));
    let doctor = place.run("ada", &["doctor"]);
    assert_eq!(doctor.code, 10, "{}{}", doctor.out, doctor.err);
    assert!(doctor.out.contains("FAILED place") && doctor.out.contains("--local"), "{}", doctor.out);
    assert_eq!(place.run("ada", &["doctor", "--json"]).problem()["ok"], false);
    assert!(!place.state().exists(), "another store is not looked at instead");
    place.ok("ada", &["project", "create", "afc", "--local"]);
    place.ok("ada", &["doctor", "--local"]);
}
