//! Starting the daemon: one for many, and a reason when it fails. The daemon here is a small script.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tenure_client::autostart::{Start, ensure};
use tenure_client::call::Client;
use tenure_core::model::refusal::Code;

use crate::fake::{self, Reply};
use tenure_core::wire::SOCKET;

/// A program that stands in for `tenure serve`.
fn program(folder: &Path, body: &str) -> Start {
    let path = folder.join("stand-in");
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("set");
    Start { program: path, arguments: vec!["--lease-ms".into(), "5".into()] }
}

#[test]
fn a_daemon_that_cannot_start_says_why() {
    for (body, expected) in [
        (
            r#"echo '{"ready":false,"error":"the disk is full","next":"make room"}'; exit 2"#,
            "the disk is full",
        ),
        ("exit 7", "exit status: 7"),
        ("echo nonsense", "ended without a word"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let start = program(folder.path(), body);
        let failure = ensure(&folder.path().join("state"), &start).expect_err("cannot start");
        assert!(failure.to_string().contains(expected), "{failure}");
        assert_eq!(failure.problem().exit_code, 2);
    }
}

#[test]
fn a_daemon_that_brings_its_store_up_to_date_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let goes_on = r#"echo '{"ready":false,"upgrading":true}'"#;
    let ready = program(folder.path(), &format!("{goes_on}; {goes_on}; echo '{{\"ready\":true}}'"));
    assert!(ensure(&folder.path().join("state"), &ready).expect("started"));
    let ends = program(folder.path(), &format!("{goes_on}; exit 7"));
    let failure = ensure(&folder.path().join("state"), &ends).expect_err("cannot start");
    assert!(failure.to_string().contains("exit status: 7"), "{failure}");
}

#[test]
fn a_daemon_is_told_its_folder_and_inherits_no_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let start = program(folder.path(), r#"echo "$@" > told; env > seen; echo '{"ready":true}'"#);
    assert!(ensure(&state, &start).expect("started"));
    let told = std::fs::read_to_string(state.join("told")).expect("written in its own folder");
    assert_eq!(told, format!("serve --private --folder {} --lease-ms 5\n", state.display()));
    let seen = std::fs::read_to_string(state.join("seen")).expect("written");
    assert!(!seen.contains("CARGO"), "{seen}");
    assert_eq!(state.metadata().expect("there").permissions().mode() & 0o777, 0o700);
}

#[test]
fn twenty_at_once_find_one_daemon() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let start = program(
        folder.path(),
        // It counts its starts, then listens for a while.
        &format!(
            r#"echo x >> starts
python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind("{SOCKET}"); s.listen(64)
print("{{\"ready\":true}}", flush=True); time.sleep(5)'"#
        ),
    );
    let started: Vec<bool> = std::thread::scope(|scope| {
        let callers: Vec<_> =
            (0..20).map(|_| scope.spawn(|| ensure(&state, &start).expect("found"))).collect();
        callers.into_iter().map(|caller| caller.join().expect("ended")).collect()
    });
    assert_eq!(started.iter().filter(|mine| **mine).count(), 1);
    assert_eq!(std::fs::read_to_string(state.join("starts")).expect("written"), "x\n");
}

/// The whole reply of a daemon that goes, and closes the connection after it.
const STOPPING: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"stopping\":true}";

fn speaking(protocol: u32, busy: bool) -> String {
    fake::INFO
        .replace(r#""protocol":1"#, &format!(r#""protocol":{protocol}"#))
        .replace(r#""busy":false"#, &format!(r#""busy":{busy}"#))
}

#[test]
fn a_daemon_of_another_protocol_is_named_and_left_alone_when_newer_or_busy() {
    for (protocol, busy, expected) in [(2, false, "use tenure 0.1.0 here"), (0, true, "was left alone")] {
        let folder = tempfile::tempdir().expect("a folder");
        let requests = fake::daemon_telling(folder.path(), speaking(protocol, busy), |_, _| Reply::Cut);
        let (client, _) = fake::client(folder.path());
        let failure = client.info().expect_err("another protocol");
        assert_eq!(failure.code(), Code::ProtocolMismatch);
        let problem = failure.problem();
        assert!(problem.detail.contains(&format!("protocol {protocol}")), "{}", problem.detail);
        assert!(problem.next_actions[0].contains(expected), "{:?}", problem.next_actions);
        assert!(requests.lock().expect("not poisoned").is_empty(), "it was not asked to stop");
        let refusing = tempfile::tempdir().expect("a folder");
        fake::daemon_telling(refusing.path(), speaking(protocol, busy), |_, _| {
            fake::problem(Code::ProtocolMismatch)
        });
        let (client, _) = fake::client(refusing.path());
        let failure = client.get("/api/v1/anything").expect_err("another protocol");
        assert!(failure.problem().next_actions[0].contains(expected), "{failure:?}");
    }
}

#[test]
fn an_idle_older_daemon_is_asked_to_make_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().to_owned();
    let socket = state.join(SOCKET);
    let requests = fake::daemon_telling(&state, speaking(0, false), move |_, _| {
        std::fs::remove_file(&socket).expect("removed");
        Reply::Raw(STOPPING.to_vec())
    });
    let start = program(folder.path(), r#"echo x > started; echo '{"ready":true}'"#);
    let retry = tenure_client::call::Retry { pause_ms: 1, repetitions: 1 };
    let client = Client::new(&state, Some(start), Box::new(|_| ())).with_retry(retry);
    client.info().expect_err("the stand-in answers nobody");
    assert_eq!(requests.lock().expect("not poisoned")[0].target, "/api/v1/shutdown");
    assert!(state.join("started").exists(), "the new one was started in its place");
}

#[test]
fn a_daemon_that_became_busy_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon_telling(folder.path(), speaking(0, false), |_, _| fake::problem(Code::StateConflict));
    let start = program(folder.path(), "echo x > started");
    let client = Client::new(folder.path(), Some(start), Box::new(|_| ()));
    assert_eq!(client.info().expect_err("another protocol").code(), Code::ProtocolMismatch);
    assert!(!folder.path().join("started").exists());
}

#[test]
fn of_two_newer_clients_the_slower_one_takes_what_the_faster_one_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().to_owned();
    fake::daemon_telling(folder.path(), speaking(0, false), move |_, _| {
        std::fs::remove_file(state.join(SOCKET)).expect("removed");
        fake::daemon_telling(&state, fake::INFO.replace(r#""pid":1"#, r#""pid":2"#), |_, _| Reply::Cut);
        Reply::Raw(STOPPING.to_vec())
    });
    let start = program(folder.path(), "echo x > started");
    let client = Client::new(folder.path(), Some(start), Box::new(|_| ()));
    assert_eq!(client.info().expect("the other one's daemon").pid, 2);
    assert!(!folder.path().join("started").exists());
}

#[test]
fn a_daemon_keeps_nothing_open_of_its_starter() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let precious = std::fs::File::create(folder.path().join("precious")).expect("created");
    rustix::io::fcntl_setfd(&precious, rustix::io::FdFlags::empty()).expect("to be inherited");
    let start = program(folder.path(), r#"readlink /proc/$$/fd/* > open; echo '{"ready":true}'"#);
    ensure(&state, &start).expect("started");
    let open = std::fs::read_to_string(state.join("open")).expect("written in its own folder");
    assert!(open.contains("daemon.log") && !open.contains("precious"), "{open}");
}
