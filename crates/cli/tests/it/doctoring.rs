//! `tenure doctor` on a patient: each fault is a real one, and what fails names the next step.

use std::fs::{File, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::{PROGRAM, Place, signal, until};

/// What `doctor` tells of the machine and the build, for pictures that are the same everywhere.
pub fn hide_the_machine(settings: &mut insta::Settings) {
    settings.add_filter(r"version [0-9.]+, protocol (\d), process \d+", "version V, protocol $1, process P");
    settings.add_filter(r"\btenure [0-9]+\.[0-9]+\.[0-9]+", "tenure V");
    settings.add_filter(r"\blocal \([a-z0-9.]+\)", "local (KIND)");
    settings.add_filter(r"\d+ MiB( and \d+ files)? free", "N MiB and N files free");
    settings.add_filter(r"takes \d+\.\d ms", "takes N ms");
    settings.add_filter(r"\b\d+ KiB", "N KiB");
}

/// All checks, whatever the exit code.
fn checks(place: &Place, words: &[&str]) -> Vec<Value> {
    let ran = place.run("ada", &[&["doctor", "--json"], words].concat());
    let report = ran.problem();
    let checks = report["checks"].as_array().unwrap_or_else(|| panic!("checks: {report}")).clone();
    let failed = checks.iter().any(|check| check["ok"] == false);
    assert_eq!((ran.code, report["ok"].as_bool()), (if failed { 10 } else { 0 }, Some(!failed)));
    checks
}

/// The check of this name, whatever the exit code.
fn check(place: &Place, name: &str, words: &[&str]) -> Value {
    let checks = checks(place, words);
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("a check `{name}`: {checks:?}")).clone()
}

/// A check that fails and says these words, with the next step, which is returned.
fn fails(place: &Place, name: &str, found: &str, next: &str) -> String {
    let check = check(place, name, &["--quick"]);
    assert_eq!(check["ok"], false, "{check}");
    assert!(check["found"].as_str().is_some_and(|text| text.contains(found)), "{check}");
    let step = check["next"].as_str().unwrap_or_default();
    assert!(step.contains(next), "{check}");
    step.to_owned()
}

fn passes(place: &Place, name: &str) {
    let check = check(place, name, &["--quick"]);
    assert_eq!(check["ok"], true, "{check}");
}

/// Does what a next step says.
fn obey(step: &str) {
    let done = std::process::Command::new("sh").args(["-c", step]).status().expect("a shell");
    assert!(done.success(), "{step}");
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

#[test]
fn what_is_as_it_must_be_passes_and_says_what_was_looked_at() {
    let place = Place::bound();
    let ran = place.ok("ada", &["doctor"]);
    let names = [
        "version",
        "folder",
        "files",
        "file system",
        "disk",
        "flush",
        "daemon",
        "socket",
        "clock",
        "database",
        "database log",
        "write",
        "pages",
        "record",
        "project",
        "session",
        "session file",
    ];
    let mut rest = ran.out.as_str();
    for name in names {
        let at = rest.find(&format!(" {name} ")).unwrap_or_else(|| panic!("{name}: {}", ran.out));
        rest = &rest[at + name.len()..];
    }
    assert!(ran.out.len() < 2048 && !ran.out.contains("FAILED"), "{}", ran.out);
    assert!(!place.ok("ada", &["doctor", "--quick"]).out.contains(" record "));
}

#[test]
fn what_others_could_read_fails_until_the_next_step_is_done() {
    let place = Place::bound();
    set_mode(&place.state().join("daemon.log"), 0o644);
    obey(&fails(&place, "files", "daemon.log", "chmod go= "));
    passes(&place, "files");
    set_mode(&place.state(), 0o750);
    obey(&fails(&place, "folder", "open to others (mode 750)", "chmod 700 "));
    passes(&place, "folder");
    set_mode(&place.state().join("tenure.sock"), 0o666);
    obey(&fails(&place, "socket", "open to others (mode 666)", "chmod 600 "));
    passes(&place, "socket");
    let sessions = std::fs::read_dir(place.state().join("sessions")).expect("there");
    let mut files = sessions.map(|entry| entry.expect("there").path());
    let file =
        files.find(|path| path.extension().is_some_and(|end| end == "json")).expect("a session's file");
    set_mode(&file, 0o640);
    obey(&fails(&place, "session file", "open to others (mode 640)", "chmod 600 "));
    passes(&place, "session file");
    std::fs::write(&file, "half a rec").expect("written");
    fails(&place, "session file", "holds no whole record", "open a session anew");
}

#[test]
fn a_dead_socket_is_told_and_replaced() {
    let place = Place::bound();
    let daemon = place.daemon();
    signal(daemon, Signal::KILL);
    until("it has ended", || tenure_client::processes::started(daemon).is_none());
    let socket = check(&place, "socket", &["--quick"]);
    assert_eq!(socket["ok"], true, "{socket}");
    assert!(socket["found"].as_str().is_some_and(|found| found.contains("had left a dead one")), "{socket}");
    let socket = check(&place, "socket", &["--quick"]);
    assert!(!socket["found"].as_str().is_some_and(|found| found.contains("dead")), "{socket}");
}

#[test]
fn what_stands_in_the_place_of_the_socket_is_named() {
    let place = Place::bound();
    place.stop();
    std::fs::write(place.state().join("tenure.sock"), "not one").expect("written");
    fails(&place, "daemon", "is no socket", "move it away");
    std::fs::remove_file(place.state().join("tenure.sock")).expect("removed");
    passes(&place, "daemon");
}

/// Answers every request on the socket of a place as a daemon that says this of itself.
fn stand_in(place: &Place, info: String) {
    let path = place.state().join("tenure.sock");
    std::fs::remove_file(&path).ok();
    let listener = UnixListener::bind(&path).expect("binds");
    set_mode(&path, 0o600);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("accepts");
            let mut request = [0; 4096];
            if stream.read(&mut request).unwrap_or_default() == 0 {
                continue;
            }
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", info.len());
            stream.write_all(format!("{head}{info}").as_bytes()).ok();
        }
    });
}

