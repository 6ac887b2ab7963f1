//! Work found again on the command line: by words, by labels, by its commits.

use serde_json::json;
use tenure_client::identity::Identity;
use tenure_client::session::{Particulars, Session};
use tenure_core::model::limits::PAGE_ROWS;
use tenure_core::operation::project::CreateProject;

use crate::place::Place;
use crate::shells::{bash, shell};

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

    for words in [&["search", "\"loops parser\""][..], &["search", "loops", "--", "-parser"]] {
        let out = place.ok("ada", words).out;
        assert!(out.starts_with("nothing is found; fewer words find more\nnext:"), "{out}");
        assert!(
            out.contains("--everywhere` looks in all projects") || out.contains("--everywhere -- -parser`"),
            "{out}"
        );
        let everywhere = place.ok("ada", &[&["search", "--everywhere"], &words[1..]].concat());
        assert_eq!(everywhere.out, "nothing is found; fewer words find more\n", "they are all searched");
    }
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
    assert_eq!(
        place.ok("ada", &["label", "list"]).out,
        "no labels; `tenure task create --title TEXT --label NAME` gives one\n"
    );
    place.task("one", &["--label", "phase 2", "--label", "ui"]);
    place.task("two", &["--label", "ui"]);
    let listed = place.ok("ada", &["label", "list", "--limit", "1"]);
    let expected = "UNFINISHED  FINISHED  LABEL\n1           0         phase 2\n1 shown; go on: `tenure label list --limit 1 --cursor '1.phase 2'`\n";
    assert_eq!(listed.out, expected);
    let rest = place.ok("ada", &["label", "list", "--cursor", "1.phase 2"]);
    assert!(rest.out.ends_with("2           0         ui\n"), "{}", rest.out);
    let both = place.json("ada", &["task", "list", "--label", "ui", "-l", "phase 2"]);
    assert_eq!(both["tasks"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        place.ok("ada", &["task", "list", "--label", "UI"]).out,
        "no such tasks; `tenure task list` shows those of every kind\n"
    );
}

