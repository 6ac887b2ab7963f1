//! `--jq`: answers taken apart by the program itself.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::place::Place;

fn events(place: &Place) -> u64 {
    place.json("ada", &["stats"])["events"].as_u64().expect("a number")
}

#[test]
fn an_expression_that_cannot_be_read_lets_nothing_happen() {
    let place = Place::new();
    let ran = place.run("ada", &["init", "afc", "--jq", ".project +"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
    assert!(ran.err.contains("at its end") && ran.err.contains("nothing was asked for"), "{}", ran.err);
    assert!(!place.state().exists(), "no daemon was started");
    place.ok("ada", &["init", "afc"]);
    let before = events(&place);
    for expression in [".task.id |", "nonsense", ".a[", "$x", "import \"m\" as m; .", "\"\\q\""] {
        let ran = place.run("ada", &["task", "create", "--title", "t", "--jq", expression]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{expression}: {}", ran.err);
    }
    assert_eq!(events(&place), before);
}

#[test]
fn results_are_raw_texts_and_lines_of_json() {
    let place = Place::bound();
    let title = "two\nlines \u{1b}[2J";
    let task =
        place.ok("ada", &["task", "create", "--title", "x", "--description", title, "--jq", ".task.id"]);
    assert_eq!(task.out, "afc-1\n");
    let ran = |words: &[&str]| place.ok("ada", words).out;
    assert_eq!(ran(&["show", "afc-1", "--jq", ".task.description"]), format!("{title}\n"));
    assert_eq!(ran(&["ready", "--json=id", "--jq", ".tasks"]), "[{\"id\":\"afc-1\"}]\n");
    assert_eq!(ran(&["ready", "--jq", ".tasks[] | [.id, .priority] | @tsv"]), "afc-1\t2\n");
    assert_eq!(ran(&["call", "ready", r#"{"project":"afc"}"#, "--jq", ".total"]), "1\n");
    assert_eq!(ran(&["version", "--jq", ".name"]), "tenure\n");
}

#[test]
fn a_refusal_is_never_taken_for_a_result() {
    let place = Place::bound();
    let ran = place.run("ada", &["show", "afc-9", "--jq", ".task.id"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, ""));
    assert!(ran.err.starts_with("error: there is no task afc-9"), "{}", ran.err);
    let ran = place.run("ada", &["ready", "--limit", "none", "--json", "--jq", "."]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
}

#[test]
fn an_expression_that_fails_on_the_answer_says_that_the_command_is_done() {
    let place = Place::bound();
    let ran = place.run("ada", &["task", "create", "--title", "t", "--jq", ".task.id, .task.id.x"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "afc-1\n"), "{}", ran.err);
    assert!(ran.err.contains("failed on the answer: cannot index"), "{}", ran.err);
    assert!(ran.err.contains("what the command does is done"), "{}", ran.err);
}

#[test]
fn what_is_followed_goes_through_it_row_by_row() {
    let place = Place::bound();
    place.task("before", &[]);
    let words = ["events", "--follow", "--limit", "1", "--jq", "select(.kind == \"task_created\") | .task"];
    let mut follower = place.command("ada", &words).stderr(Stdio::null()).spawn().expect("runs");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    assert_eq!(next(), "afc-1");
    place.ok("ada", &["claim", "afc-1"]);
    place.task("after", &[]);
    assert_eq!(next(), "afc-2", "what the expression leaves out leaves no line");
    follower.kill().expect("our child");
    follower.wait().expect("our child");
}
