//! Whole stories as an agent sees them, kept as snapshots.

use crate::doctoring::hide_the_machine;
use crate::place::Place;

/// Plays commands and writes down what was seen of them. `agent: words` is one command; `\"` quotes do not exist.
fn play(place: &Place, commands: &[(&str, &[&str])]) -> String {
    let mut seen = String::new();
    for (agent, words) in commands {
        let ran = place.run(agent, words);
        seen.push_str(&format!("{agent}$ tenure {}\n{}{}", words.join(" "), ran.out, ran.err));
        if ran.code != 0 {
            seen.push_str(&format!("exit {}\n", ran.code));
        }
        seen.push('\n');
    }
    seen.replace(place.root.path().to_str().expect("text"), "ROOT")
}

fn check(name: &str, seen: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\dZ", "WHEN");
    settings.add_filter(r"\b(9m 5\ds|10m)\b", "10m");
    settings.add_filter(r"\b(59\d|600) s\b", "600 s");
    settings.add_filter(r"\b(179\d|1800) s\b", "1800 s");
    settings.add_filter(r"[a-z]+-[a-z]+-[a-z]+-[a-z]+-[a-z]+\b *\n", "HANDLE\n");
    settings.add_filter(r"\b[0-9a-f]{32}\b", "FLEET");
    settings.add_filter(r"size: +\d+ bytes", "size:        N bytes");
    settings.add_filter(r"sha256: +[0-9a-f]{64}", "sha256:      HASH");
    settings.add_filter(r"head: +[0-9a-f]{64}", "head:        HASH");
    settings.add_filter(r"anchor: +(\d+):[0-9a-f]{64}", "anchor:      $1:HASH");
    hide_the_machine(&mut settings);
    settings.bind(|| insta::assert_snapshot!(name, seen));
}

#[test]
fn the_first_minutes() {
    let place = Place::new();
    let seen = play(
        &place,
        &[
            ("ada", &[]),
            ("ada", &["ready"]),
            ("ada", &["init", "afc"]),
            ("ada", &[]),
            ("ada", &["task", "create", "--title", "Parse the config", "--priority", "1", "--label", "core"]),
            ("ada", &["task", "create", "--title", "Use the config", "--blocked-by", "afc-1"]),
            ("ada", &[]),
            ("ada", &["config", "show", "--origin"]),
            ("ada", &["doctor"]),
        ],
    );
    check("the_first_minutes", &seen);
}

#[test]
fn the_loop() {
    let place = Place::bound();
    place.task(
        "Parse the config",
        &["--criterion", "unknown keys are refused", "--description", "TOML only.\nNo includes."],
    );
    place.task("Use the config", &["--blocked-by", "afc-1", "--kind", "general"]);
    let seen = play(
        &place,
        &[
            ("ada", &["next"]),
            ("ada", &["claim"]),
            ("bob", &["claim", "afc-1"]),
            ("bob", &["claim"]),
            ("bob", &["explain", "afc-2"]),
            ("ada", &["heartbeat"]),
            ("ada", &["note", "the reader works"]),
            ("ada", &["checkpoint", "tests are left", "--branch", "config", "--tree", "committed"]),
            ("ada", &["handoff", "bob knows the tests", "--to", "bob"]),
            ("cy", &["claim", "afc-1"]),
            ("bob", &["claim"]),
            ("bob", &["close", "--note", "done"]),
            ("bob", &["close", "--branch", "config", "--note", "done", "--criterion", "c1=there is a test"]),
            ("bob", &["ready"]),
            ("ada", &["history", "afc-1"]),
            ("ada", &["attempts", "afc-1"]),
            ("ada", &["task", "list"]),
            ("ada", &["stats"]),
            ("ada", &["audit", "verify"]),
        ],
    );
    check("the_loop", &seen);
}

#[test]
fn what_stands_in_the_way() {
    let place = Place::bound();
    place.task("Ship it", &["--kind", "objective"]);
    place.task("Write it", &["--parent", "afc-1"]);
    let seen = play(
        &place,
        &[
            ("ada", &["blocker", "raise", "afc-2", "--kind", "permission", "--reason", "no push rights"]),
            ("ada", &["ready"]),
            ("ada", &["show", "afc-2"]),
            ("ada", &["blocker", "resolve", "afc-2", "1", "--reason", "granted"]),
            ("ada", &["task", "defer", "afc-2", "--until", "2099-01-01", "--reason", "next century"]),
            ("ada", &["explain", "afc-2"]),
            ("ada", &["task", "resume", "afc-2"]),
            ("ada", &["task", "edit", "afc-2", "--revision", "1", "--title", "Write it well"]),
            ("ada", &["task", "cancel", "afc-2", "--reason", "no", "--dry-run"]),
            ("ada", &["dependency", "add", "afc-1", "afc-2", "--kind", "related"]),
            ("ada", &["show", "afc-1"]),
        ],
    );
    check("what_stands_in_the_way", &seen);
}

