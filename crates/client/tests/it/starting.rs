//! Starting the daemon: one for many, and a reason when it fails. The daemon here is a small script.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tenure_client::autostart::{Start, ensure};
use tenure_client::transport::SOCKET;

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
