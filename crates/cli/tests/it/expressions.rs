//! `--jq`: answers taken apart by the program itself.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::place::{Place, until};

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

#[test]
fn an_expression_without_end_is_bounded_and_what_was_done_is_told() {
    let place = Place::bound();
    for (expression, says) in [
        ("def f: [f]; f", "more than 512 MiB of memory, or goes too deep"),
        ("(\"[\" * 100000) | fromjson", "failed on the answer"),
        ("reduce range(100000) as $x (null; [.])", ""),
        ("\"x\" | until(false; . + .)", "more than 512 MiB"),
        ("def f(x): f(x + 1); f(1)", "more than 512 MiB"),
        ("\"x\" * 1000000000 | length", "more than 512 MiB"),
        ("\"x\" * 100000000", "the results have more than 64 MiB"),
        ("repeat(\"x\" * 100000) | [.]", "the results have more than 64 MiB"),
        ("error(\"x\" * 1000)", "xxx…"),
        ("\"boom\" | halt_error", "boom"),
    ] {
        let ran = place.run("ada", &["ready", "--quiet", "--jq", expression]);
        if !says.is_empty() {
            assert_eq!(ran.code, 1, "{expression}: {}", ran.err);
            assert!(ran.err.contains("error: the expression of --jq failed on the answer: "), "{}", ran.err);
            assert!(ran.err.contains(says) && ran.err.len() < 600, "{expression}: {}", ran.err);
        }
        assert!([0, 1].contains(&ran.code), "{expression}: {} {}", ran.code, ran.err);
    }
    let ran = place.run("ada", &["task", "create", "--title", "t", "--jq", "def f: [f]; f"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
    assert!(ran.err.contains("what the command does is done"), "{}", ran.err);
    assert_eq!(place.json("ada", &["show", "afc-1"])["task"]["title"], "t");
}

#[test]
fn an_expression_of_any_depth_is_read_or_refused() {
    let place = Place::bound();
    let nested = "(".repeat(60_000) + "1" + &")".repeat(60_000);
    for expression in [nested, "-1".repeat(30_000), "if 1 then ".repeat(10_000), "[".repeat(60_000)] {
        let before = events(&place);
        let expression = format!("--jq={expression}");
        let ran = place.run("ada", &["task", "create", "--title", "t", &expression]);
        assert!(ran.code == 0 || (ran.code == 1 && ran.err.contains("nothing was asked for")), "{}", ran.err);
        assert_eq!(events(&place) != before, ran.code == 0, "{}", ran.err);
    }
}

#[test]
fn an_evaluation_ends_with_the_command() {
    let place = Place::bound();
    let endless = ["ready", "--jq", "1, last(repeat(1))"];
    let mut command = place.command("ada", &endless).stderr(Stdio::null()).spawn().expect("runs");
    let mut lines = BufReader::new(command.stdout.take().expect("piped")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "1");
    let below = tenure_client::processes::below(command.id());
    let evaluator = below.iter().find(|process| process.parent == command.id()).expect("it evaluates").pid;
    command.kill().expect("our child");
    command.wait().expect("our child");
    until("the evaluation is gone", || tenure_client::processes::started(evaluator).is_none());
}
