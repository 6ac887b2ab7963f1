//! How a daemon comes and goes: one per folder, whatever was left behind, and nobody's work is dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use serde_json::Value;
use tenure_server::daemon::{Ended, Options, Started, serve, start};

use crate::daemon::{
    Served, open_session, private_folder, served, served_for, served_in, served_with_a_task,
};
use crate::patience::until;
use crate::wire::{LEASE, PROOF, get, mutation, read_answer, request};

#[test]
fn of_two_daemons_started_at_once_one_wins_and_the_other_names_it() {
    let folder = private_folder();
    let (at_once, decided) = (Barrier::new(4), Barrier::new(4));
    let outcomes: Vec<bool> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    at_once.wait();
                    let started = start(folder.path(), &tenure_engine::Options::default());
                    match started.unwrap_or_else(|failed| panic!("{}", failed.error)) {
                        Started::Daemon(daemon) => {
                            let stop = daemon.stopper();
                            scope.spawn(move || daemon.run());
                            decided.wait();
                            stop.send_replace(true);
                            true
                        }
                        Started::AlreadyRunning(running) => {
                            assert_eq!((running.pid, running.already), (std::process::id(), true));
                            decided.wait();
                            false
                        }
                    }
                })
            })
            .collect();
        starting.into_iter().map(|thread| thread.join().expect("a start ends")).collect()
    });
    assert_eq!(outcomes.iter().filter(|won| **won).count(), 1, "{outcomes:?}");
}

#[test]
fn a_dead_socket_is_replaced_and_a_live_one_is_kept() {
    let folder = private_folder();
    drop(UnixListener::bind(folder.path().join("tenure.sock")).expect("a socket"));
    let served = served_in(folder.path());
    assert_eq!(served.ask(&get("/healthz")).status, 200);
    let mode = std::fs::metadata(&served.socket).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    match start(folder.path(), &tenure_engine::Options::default()) {
        Ok(Started::AlreadyRunning(running)) => assert_eq!(running.socket, served.socket),
        Ok(Started::Daemon(_)) => panic!("two daemons"),
        Err(failed) => panic!("{}", failed.error),
    }
    assert_eq!(served.ask(&get("/healthz")).status, 200);
}

#[test]
fn a_file_that_is_no_socket_is_not_touched() {
    let folder = private_folder();
    let path = folder.path().join("tenure.sock");
    std::fs::write(&path, "precious").expect("a file");
    assert!(
        start(folder.path(), &tenure_engine::Options::default())
            .is_err_and(|failed| failed.error.contains("no socket"))
    );
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "precious");
}

#[test]
fn a_listener_that_says_nothing_keeps_its_socket() {
    let folder = private_folder();
    let path = folder.path().join("tenure.sock");
    let _mute = UnixListener::bind(&path).expect("a socket");
    assert!(
        start(folder.path(), &tenure_engine::Options::default())
            .is_err_and(|failed| failed.error.contains("does not answer"))
    );
    assert!(path.exists());
}

