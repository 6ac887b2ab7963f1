//! The daemon that starts itself: however many look for it at once, they find one; a store has one daemon, by whatever
//! path it is reached; and a daemon that says nothing is never taken for no work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use tenure_sim::agent::{Agent, client};
use tenure_sim::daemon::{found_in, report_of, serving};
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::shell::{Ran, Shell};
use tenure_sim::{fill, program, store, waiting};

const AT_ONCE: usize = 20;

fn ended(child: Child) -> Ran {
    Ran::of(child.wait_with_output().expect("it is our child"))
}

/// How many daemons said in the log that they are ready.
fn starts(state: &Path) -> usize {
    let log = std::fs::read_to_string(state.join("daemon.log")).expect("a daemon keeps a log");
    log.matches("\"message\":\"ready\"").count()
}

#[test]
fn twenty_commands_on_an_empty_folder_find_one_daemon_and_get_the_right_answers() {
    let place = Place::new();
    let shell = Shell::new(place.state(), &place.checkout());
    let asking: Vec<Child> = (0..AT_ONCE)
        .map(|number| {
            let key = format!("p{number}");
            shell.named(&key).spawn(&["project", "create", &key, "--json"])
        })
        .collect();
    for (number, child) in asking.into_iter().enumerate() {
        let ran = ended(child);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert_eq!(ran.json()["project"]["key"], format!("p{number}"), "an answer went to another");
    }
    assert_eq!(starts(place.state()), 1);
    let listed = shell.json(&["project", "list", "--limit", "100"]);
    assert_eq!(listed["projects"].as_array().map(Vec::len), Some(AT_ONCE));
    let sessions = shell.json(&["session", "list", "--limit", "100"]);
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(AT_ONCE));
    store::verify(&client(place.state()));
}

#[test]
fn twenty_commands_find_one_daemon_behind_a_dead_socket() {
    let place = Place::new();
    let mut first = place.daemon();
    create_project(&Agent::open(client(place.state()), "ada"));
    first.kill();
    assert!(place.state().join("tenure.sock").exists(), "a killed daemon leaves its socket");
    let shell = Shell::new(place.state(), &place.checkout());
    let asking: Vec<Child> =
        (0..AT_ONCE).map(|_| shell.spawn(&["ready", "--project", PROJECT, "--json"])).collect();
    for child in asking {
        let ran = ended(child);
        assert_eq!((ran.code, &ran.json()["total"]), (0, &0.into()), "{}{}", ran.out, ran.err);
    }
    assert_eq!(starts(place.state()), 2, "the first one and one more");
}

#[test]
fn two_shells_of_one_harness_are_one_session() {
    let place = Place::new();
    let shell = Shell::new(place.state(), &place.checkout());
    let own = |conversation: &str| {
        let shell = shell.with("CLAUDE_CODE_SESSION_ID", conversation);
        let children = [0, 1].map(|_| {
            let mut command = Command::new("sh");
            let words = format!("'{}' session show --json", program::tenure().display());
            shell.dress(command.args(["-c", &words]));
            command.spawn().expect("there is a shell")
        });
        let ids: BTreeSet<String> =
            children.map(|child| ended(child).json()["session"]["id"].to_string()).into();
        assert_eq!(ids.len(), 1, "one harness, two sessions");
        ids
    };
    let first = own("0198a5d2-0000-7000-8000-000000000001");
    let second = own("0198a5d2-0000-7000-8000-000000000002");
    assert_ne!(first, second, "two harnesses, one session");
}

/// A person's terminal: a shell that stays, in a pseudo-terminal of its own, fed with these lines. It is started away
/// from this process tree, so that whatever runs the tests is not taken for the caller.
fn terminal(shell: &Shell, lines: &str) {
    let mut command = Command::new("setsid");
    shell.dress(command.args(["--fork", "script", "--quiet", "/dev/null"]));
    command.env("SHELL", "/bin/sh");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.as_mut().expect("setsid and script are part of every Debian");
    let mut input = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut input, lines.as_bytes()).expect("the terminal reads");
    drop(input);
    child.wait().expect("it is our child");
}

