//! What answers look like: data apart from talk, short, harmless, and as it was given.

use std::process::Stdio;

use crate::place::Place;

#[test]
fn hostile_text_is_stored_as_it_is_and_shown_harmless() {
    let place = Place::bound();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}txt.exe\u{9b}31m";
    let task = place.task("plain", &["--description", evil]);
    place.ok("ada", &["claim", &task]);
    place.ok("ada", &["note", &task, evil]);
    for words in [&["show", &task][..], &["history", &task], &["ready"], &["events"], &["claim"]] {
        let ran = place.ok("ada", words);
        assert!(
            ran.out.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')),
            "{words:?}: {:?}",
            ran.out
        );
    }
    assert_eq!(place.json("ada", &["show", &task])["task"]["description"], evil);
}

#[test]
fn long_text_is_kept_byte_for_byte_however_it_comes() {
    let place = Place::bound();
    let task = place.task("texts", &[]);
    place.ok("ada", &["claim", &task]);
    let text = "  ünï \r\n\ttrailing \n\n";
    let file = place.root.path().join("text");
    std::fs::write(&file, text).expect("written");
    place.ok("ada", &["note", text]);
    place.ok("ada", &["note", &task, "--file", file.to_str().expect("text")]);
    assert_eq!(place.fed("ada", &["note", "-"], text.as_bytes()).code, 0);
    assert_eq!(place.fed("ada", &["checkpoint", &task, "-"], text.as_bytes()).code, 0);
    let history = place.json("ada", &["history", &task]);
    let texts: Vec<_> = history["entries"].as_array().expect("entries").iter().map(|e| &e["text"]).collect();
    assert_eq!(texts.len(), 4);
    assert!(texts.iter().all(|stored| *stored == text), "{texts:?}");
    assert_eq!(place.fed("ada", &["note", "-"], b"\xff\xfe").code, 1);
    assert_eq!(place.fed("ada", &["note", "-"], &[b'x'; 64 * 1024 + 1]).code, 1);
}

#[test]
fn json_is_the_answer_as_it_came_or_some_fields_of_its_rows() {
    let place = Place::bound();
    let task = place.task("a task", &["--alias", "bd-7"]);
    let ready = place.json("ada", &["ready"]);
    assert_eq!(ready["tasks"][0]["id"], task);
    assert!(ready["as_of"]["event"].is_string() && ready["reasons"].is_object());
    let some = place.ok("ada", &["ready", "--json=id,title"]);
    assert!(some.out.contains(r#""tasks":[{"id":"afc-1","title":"a task"}]"#), "{}", some.out);
    let unknown = place.run("ada", &["ready", "--json=id,titel"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("priority"), "it lists what is known: {}", unknown.err);
    for words in [
        &["task", "create", "--title", "t", "--json=id,foo"][..],
        &["call", "task.create", r#"{"project":"afc","title":"t"}"#, "--json=foo"],
        &["claim", &task, "--json=foo"],
        &["session", "open", "--json=foo"],
        &["init", "other", "--json=foo"],
    ] {
        let before = place.json("ada", &["stats"])["events"].clone();
        let refused = place.run("new", words);
        assert_eq!(refused.code, 1, "{words:?}: {}{}", refused.out, refused.err);
        assert!(
            refused.out.contains("`foo` is no field") || refused.err.contains("`foo` is no field"),
            "{words:?}"
        );
        assert_eq!(place.json("ada", &["stats"])["events"], before, "{words:?}: nothing was sent");
    }
    // An alias is a name too, also where it looks like an id.
    assert_eq!(place.json("ada", &["show", "bd-7"])["task"]["id"], task);
    assert_eq!(place.json("ada", &["claim", "bd-7"])["attempt"], "afc-1@1");
    assert_eq!(place.json("ada", &["claim"])["resumed"], true);
}

#[test]
fn every_command_answers_in_json_when_asked() {
    let place = Place::bound();
    std::fs::write(place.checkout().join("export"), "").expect("written");
    for words in [
        &["version"][..],
        &["init"],
        &["config", "show"],
        &["doctor"],
        &["audit", "verify"],
        &["help"],
        &["help", "exit-codes"],
        &["help", "task", "create"],
        &[],
        &["next"],
        &["session", "list"],
        &["project", "list"],
        &["stats"],
        &["import", "beads", "export"],
    ] {
        assert!(place.json("ada", words).is_object(), "{words:?}");
    }
    let some = place.ok("ada", &["doctor", "--json=name,ok"]);
    assert!(some.out.contains(r#"{"name":"clock","ok":true}"#), "{}", some.out);
    let unknown = place.run("ada", &["version", "--json=colour"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("protocol"), "it lists what is known: {}", unknown.err);
}

#[test]
fn a_next_step_can_be_typed_as_it_stands() {
    let place = Place::new();
    let next = place.run("ada", &["ready"]);
    assert!(next.err.contains("next:  tenure init checkout\n"), "{}", next.err);
    place.ok("ada", &["init", "checkout"]);
    let refused = place.run("ada", &["init", "other"]);
    assert_eq!(refused.code, 8, "{}", refused.err);
    let step = refused.err.lines().find_map(|line| line.strip_prefix("next:  tenure ")).expect("a next step");
    place.ok("ada", &step.split(' ').collect::<Vec<_>>());
    place.ok("ada", &["init", "other"]);
}

#[test]
fn default_answers_are_short() {
    let place = Place::bound();
    let task = place.task("first", &[]);
    for number in 0..30 {
        place.task(&format!("number {number}"), &["--blocked-by", &task]);
    }
    for words in [
        &["ready"][..],
        &["task", "list"],
        &["claim"],
        &["show"],
        &["events"],
        &["close"],
        &["ready"],
        &["stats"],
        &[],
    ] {
        let ran = place.ok("ada", words);
        assert!(ran.out.len() < 2048, "{words:?}: {} bytes\n{}", ran.out.len(), ran.out);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::bound();
    let mut child =
        place.command("ada", &["help", "task", "create"]).stdout(Stdio::piped()).spawn().expect("runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn the_local_store_is_named_once_and_not_when_quiet() {
    let place = Place::new();
    let first = place.ok("ada", &["project", "create", "a"]);
    assert!(first.err.contains("this machine only"), "{}", first.err);
    assert_eq!(place.ok("ada", &["project", "create", "b"]).err, "");
    assert_eq!(place.ok("bob", &["project", "create", "c", "--quiet"]).err, "");
}
