//! Exports and their import at the command line: what is printed, where it goes, and how each bad end is told.

use std::path::PathBuf;

use serde_json::Value;

use crate::place::Place;

fn path(place: &Place, name: &str) -> PathBuf {
    place.root.path().join(name)
}

/// The command ends with this exit code and this `code`, and says what to do next.
fn ends(place: &Place, words: &[&str], exit: i32, code: &str) {
    let ran = place.run("ada", &[words, &["--json"]].concat());
    assert_eq!(ran.code, exit, "{words:?}: {}{}", ran.out, ran.err);
    assert!(ran.err.contains("next:"), "{words:?}: {}", ran.err);
    assert_eq!(ran.problem()["code"], code, "{words:?}: {}", ran.out);
}

#[test]
fn standard_output_and_a_file_get_the_same_bytes() {
    let place = Place::bound();
    place.task("one", &["--label", "x"]);
    let out = place.ok("ada", &["export", "jsonl"]).out;
    let told = place.json("ada", &["export", "jsonl", "--output", "../e.jsonl"]);
    let file = std::fs::read(path(&place, "e.jsonl")).expect("it is there");
    assert_eq!(String::from_utf8_lossy(&file), out);
    assert_eq!(told["bytes"], file.len());
    assert_eq!(told["lines"], out.lines().count());
    assert_eq!(place.ok("bob", &["export", "jsonl", "--project", "afc"]).out, out, "it is the only project");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(path(&place, "e.jsonl")).expect("there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "it holds every task and note");
    let human = place.ok("ada", &["export", "jsonl", "--output", "../again.jsonl"]).out;
    assert!(human.starts_with("an export was written: ") && human.contains("sha256:"), "{human}");
    let fields = place.ok("ada", &["export", "jsonl", "--output", "../f.jsonl", "--json=lines"]).out;
    assert_eq!(fields.trim(), format!("{{\"lines\":{}}}", told["lines"]));
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    let place = Place::bound();
    place.task("one", &[]);
    let before = || std::fs::read_dir(place.root.path()).expect("ours").count();
    place.ok("ada", &["export", "jsonl", "--output", "../e.jsonl"]);
    std::fs::write(path(&place, "mine.txt"), "mine").expect("written");
    let files = before();
    ends(&place, &["export", "jsonl", "--output", "../e.jsonl"], 8, "already_exists");
    ends(&place, &["export", "jsonl", "--output", "../mine.txt", "--replace"], 8, "already_exists");
    ends(&place, &["export", "jsonl", "--output", "/dev/null", "--replace"], 8, "already_exists");
    ends(&place, &["export", "jsonl", "--output", "../no/such/x.jsonl"], 1, "invalid_input");
    ends(&place, &["export", "jsonl", "--output", "../x.jsonl", "--project", "nope"], 7, "not_found");
    ends(&place, &["export", "jsonl"], 1, "invalid_input");
    assert_eq!(
        place.run("ada", &["export", "jsonl", "--replace"]).code,
        1,
        "it means nothing without a file"
    );
    let unknown = place.run("ada", &["export", "jsonl", "--output", "../x.jsonl", "--json=nope"]);
    assert_eq!(unknown.code, 1, "{}", unknown.err);
    assert_eq!(before(), files, "neither a file nor a part of one");
    assert_eq!(std::fs::read_to_string(path(&place, "mine.txt")).expect("there"), "mine");
    place.task("two", &[]);
    let told = place.json("ada", &["export", "jsonl", "--output", "../e.jsonl", "--replace"]);
    assert_eq!(told["bytes"], std::fs::read(path(&place, "e.jsonl")).expect("there").len());
    let full = place
        .command("ada", &["export", "jsonl"])
        .stdout(std::fs::File::create("/dev/full").expect("it is there"))
        .status();
    assert_eq!(full.expect("it runs").code(), Some(2), "a full disk is told");
    let gone = place.command("ada", &["export", "jsonl"]).stdout(std::process::Stdio::piped()).spawn();
    let mut gone = gone.expect("it runs");
    drop(gone.stdout.take());
    assert_eq!(gone.wait().expect("our child").code(), Some(0), "a reader that has gone is no error");
}

#[test]
fn an_altered_file_is_refused_by_line_and_changes_nothing() {
    let place = Place::bound();
    place.task("one", &[]);
    place.ok("ada", &["export", "jsonl", "--output", "../e.jsonl"]);
    let text = std::fs::read_to_string(path(&place, "e.jsonl")).expect("there");
    let other = Place::new();
    for (altered, says) in [
        (text.replace("\"one\"", "\"won\""), "were altered"),
        (text[..text.len() - 5].to_owned(), "cut off"),
        (text.replace("\"version\":1", "\"version\":9"), "line 1: it is written in version 9"),
        ("{}\n".to_owned(), "line 1: this is no export of Tenure"),
    ] {
        let file = path(&other, "altered.jsonl");
        std::fs::write(&file, altered).expect("written");
        for more in [&[][..], &["--apply"]] {
            let ran = other.run("ada", &[&["import", "tenure", file.to_str().expect("text")], more].concat());
            assert_eq!(ran.code, 1, "{says}: {}", ran.err);
            assert!(
                ran.err.contains(says) && ran.err.contains("nothing was imported"),
                "{says}: {}",
                ran.err
            );
        }
    }
    assert_eq!(other.json("ada", &["project", "list"])["projects"], Value::Array(Vec::new()));
}

#[test]
fn what_a_killed_export_left_beside_its_file_is_removed_by_the_next() {
    let place = Place::bound();
    let names = [
        (".e.jsonl.AbC123.tenure-export-draft", false),
        (".e.jsonl.held99.tenure-export-draft", true),
        (".other.jsonl.AbC123.tenure-export-draft", true),
        (".e.jsonl.mine.txt", true),
    ];
    for (name, _) in names {
        std::fs::write(path(&place, name), "half").expect("written");
    }
    let held = std::fs::File::open(path(&place, names[1].0)).expect("there");
    held.lock().expect("locked");
    place.ok("ada", &["export", "jsonl", "--output", "../e.jsonl"]);
    for (name, stays) in names {
        assert_eq!(path(&place, name).exists(), stays, "{name}");
    }
    place.ok("ada", &["export", "jsonl", "--output", &format!("../{}", "x".repeat(250))]);
}

#[test]
fn a_file_that_is_too_large_is_refused_with_what_helps() {
    let place = Place::bound();
    let file = path(&place, "large.jsonl");
    std::fs::File::create(&file).and_then(|file| file.set_len(33 << 20)).expect("made");
    let word = file.to_str().expect("text");
    let ran = place.run("ada", &["import", "tenure", word]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("longer than 33554432 bytes"), "{}", ran.err);
    assert!(ran.err.contains("next:  export fewer projects at once"), "{}", ran.err);
    let ran = place.run("ada", &["import", "beads", word]);
    assert!(ran.err.contains("next:  export fewer issues at once"), "{}", ran.err);
}
