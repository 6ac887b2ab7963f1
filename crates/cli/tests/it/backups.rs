//! Backup and restore at the command line: what is printed, and how each bad input ends.

use std::path::PathBuf;

use serde_json::Value;

use crate::place::{Place, until};

/// A place with a backup, and its file.
fn backed_up() -> (Place, PathBuf) {
    let place = Place::bound();
    place.task("one", &[]);
    let written = place.json("ada", &["backup", "create", "../backup.db"]);
    let file = place.root.path().join("backup.db");
    assert_eq!(written["file"], file.to_str().expect("text"));
    (place, file)
}

fn word(path: &std::path::Path) -> &str {
    path.to_str().expect("text")
}

/// The command ends with this exit code and this `code`.
fn ends(place: &Place, words: &[&str], exit: i32, code: &str) -> Value {
    let ran = place.run("ada", &[words, &["--json"]].concat());
    assert_eq!(ran.code, exit, "{words:?}: {}{}", ran.out, ran.err);
    assert!(ran.err.contains("next:"), "{words:?}: {}", ran.err);
    let problem = ran.problem();
    assert_eq!(problem["code"], code, "{words:?}: {}", ran.out);
    problem
}

#[test]
fn people_and_programs_read_what_a_backup_and_a_restore_say() {
    let (place, file) = backed_up();
    let human = place.ok("ada", &["backup", "create", "../again.db"]).out;
    assert!(human.starts_with("a backup was written: ") && human.contains("sha256:"), "{human}");
    let whole = place.ok("ada", &["backup", "verify", word(&file)]).out;
    assert!(whole.starts_with("the backup is whole"), "{whole}");
    place.task("two", &[]);
    place.stop();
    let planned = place.ok("ada", &["restore", word(&file)]).out;
    for said in
        ["a restore of this backup would:", "1 task_created", "epoch 2", "--confirm", "before-epoch-2"]
    {
        assert!(planned.contains(said), "{said} is missing: {planned}");
    }
    let some = place.json("ada", &["restore", word(&file)]);
    assert_eq!(
        (&some["applied"], &some["present"]["lost"]["kinds"]["task_created"]),
        (&false.into(), &1.into())
    );
    let done = place.ok("ada", &["restore", word(&file), "--confirm"]).out;
    assert!(done.starts_with("the store was restored") && done.contains("backup soon"), "{done}");
    assert_eq!(place.client().info().ok(), None, "a restore starts no daemon");
    place.ok("bob", &["audit", "verify"]);
    assert_eq!(place.json("bob", &["task", "list"])["tasks"].as_array().map(Vec::len), Some(1));
    let fields = place.ok("ada", &["backup", "verify", word(&file), "--json=event,intact"]).out;
    assert!(fields.contains("\"intact\":true") && !fields.contains("sha256"), "{fields}");
}

