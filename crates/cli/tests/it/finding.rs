//! Work found again on the command line: by words and by labels.

use crate::place::Place;

const EVIL: &str = "the \u{1b}[2J parser\u{202e} of 家";

fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}'))
}

#[test]
fn tasks_are_found_by_what_is_written_in_them() {
    let place = Place::bound();
    let titled = place.task(EVIL, &[]);
    let noted = place.task("something else", &["--description", "it is\nabout the `parser_state`"]);
    place.ok("ada", &["claim", &noted]);
    place.ok("ada", &["note", &noted, "it loops in src/main.rs:12"]);

    let found = place.ok("ada", &["search", "pars"]);
    let lines: Vec<&str> = found.out.lines().collect();
    assert!(
        lines[0].starts_with(&titled) && lines[0].ends_with(r"the \x1b[2J parser\u{202e} of 家"),
        "{}",
        found.out
    );
    assert!(
        lines[1].starts_with(&noted) && lines[2] == "    description: it is about the `parser_state`",
        "{}",
        found.out
    );
    assert!(is_harmless(&found.out), "{:?}", found.out);
    let found = place.ok("ada", &["search", "src/main.rs"]);
    assert!(found.out.contains("note ") && found.out.contains("it loops in src/main.rs:12"), "{}", found.out);

    let json = place.json("ada", &["search", "parser", "--limit", "1"]);
    assert_eq!((&json["total"], json["tasks"].as_array().map(Vec::len)), (&2.into(), Some(1)));
    let pieces = json["tasks"][0]["excerpt"].as_array().expect("pieces");
    let hits: Vec<_> =
        pieces.iter().filter(|piece| piece["hit"] == true).map(|piece| &piece["text"]).collect();
    assert_eq!(hits, ["parser"]);
    let some = place.ok("ada", &["search", "loops", "--json=id,found_in"]);
    assert!(some.out.contains(r#""tasks":[{"found_in":"note","id":"afc-2"}]"#), "{}", some.out);

    assert_eq!(place.ok("ada", &["search", "\"loops parser\""]).out, "nothing is found\n");
    assert_eq!(place.ok("ada", &["search", "loops", "--", "-parser"]).out, "nothing is found\n");
    for words in
        [&["search", "?!"][..], &["search", ""], &["search", "\u{1b}["], &["search", "-x"], &["search"]]
    {
        let refused = place.run("ada", words);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{words:?}: {}", refused.err);
        assert!(is_harmless(&refused.err), "{:?}", refused.err);
    }
}

#[test]
fn a_bound_checkout_is_searched_alone_unless_all_is_asked_for() {
    let place = Place::bound();
    place.task("parser here", &[]);
    place.ok("ada", &["project", "create", "other"]);
    place.ok("ada", &["task", "create", "--project", "other", "--title", "parser there"]);
    let ids = |words: &[&str]| {
        let found = place.json("ada", words);
        let tasks = found["tasks"].as_array().expect("a list").clone();
        tasks.iter().map(|task| task["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["search", "parser"]), ["afc-1"]);
    assert_eq!(ids(&["search", "parser", "--project", "other"]), ["other-1"]);
    let mut all = ids(&["search", "parser", "--everywhere"]);
    all.sort();
    assert_eq!(all, ["afc-1", "other-1"]);
    assert_eq!(place.run("ada", &["search", "parser", "--project", "none"]).code, 7);
}

#[test]
fn labels_are_listed_and_list_tasks() {
    let place = Place::bound();
    assert_eq!(place.ok("ada", &["label", "list"]).out, "no labels\n");
    place.task("one", &["--label", "phase 2", "--label", "ui"]);
    place.task("two", &["--label", "ui"]);
    let listed = place.ok("ada", &["label", "list", "--limit", "1"]);
    let expected = "UNFINISHED  FINISHED  LABEL\n1           0         phase 2\n1 shown; go on with --cursor '1.phase 2'\n";
    assert_eq!(listed.out, expected);
    let rest = place.ok("ada", &["label", "list", "--cursor", "1.phase 2"]);
    assert!(rest.out.ends_with("2           0         ui\n"), "{}", rest.out);
    let both = place.json("ada", &["task", "list", "--label", "ui", "-l", "phase 2"]);
    assert_eq!(both["tasks"].as_array().map(Vec::len), Some(1));
    assert_eq!(place.ok("ada", &["task", "list", "--label", "UI"]).out, "no tasks\n");
}