#[test]
fn the_commits_of_a_label_tell_whether_they_are_all() {
    let place = Place::bound();
    for title in [EVIL, "without a commit", "open"] {
        place.task(title, &["--label", "ui", "--alias", &title.replace(char::is_control, "")]);
    }
    place.ok("ada", &["close", "afc-1", "--revision", "1", "--commit", "0123456789abcdef"]);
    place.ok("ada", &["close", "afc-2", "--revision", "1"]);
    let listed = place.ok("ada", &["commits", "--label", "ui"]);
    assert!(listed.out.contains("0123456789abcdef  afc-1") && is_harmless(&listed.out), "{}", listed.out);
    assert!(
        listed
            .out
            .ends_with("1 task landed, 1 closed without a commit (--missing lists them), 1 unfinished\n"),
        "{}",
        listed.out
    );
    let missing = place.ok("ada", &["commits", "--label", "ui", "--missing"]);
    assert!(
        missing.out.contains("without a commit") && !missing.out.contains("0123456789abcdef"),
        "{}",
        missing.out
    );
    let named = place.ok("ada", &["commits", "afc-1"]);
    assert!(named.out.ends_with("1 task landed, nothing is left\n"), "{}", named.out);
    let some = place.ok("ada", &["commits", "afc-1", "--json=commit"]);
    assert!(some.out.contains(r#""commits":[{"commit":"0123456789abcdef"}]"#), "{}", some.out);
    assert_eq!(
        place.json("ada", &["commits", "without a commit"])["missing"],
        1,
        "a task may be named by an alias"
    );
    let none = place.ok("ada", &["commits", "--label", "none"]);
    assert_eq!(
        none.out,
        "no tasks that could have landed; `tenure label list` and `tenure task list` show what there is\n"
    );
    for words in [&["commits"][..], &["commits", "afc-1", "--label", "ui"], &["commits", "--objective", ""]] {
        assert_eq!(place.run("ada", words).code, 1, "{words:?}");
    }
    assert_eq!(place.run("ada", &["commits", "--objective", "afc-99"]).code, 7);
}

#[test]
fn projects_are_listed_in_pages() {
    let place = Place::bound();
    place.ok("ada", &["project", "create", "b", "--name", "Another"]);
    let listed = place.ok("ada", &["project", "list", "--limit", "1"]);
    assert!(
        listed.out.ends_with("1 shown; go on: `tenure project list --limit 1 --cursor 1.afc`\n"),
        "{}",
        listed.out
    );
    let rest = place.ok("ada", &["project", "list", "--cursor", "1.afc"]);
    assert!(rest.out.contains("Another") && !rest.out.contains("shown"), "{}", rest.out);
    let counted = place.ok("ada", &["stats", "--limit", "1"]);
    assert!(
        counted.out.contains("1 shown; go on: `tenure stats --limit 1 --cursor 1.afc`\nevents:"),
        "{}",
        counted.out
    );
}

#[test]
fn a_name_is_completed_and_mended_from_all_projects_however_many() {
    let place = Place::bound();
    let client = place.client();
    let identity = Identity {
        name: "ada".parse().expect("valid"),
        conversation: None,
        harness: None,
        origin: "a test".to_owned(),
    };
    let session = Session::open(&client, &identity, &Particulars::default()).expect("opened");
    let keys = (0..PAGE_ROWS).map(|number| format!("p{number}")).chain(["zebra".to_owned()]);
    for key in keys {
        let made = json!({ "key": key });
        let create: CreateProject = serde_json::from_value(made).expect("valid");
        client.call(&create, Some(&session)).expect("created");
    }
    assert_eq!(bash(&place, &["tenure", "ready", "--project", "ze"]), ["zebra"]);
    let refused = place.run("ada", &["project", "show", "zebar"]);
    assert!(refused.err.contains("did you mean `zebra`?"), "{}", refused.err);
    let exported = place.ok("ada", &["export", "jsonl"]).out;
    assert_eq!(exported.matches(r#""record":"project""#).count(), PAGE_ROWS as usize + 2);
}

#[test]
fn a_number_with_a_slip_is_answered_with_the_tasks_that_are_near() {
    let place = Place::bound();
    for number in 1..=13 {
        place.task(&format!("task {number}"), &[]);
    }
    let refused = place.run("ada", &["show", "afc-123"]);
    assert_eq!(refused.code, 7, "{}", refused.err);
    assert!(
        refused.err.contains("did you mean `afc-12` or `afc-13`? `tenure task list --project afc`"),
        "{}",
        refused.err
    );
    let refused = place.run("ada", &["show", "afc-987"]);
    assert!(
        !refused.err.contains("did you mean") && refused.err.contains("task list --project afc"),
        "{}",
        refused.err
    );
}

/// The tasks that a page names.
fn named(page: &str) -> Vec<String> {
    let words = page.split_whitespace().filter(|word| word.starts_with("afc-"));
    words.map(str::to_owned).collect()
}

/// The command that a page names to go on.
fn goes_on(page: &str) -> Option<&str> {
    page.lines().find(|line| line.contains(" go on: ") || line.contains("more: "))?.split('`').nth(1)
}

#[test]
fn a_page_that_was_cut_off_names_the_whole_command_that_goes_on() {
    let place = Place::bound();
    for number in 1..=7 {
        place.task(&format!("the parser's task {number}"), &["--label", "x"]);
    }
    for number in 1..=3 {
        place.ok("ada", &["note", "afc-1", &format!("note {number}")]);
    }
    let typed = |command: &str| {
        let (lines, errors) = shell(&place, &["sh", "-c", command]);
        assert_eq!(errors, "", "{command}");
        lines.join("\n")
    };
    // From page to page, each command as it stands.
    for words in [&["ready", "--limit", "2"][..], &["task", "list", "--label", "x", "--limit=3"], &[]] {
        let mut page = place.ok("ada", words).out;
        let mut seen = named(&page);
        assert!(seen.len() < 7, "{words:?}: {page}");
        while let Some(command) = goes_on(&page) {
            page = typed(command);
            seen.extend(named(&page));
        }
        let all: Vec<String> = (1..=7).map(|number| format!("afc-{number}")).collect();
        assert_eq!(seen, all, "{words:?}");
    }
    // All of it at once, with everything else that was typed.
    for (words, whole, holds) in [
        (
            &["search", "the parser's", "--limit", "1"][..],
            r"tenure search 'the parser'\''s' --limit 7",
            ["afc-1", "afc-7"],
        ),
        (&["digest", "--limit=1", "--since", "8h"], "tenure digest --since 8h --limit 7", ["afc-1", "afc-7"]),
        (&["history", "afc-1", "--limit", "1"], "tenure history afc-1 --limit 3", ["note 1", "note 3"]),
    ] {
        let cut = place.ok("ada", words).out;
        assert_eq!(goes_on(&cut), Some(whole), "{cut}");
        assert!(!holds.iter().all(|held| cut.contains(held)), "{cut}");
        let all = typed(whole);
        assert!(holds.iter().all(|held| all.contains(held)) && goes_on(&all).is_none(), "{all}");
    }
}