#[test]
fn a_folder_that_is_open_to_others_is_refused() {
    let folder = private_folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("its mode");
    assert!(
        start(folder.path(), &tenure_engine::Options::default())
            .is_err_and(|failed| failed.next.contains("chmod 700"))
    );
    let fresh = folder.path().join("a/b");
    drop(served_in(&fresh));
    let mode = std::fs::metadata(&fresh).expect("created").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_folder_deeper_than_a_socket_address_works() {
    let folder = private_folder();
    let deep = folder.path().join("d".repeat(90)).join("e".repeat(90));
    let served = served_in(&deep);
    // The test reaches it through a short name of its own.
    let short = folder.path().join("s");
    std::os::unix::fs::symlink(&deep, &short).expect("a link");
    assert_eq!(get("/healthz").send(&short.join("tenure.sock")).status, 200);
    assert!(matches!(start(&deep, &tenure_engine::Options::default()), Ok(Started::AlreadyRunning(_))));
    drop(served);
    assert!(!deep.join("tenure.sock").exists());
}

#[test]
fn a_daemon_ends_when_its_socket_is_taken_and_leaves_the_new_one_alone() {
    let folder = private_folder();
    let mut served = served_in(folder.path());
    let other = folder.path().join("other");
    let _taker = UnixListener::bind(&other).expect("a socket");
    std::fs::rename(&other, &served.socket).expect("it takes the place");
    served.join();
    assert!(served.socket.exists());
}

#[test]
fn a_daemon_ends_when_its_folder_is_gone() {
    let folder = private_folder();
    let mut served = served_in(folder.path());
    folder.close().expect("removed");
    served.join();
}

#[test]
fn a_daemon_whose_database_or_log_was_taken_away_acknowledges_nothing_more_and_ends() {
    for file in ["tenure.db", "tenure.db-wal"] {
        let folder = private_folder();
        let mut served = served_in(folder.path());
        open_session(&served.socket);
        std::fs::remove_file(folder.path().join(file)).expect("it was there");
        let engine = served.engine.clone().expect("open");
        assert!(!engine.is_intact());
        let lost = engine.probe().expect_err("a write into nothing");
        assert_eq!(lost.class, tenure_engine::store::driver::Class::Sync, "{lost}");
        drop(engine);
        assert_eq!(served.join(), Some(Ended::StoreLost), "{file}");
    }
}

#[test]
fn a_daemon_whose_store_is_stuck_ends_all_the_same() {
    let folder = private_folder();
    let mut served = served_for(folder.path(), Duration::from_millis(100));
    open_session(&served.socket);
    let waiting = with_notes_on_their_way(&served, 1);
    served.stop.send_replace(true);
    assert_eq!(served.join(), Some(Ended::Unfinished));
    for mut stream in waiting {
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[test]
fn stopping_finishes_what_was_asked() {
    let mut served = served_with_a_task();
    let waiting = with_notes_on_their_way(&served, 8);
    served.stop.send_replace(true);
    until("no connection is taken", || UnixStream::connect(&served.socket).is_err());
    served.gate.open();
    for mut stream in waiting {
        let answer = read_answer(&mut stream);
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    served.join();
    assert!(!served.socket.exists());

    let folder = served.socket.parent().expect("a folder").to_owned();
    let again = served_in(&folder);
    let history = again.ask(&get("/api/v1/tasks/afc-1/history")).value();
    assert_eq!(history["total"], 8, "what was answered is there");
}

#[test]
fn a_busy_daemon_goes_only_when_forced() {
    let mut served = served_with_a_task();
    let waiting = with_notes_on_their_way(&served, 1);
    let busy = served.ask(&request("POST", "/api/v1/shutdown").json("{}"));
    assert_eq!((busy.status, busy.code().as_str()), (409, "state_conflict"));
    let forced = served.ask(&request("POST", "/api/v1/shutdown").json(r#"{"force":true}"#));
    assert_eq!((forced.status, &forced.value()["stopping"]), (200, &true.into()));
    served.gate.open();
    for mut stream in waiting {
        assert_eq!(read_answer(&mut stream).status, 200);
    }
    served.join();
}

#[test]
fn an_idle_daemon_goes_when_asked() {
    let mut served = served();
    assert_eq!(served.ask(&get("/healthz")).status, 200);
    assert_eq!(served.ask(&request("POST", "/api/v1/shutdown")).status, 200);
    served.join();
    assert!(!served.socket.exists());
}

/// Sends notes and returns when all of them wait for a commit that does not come.
fn with_notes_on_their_way(served: &Served, count: usize) -> Vec<UnixStream> {
    served.gate.shut();
    let send = |_| {
        let mut stream = UnixStream::connect(&served.socket).expect("a daemon listens");
        let note = mutation("POST", "/api/v1/tasks/afc-1/notes", r#"{"text":"n"}"#).bytes();
        stream.write_all(&note).expect("sent");
        stream
    };
    let waiting = (0..count).map(send).collect();
    until("all are queued", || served.ask(&get("/api/v1/info")).value()["queued"] == count);
    waiting
}

#[test]
fn a_process_reports_one_line_and_ends_on_a_signal() {
    let folder = private_folder();
    let mut first = daemon_process(folder.path());
    let ready = first_line(&mut first);
    assert_eq!((&ready["ready"], &ready["already"]), (&true.into(), &false.into()), "{ready}");
    assert_eq!(ready["pid"], first.id());

    let mut second = daemon_process(folder.path());
    let there = first_line(&mut second);
    assert_eq!((&there["already"], &there["pid"]), (&true.into(), &first.id().into()), "{there}");
    assert!(second.wait().expect("ended").success());

    let socket = folder.path().join("tenure.sock");
    open_session(&socket);
    let body = r#"{"text":"a secret plan"}"#;
    let note = mutation("POST", "/api/v1/tasks/afc-1/notes", body).key("op-note");
    let noted = note.header("Tenure-Attempt", "afc-1@1").header("Tenure-Lease", LEASE).send(&socket);
    assert_eq!(noted.code(), "not_found");

    let pid = i32::try_from(first.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("signalled");
    assert!(first.wait().expect("ended").success());
    assert!(!folder.path().join("tenure.sock").exists());
    let log = std::fs::read_to_string(folder.path().join("daemon.log")).expect("a log");
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
    for there in ["stopped", "\"operation\":\"note\"", "\"operation_id\":\"op-note\"", "\"status\":404"] {
        assert!(log.contains(there), "{there} in {log}");
    }
    for secret in ["secret plan", LEASE, PROOF] {
        assert!(!log.contains(secret), "{log}");
    }

    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let mut third = daemon_process(folder.path());
    let refused = first_line(&mut third);
    assert_eq!(refused["ready"], false, "{refused}");
    assert!(refused["next"].as_str().is_some_and(|next| next.contains("chmod")), "{refused}");
    assert_eq!(third.wait().expect("ended").code(), Some(2));
}

/// This test binary as a daemon: see [`as_a_daemon`].
fn daemon_process(folder: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "lifecycle::as_a_daemon", "--ignored", "--nocapture"])
        .env("TENURE_TEST_FOLDER", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// The first line of JSON, after what the test harness prints; then the end of the output.
fn first_line(child: &mut Child) -> Value {
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut lines = lines.map(|line| line.expect("text")).skip_while(|line| !line.starts_with('{'));
    let line = lines.next().expect("a report");
    assert_eq!(lines.next(), None, "the report is one line and the last");
    serde_json::from_str(&line).expect("JSON")
}

#[test]
// ignored because: other tests start it as a process
#[ignore = "it is the daemon process of other tests"]
fn as_a_daemon() {
    let Some(folder) = std::env::var_os("TENURE_TEST_FOLDER") else {
        return;
    };
    let options = Options { detach: true, ..Options::default() };
    std::process::exit(if serve(folder.as_ref(), &options) == ExitCode::SUCCESS { 0 } else { 2 });
}