#[test]
fn two_terminals_in_one_checkout_are_two_sessions_and_one_terminal_is_one() {
    let place = Place::new();
    let _daemon = place.daemon();
    let shell = Shell::new(place.state(), &place.checkout());
    let file = |name: &str| place.root().join(name);
    let line = |name: &str| {
        let (program, file) = (program::tenure().display(), file(name).display().to_string());
        format!("'{program}' session show --json > '{file}.new' 2>&1; mv '{file}.new' '{file}'\n")
    };
    terminal(&shell, &format!("{}{}exit\n", line("one"), line("one-again")));
    terminal(&shell, &format!("{}exit\n", line("two")));
    let id = |name: &str| {
        let text = waiting::some("the terminal has answered", || std::fs::read_to_string(file(name)).ok());
        let shown: Value = serde_json::from_str(text.lines().last().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        (shown["session"]["id"].clone(), shown["session"]["name"].as_str().unwrap_or_default().to_owned())
    };
    let (one, again, two) = (id("one"), id("one-again"), id("two"));
    assert_eq!(one, again, "one terminal is one session");
    assert_ne!(one.0, two.0, "two terminals are two");
    assert!(one.1.starts_with("terminal-") && two.1.starts_with("terminal-"), "{one:?} {two:?}");
}

#[test]
fn a_daemon_that_stands_still_is_not_taken_for_no_work() {
    let place = Place::new();
    let daemon = place.daemon();
    let agent = Agent::open(client(place.state()), "ada");
    create_project(&agent);
    fill::tasks(&agent, 1);
    let shell = Shell::new(place.state(), &place.checkout()).named("ada");
    daemon.stop();
    let begun = Instant::now();
    let asking: Vec<Child> = [
        &["ready", "--project", PROJECT, "--json"][..],
        &["claim", "--project", PROJECT, "--json"],
        &["next", "--project", PROJECT, "--json"],
        &["task", "list", "--project", PROJECT, "--json"],
        &["stats", "--json"],
    ]
    .iter()
    .map(|words| shell.spawn(words))
    .collect();
    for child in asking {
        let ran = ended(child);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        assert_eq!(ran.json()["code"], "cannot_tell", "{}", ran.out);
        assert!(ran.err.contains("next:"), "{}", ran.err);
    }
    eprintln!("the last client gave up after {} ms", begun.elapsed().as_millis());
    daemon.go_on();
    // The claim that nobody waited for may have been carried out since: either way the task is ada's now.
    let claimed = shell.json(&["claim", "--project", PROJECT]);
    assert_eq!(claimed["task"]["id"], format!("{PROJECT}-1"));
    assert_eq!(found_in(place.state()), Some(daemon.pid()), "nobody took its place");
}

/// A second daemon on the same store; what it reports, and how it ends. One that serves beside the first is ended here.
fn second(mut command: Command) -> (Value, i32) {
    let (mut child, report) = report_of(&mut command);
    if report["ready"] == true && report["already"] == false {
        child.kill().expect("it is our child");
    }
    let status = child.wait().expect("it is our child");
    (report, status.code().unwrap_or(-1))
}

/// The command of a second daemon that reaches the store through a bind mount in a mount namespace of its own.
fn through_a_bind_mount(state: &Path, mounted: &Path) -> Command {
    let script = "mount --bind \"$1\" \"$2\" && exec \"$0\" serve --private --folder \"$2\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(program::tenure()).args([state, mounted]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn ways(place: &Place) -> Vec<(PathBuf, Command)> {
    let link = place.root().join("link");
    if !link.exists() {
        std::os::unix::fs::symlink(place.state(), &link).expect("the root is ours");
    }
    let mounted = place.folder("mounted");
    vec![
        (place.state().to_owned(), serving(program::tenure(), place.state(), &[], &[])),
        (link.clone(), serving(program::tenure(), &link, &[], &[])),
        (mounted.clone(), through_a_bind_mount(place.state(), &mounted)),
    ]
}

#[test]
fn a_second_daemon_finds_the_first_by_whatever_path_it_comes() {
    let place = Place::new();
    let first = place.daemon();
    for (path, command) in ways(&place) {
        let (report, code) = second(command);
        assert_eq!((&report["already"], code), (&true.into(), 0), "{}: {report}", path.display());
        assert_eq!(report["pid"], first.pid(), "{}: {report}", path.display());
    }
}

#[test]
fn a_second_daemon_refuses_a_store_whose_owner_cannot_be_asked() {
    let place = Place::new();
    let first = place.daemon();
    first.stop();
    std::fs::remove_file(place.state().join("tenure.sock")).expect("the folder is ours");
    // Each waits for the store for some seconds; they wait side by side.
    let mut waiting = Vec::new();
    for (path, command) in ways(&place) {
        waiting.push((path, std::thread::spawn(move || second(command))));
    }
    for (path, thread) in waiting {
        let (report, code) = thread.join().expect("it reports");
        assert_eq!((&report["ready"], code), (&false.into(), 2), "{}: {report}", path.display());
        assert!(report["next"].as_str().is_some_and(|next| !next.is_empty()), "{report}");
    }
    // A copy of the folder that shares the database file is the same store.
    let other = place.folder("other");
    let database = |folder: &Path| folder.join("tenure.db");
    std::fs::hard_link(database(place.state()), database(&other)).expect("it is one disk");
    let (report, code) = second(serving(program::tenure(), &other, &[], &[]));
    assert_eq!((&report["ready"], code), (&false.into(), 2), "{report}");
    assert!(report["error"].as_str().is_some_and(|error| error.contains("open")), "{report}");
    first.go_on();
}