fn telling(version: &str, protocol: u32, busy: bool, more: &str) -> String {
    format!(
        r#"{{"name":"tenure","version":"{version}","protocol":{protocol},"fleet":"f1","epoch":1,"pid":1,"busy":{busy}{more}}}"#
    )
}

#[test]
fn a_daemon_of_another_version_or_protocol_is_named_with_the_remedy() {
    let place = Place::bound();
    place.stop();
    stand_in(&place, telling("9.9.9", 2, false, ""));
    let step = fails(&place, "daemon", "version 9.9.9) speaks protocol 2", "use tenure 9.9.9 here");
    assert!(!step.contains("less "), "{step}");
    stand_in(&place, telling("0.0.1", 0, true, ""));
    fails(&place, "daemon", "speaks protocol 0", "repeat the command in a moment");
    stand_in(&place, telling("9.9.9", 1, false, ""));
    let daemon = check(&place, "daemon", &["--quick"]);
    assert_eq!(daemon["ok"], Value::Null, "{daemon}");
    assert!(
        daemon["found"].as_str().is_some_and(|found| found.contains("another version than this")),
        "{daemon}"
    );
    assert!(daemon["next"].as_str().is_some_and(|next| next.starts_with("kill 1 ")), "{daemon}");
}

#[test]
fn a_daemon_that_runs_another_file_of_the_same_version_is_told() {
    let place = Place::new();
    let other = place.root.path().join("tenure");
    std::fs::copy(PROGRAM, &other).expect("copied");
    let start = tenure_client::autostart::Start { program: other.clone(), arguments: Vec::new() };
    tenure_client::autostart::ensure(&place.state(), &start).expect("started");
    std::fs::remove_file(&other).expect("an upgrade replaces it");
    let told = check(&place, "executable", &["--quick"]);
    assert_eq!(told["ok"], Value::Null, "{told}");
    assert!(told["found"].as_str().is_some_and(|found| found.contains("(deleted)")), "{told}");
    assert!(told["next"].as_str().is_some_and(|next| next.starts_with(&format!("kill {} ", place.daemon()))));
}