#[test]
fn how_it_ended() {
    let place = Place::bound();
    for title in ["Parse the config", "Parse it twice", "Use the config"] {
        place.task(title, &[]);
    }
    let evidence =
        ["--branch", "config", "--commit", "1a2b3c4", "--merge-commit", "5d6e7f8", "--pull-request", "12"];
    let close = [&["close", "afc-1", "--note", "unknown keys\nare refused"], &evidence[..]].concat();
    let duplicate = ["--resolution", "duplicate", "--successor", "afc-1", "--reason", "said once is enough"];
    let cancel = [&["task", "cancel", "afc-2", "--revision", "1"], &duplicate[..]].concat();
    let seen = play(
        &place,
        &[
            ("ada", &["claim", "afc-1"]),
            ("ada", &close),
            ("bob", &["show", "afc-1"]),
            ("ada", &cancel),
            ("bob", &["show", "afc-2"]),
            ("bob", &["show", "afc-2", "--entries", "1"]),
            ("ada", &["task", "defer", "afc-3", "--reason", "no hardware", "--reopening", "a board arrives"]),
            ("bob", &["show", "afc-3"]),
            ("bob", &["events", "--limit", "2"]),
            ("bob", &["events", "--newest", "--limit", "2"]),
            ("bob", &["events", "--newest", "--task", "afc-1", "--limit", "1"]),
        ],
    );
    check("how_it_ended", &seen);
}

#[test]
fn an_import() {
    let place = Place::bound();
    let line = r#"{"id":"bd-1","title":"one","status":"open","priority":1,"issue_type":"task"}"#;
    std::fs::write(place.checkout().join("export"), line).expect("written");
    let seen = play(
        &place,
        &[
            ("ada", &["import", "beads", "export"]),
            ("ada", &["import", "beads", "export", "--apply"]),
            ("ada", &["import", "beads", "export", "--apply"]),
            ("ada", &["import", "beads", "export"]),
        ],
    );
    check("an_import", &seen);
}

#[test]
fn an_export_and_its_import_into_another_fleet() {
    let place = Place::bound();
    place.task("one", &["--label", "core", "--alias", "x-1"]);
    place.task("two", &["--blocked-by", "afc-1"]);
    let file = place.root.path().join("e.jsonl");
    let exported = play(
        &place,
        &[("ada", &["export", "jsonl", "-h"]), ("ada", &["export", "jsonl", "-o", "../e.jsonl"])],
    );
    let own = play(&place, &[("ada", &["import", "tenure", "../e.jsonl", "--apply"])]);
    let other = Place::new();
    std::fs::copy(&file, other.root.path().join("e.jsonl")).expect("copied");
    let seen = play(
        &other,
        &[
            ("eve", &["import", "tenure", "-h"]),
            ("eve", &["import", "tenure", "../e.jsonl"]),
            ("eve", &["import", "tenure", "../e.jsonl", "--apply"]),
            ("eve", &["import", "tenure", "../e.jsonl", "--apply"]),
            ("eve", &["show", "afc-1"]),
        ],
    );
    check("an_export", &[exported, own, seen].concat());
}

#[test]
fn a_checkout_that_cannot_be_bound_leaves_no_project_behind_and_is_not_told_to_try() {
    let place = Place::new();
    let long = vec!["x".repeat(200); 5].join("/");
    for name in ["bell\u{7}".to_owned(), long] {
        let folder = place.root.path().join(name);
        std::fs::create_dir_all(folder.join(".git")).expect("created");
        std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
        let run = |words: &[&str]| {
            let ran = place.command("ada", words).current_dir(&folder).output().expect("runs");
            let said = String::from_utf8([ran.stdout, ran.stderr].concat()).expect("text");
            (ran.status.code(), said)
        };
        for (words, exit) in [(&["init", "afc"][..], 1), (&["ready"], 8), (&["init"], 1)] {
            let (code, said) = run(words);
            assert_eq!(code, Some(exit), "{words:?}: {said}");
            assert!(said.contains("next:  name projects with --project KEY"), "{words:?}: {said}");
            assert!(!said.contains("tenure init"), "{words:?}: {said}");
        }
        let (code, said) = run(&[]);
        assert!(code == Some(0) && !said.contains("tenure init"), "{said}");
    }
    assert_eq!(place.json("ada", &["project", "list"])["projects"].as_array().map(Vec::len), Some(0));
    place.ok("ada", &["project", "create", "afc"]);
    let folder = place.root.path().join("bell\u{7}");
    let ready = place.command("ada", &["ready", "--project", "afc"]).current_dir(&folder).output();
    assert!(ready.expect("runs").status.success(), "what is told helps");
}