#[test]
fn fields_are_those_of_what_each_command_tells() {
    let (place, file) = backed_up();
    let refused = |words: &[&str], known: &str| {
        let ran = place.run("ada", words);
        assert_eq!(ran.code, 1, "{words:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(known), "{words:?}: {}", ran.err);
    };
    refused(&["backup", "create", "../other.db", "--json=flaw"], "taken_at");
    assert!(!place.root.path().join("other.db").exists(), "it is refused before anything is done");
    refused(&["backup", "verify", word(&file), "--json=applied"], "flaw");
    refused(&["restore", word(&file), "--json=intact"], "kept_as");
    assert_eq!(place.ok("ada", &["backup", "verify", word(&file), "--json=flaw"]).out.trim(), "{}");
    assert_eq!(
        place.ok("ada", &["backup", "verify", word(&file), "--json=intact"]).out.trim(),
        r#"{"intact":true}"#
    );
}

#[test]
fn a_restore_that_ends_the_daemon_is_not_raced_by_who_works_or_waits_there() {
    let (place, file) = backed_up();
    place.task("after the backup", &["--planned"]);
    let waiting = place.command("bob", &["wait", "afc-2", "--timeout", "5m"]).spawn().expect("runs");
    let following = place.command("bob", &["events", "--follow"]).spawn().expect("runs");
    until("both are there", || {
        let info = place.client().get("/api/v1/info").expect("the daemon answers");
        serde_json::from_slice::<Value>(&info).expect("JSON")["waiting"] == 1
    });
    ends(&place, &["restore", word(&file), "--confirm"], 3, "in_use");
    let done = place.json("ada", &["restore", word(&file), "--confirm", "--stop"]);
    assert_eq!((&done["applied"], &done["epoch"]), (&true.into(), &2.into()));
    for mut child in [waiting, following] {
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    assert_eq!(place.json("ada", &["task", "list"])["tasks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_would_be_lost_is_told_while_a_daemon_serves_the_store() {
    let (place, file) = backed_up();
    place.task("after the backup", &[]);
    let daemon = place.daemon();
    let told = place.ok("ada", &["restore", word(&file)]).out;
    assert!(told.contains("1 task_created") && told.contains("--confirm --stop` ends the daemon"), "{told}");
    let some = place.json("ada", &["restore", word(&file), "--stop"]);
    assert_eq!((&some["applied"], &some["served"]), (&false.into(), &true.into()), "only a look");
    assert_eq!(some["present"]["lost"]["kinds"]["task_created"], 1);
    let refused = ends(&place, &["restore", word(&file), "--confirm"], 3, "in_use");
    let next = refused["next_actions"][0].as_str().expect("a step");
    assert_eq!(next, format!("tenure restore {} --confirm --stop", word(&file)));
    assert_eq!(place.daemon(), daemon, "it goes on");
    let words: Vec<&str> = next.split(' ').skip(1).collect();
    assert!(place.ok("ada", &words).out.starts_with("the store was restored"));
}

#[test]
fn a_daemon_is_not_ended_for_a_backup_that_cannot_be_restored() {
    let (place, file) = backed_up();
    let daemon = place.daemon();
    let damaged = place.root.path().join("damaged.db");
    let mut bytes = std::fs::read(&file).expect("bytes");
    bytes.push(0);
    std::fs::write(&damaged, bytes).expect("written");
    std::fs::copy(place.root.path().join("backup.db.json"), place.root.path().join("damaged.db.json"))
        .expect("copied");
    let alone = place.root.path().join("alone.db");
    std::fs::copy(&file, &alone).expect("copied");
    let other = Place::bound();
    other.ok("ada", &["backup", "create", "../other.db"]);
    let foreign = other.root.path().join("other.db");
    for (backup, exit, code) in [
        (place.root.path().join("missing.db"), 7, "not_found"),
        (damaged, 1, "invalid_input"),
        (alone, 7, "not_found"),
        (foreign, 8, "state_conflict"),
    ] {
        ends(&place, &["restore", word(&backup), "--confirm", "--stop"], exit, code);
        assert_eq!(place.daemon(), daemon, "it goes on");
    }
}

#[test]
fn the_store_s_own_names_are_no_backups() {
    let (place, file) = backed_up();
    let own = place.state().join("tenure.db.restoring");
    ends(&place, &["backup", "create", word(&own)], 1, "invalid_input");
    std::fs::copy(&file, &own).expect("copied");
    std::fs::copy(place.root.path().join("backup.db.json"), place.state().join("tenure.db.restoring.json"))
        .expect("copied");
    place.stop();
    ends(&place, &["restore", word(&own), "--confirm"], 1, "invalid_input");
    assert!(own.exists(), "what it was given is left alone");
}

#[test]
fn a_backup_that_cannot_be_written_is_refused_with_the_reason() {
    let (place, file) = backed_up();
    ends(&place, &["backup", "create", word(&file)], 8, "already_exists");
    place.ok("ada", &["backup", "create", word(&file), "--replace"]);
    ends(&place, &["backup", "create", "../no/such/folder/x.db"], 1, "invalid_input");
    ends(&place, &["backup", "create", word(&place.checkout())], 8, "already_exists");
    ends(&place, &["backup", "create", "/proc/x.db"], 1, "invalid_input");
    let database = place.state().join("tenure.db");
    ends(&place, &["backup", "create", word(&database), "--replace"], 1, "invalid_input");
}

#[test]
fn a_bad_backup_is_not_restored_and_says_why() {
    let (place, file) = backed_up();
    ends(&place, &["restore", word(&file), "--confirm"], 3, "in_use");
    place.stop();
    let manifest = place.root.path().join("backup.db.json");
    let missing = place.root.path().join("missing.db");
    for words in [&["restore"][..], &["backup", "verify"]] {
        ends(&place, &[words, &[word(&missing)]].concat(), 7, "not_found");
    }
    let (bytes, text) = (std::fs::read(&file).expect("bytes"), std::fs::read(&manifest).expect("bytes"));
    let mut altered = bytes.clone();
    altered[bytes.len() / 2] ^= 1;
    for (path, wrong) in
        [(&file, &altered[..]), (&file, &bytes[..bytes.len() - 1]), (&manifest, b"{}"), (&manifest, b"")]
    {
        std::fs::write(path, wrong).expect("written");
        for more in [&[][..], &["--confirm"]] {
            ends(&place, &[&["restore", word(&file)], more].concat(), 1, "invalid_input");
        }
        let checked = place.run("ada", &["backup", "verify", word(&file), "--json"]);
        assert_eq!((checked.code, &checked.problem()["intact"]), (10, &false.into()), "{}", checked.out);
        std::fs::write(&file, &bytes).expect("written");
        std::fs::write(&manifest, &text).expect("written");
    }
    let text_of = String::from_utf8(text.clone()).expect("text");
    std::fs::write(&manifest, text_of.replace("\"bytes\"", "\"size\"")).expect("written");
    let problem = ends(&place, &["restore", word(&file)], 1, "invalid_input");
    let (detail, next) = (problem["detail"].to_string(), problem["next_actions"].to_string());
    assert!(detail.contains("its field `bytes` is missing"), "{detail}");
    assert!(next.contains("copy the backup and its manifest again"), "{next}");
    std::fs::remove_file(&manifest).expect("removed");
    ends(&place, &["restore", word(&file)], 7, "not_found");
    std::fs::write(&manifest, &text).expect("written");

    let other = Place::bound();
    other.stop();
    let problem = ends(&other, &["restore", word(&file), "--confirm"], 8, "state_conflict");
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("lives here")), "{problem}");
    place.ok("ada", &["restore", word(&file)]);
    assert_eq!(place.json("ada", &["show", "afc-1"])["task"]["title"], "one", "the store is as it was");
}