#[test]
fn a_daemon_whose_wall_clock_shows_another_time_is_told() {
    let place = Place::bound();
    place.stop();
    stand_in(&place, telling("0.1.0", 1, false, r#","wall_time":1"#));
    fails(&place, "clock", "behind this command's", "timedatectl");
}

#[test]
fn a_log_far_beyond_its_bound_fails_and_names_who_reads() {
    let place = Place::bound();
    passes(&place, "database log");
    let log = place.state().join("tenure.db-wal");
    let length = log.metadata().expect("there").len();
    // What lies behind the last frame is nothing to the database, and takes no room.
    let file = File::options().write(true).open(&log).expect("opened");
    file.set_len(200 << 20).expect("longer");
    let reader = File::open(place.state().join("tenure.db")).expect("opened");
    let step = fails(&place, "database log", "204800 KiB of at most 64 MiB", "kill ");
    assert_eq!(step, format!("kill {}", std::process::id()), "who reads beside the daemon");
    let database = check(&place, "database", &["--quick"]);
    let named = format!("open in process {} (", std::process::id());
    assert!(database["found"].as_str().is_some_and(|found| found.contains(&named)), "{database}");
    drop(reader);
    drop(file);
    assert_eq!(fails(&place, "database log", "KiB of at most", "kill "), format!("kill {}", place.daemon()));
    File::options().write(true).open(&log).expect("opened").set_len(length).expect("as it was");
    passes(&place, "database log");
}

#[test]
fn offline_looks_at_a_store_that_nobody_serves_and_changes_nothing() {
    let place = Place::new();
    let none = check(&place, "pages", &["--offline"]);
    assert_eq!(none["found"], "no store is there yet");
    place.ok("ada", &["init", "afc"]);
    place.task("one", &[]);
    let refused = place.run("ada", &["doctor", "--offline"]);
    assert_eq!(refused.code, 3, "{}{}", refused.out, refused.err);
    let named = format!("process {} (tenure", place.daemon());
    assert!(refused.err.contains(&named) && refused.err.contains("next:  tenure doctor"), "{}", refused.err);
    // What a killed daemon left in its log counts.
    let daemon = place.daemon();
    signal(daemon, Signal::KILL);
    until("it has ended", || tenure_client::processes::started(daemon).is_none());
    let bytes = |name: &str| std::fs::read(place.state().join(name)).expect("there");
    let before = ["tenure.db", "tenure.db-wal"].map(bytes);
    for name in ["pages", "record", "clock", "session file"] {
        let found = check(&place, name, &["--offline"]);
        assert_eq!(found["ok"], true, "{found}");
    }
    let record = check(&place, "record", &["--offline"]);
    assert!(record["found"].as_str().is_some_and(|found| found.contains("events is whole")), "{record}");
    assert!(before == ["tenure.db", "tenure.db-wal"].map(bytes), "it was only looked at");
    assert!(!place.ok("ada", &["doctor", "--offline", "--quick"]).out.contains(" record "));
    assert!(tenure_client::transport::connect(&place.state()).is_err(), "no daemon was started");
    assert_eq!(place.json("ada", &["stats"])["projects"]["afc"]["ready"], 1);
}

#[test]
fn offline_finds_a_page_that_was_damaged() {
    let place = Place::bound();
    place.task("one", &[]);
    place.stop();
    let database = place.state().join("tenure.db");
    let mut file = File::options().write(true).open(&database).expect("opened");
    let length = file.metadata().expect("there").len();
    file.seek(SeekFrom::Start(8 * 4096)).expect("there");
    file.write_all(&vec![0xa5; usize::try_from(length - 8 * 4096).expect("small")]).expect("written");
    drop(file);
    let found = check(&place, "pages", &["--offline"]);
    assert_eq!(found["ok"], false, "{found}");
    assert!(found["next"].as_str().is_some_and(|next| next.contains("tenure restore FILE")), "{found}");
}

#[test]
fn a_link_in_the_place_of_a_file_is_removed_and_what_it_leads_to_is_left_alone() {
    let place = Place::bound();
    place.stop();
    let other = place.root.path().join("other");
    std::fs::write(&other, "somebody's").expect("written");
    set_mode(&other, 0o644);
    let socket = place.state().join("tenure.sock");
    std::fs::remove_file(&socket).ok();
    std::os::unix::fs::symlink(&other, &socket).expect("linked");
    obey(&fails(&place, "files", "links, which nobody follows: ", "rm "));
    assert_eq!(other.metadata().expect("there").permissions().mode() & 0o777, 0o644);
    passes(&place, "files");
    passes(&place, "socket");
}

#[test]
fn a_folder_that_its_own_user_may_not_use_is_told_by_its_mode() {
    let place = Place::bound();
    for mode in [0o500, 0o000] {
        set_mode(&place.state(), mode);
        obey(&fails(&place, "folder", &format!("(mode {mode:03o})"), "chmod 700 "));
        passes(&place, "folder");
    }
}

#[test]
fn a_file_in_the_place_of_the_folder_is_told_as_one() {
    let place = Place::new();
    std::fs::write(place.state(), "").expect("written");
    for name in ["folder", "daemon"] {
        let step = fails(&place, name, "is no folder", "TENURE_STATE_DIR");
        assert!(!step.contains("chmod"), "{step}");
    }
    let ran = place.run("ada", &["ready"]);
    assert!(ran.code == 2 && ran.err.contains("is no folder"), "{}", ran.err);
}

#[test]
fn a_folder_that_the_daemon_has_just_made_is_there() {
    let place = Place::new();
    passes(&place, "folder");
}

#[test]
fn whoever_meets_a_damaged_store_is_told_what_finds_and_mends_it() {
    let place = Place::bound();
    place.task("one", &[]);
    let sound = check(&place, "pages", &[]);
    assert_eq!(sound["found"], "all whole", "also beside a daemon");
    place.stop();
    let database = place.state().join("tenure.db");
    let whole = std::fs::read(&database).expect("there");
    let mut bytes = whole.clone();
    bytes[4 * 4096..].fill(0xa5);
    std::fs::write(&database, &bytes).expect("written");
    let ran = place.run("ada", &["ready"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("`tenure doctor --offline`") && ran.err.contains("`tenure restore FILE`"),
        "{}",
        ran.err
    );
    for name in ["pages", "daemon"] {
        let check = checks(&place, &[]).into_iter().find(|check| check["name"] == name);
        if let Some(check) = check.filter(|check| check["ok"] == false) {
            assert!(
                check["next"].as_str().is_some_and(|next| next.contains("tenure restore FILE")),
                "{check}"
            );
        }
    }
    let failed = checks(&place, &[]).iter().filter(|check| check["ok"] == false).count();
    assert!(failed > 0, "it does not say that all is well");
}
