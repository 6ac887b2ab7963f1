//! What a person at a terminal gets: a width, colour, a pager. The terminal is a real one.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::place::{PROGRAM, Place};

/// What a command shows on a terminal of this size, line by line, and its exit code.
pub fn shown(place: &Place, agent: &str, words: &[&str], variables: &[(&str, &str)]) -> (String, i32) {
    typed(place, agent, words, variables, "")
}

/// The same with these keys pressed.
fn typed(
    place: &Place,
    agent: &str,
    words: &[&str],
    variables: &[(&str, &str)],
    keys: &str,
) -> (String, i32) {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let errors = place.root.path().join("errors");
    let line = format!("stty rows 24 cols 80; {PROGRAM} {} 2>{}", quoted.join(" "), errors.display());
    let mut command = Command::new("script");
    command
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env_clear()
        .current_dir(place.checkout());
    command.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").env("HOME", place.root.path());
    command.env("TENURE_STATE_DIR", place.state()).env("TENURE_SESSION", agent).env("TERM", "dumb");
    command
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("script is there");
    child.stdin.take().expect("piped").write_all(keys.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("ends");
    let text = String::from_utf8(output.stdout).expect("text").replace("\r\n", "\n");
    let errors = std::fs::read_to_string(errors).expect("its errors");
    (text + &errors, output.status.code().unwrap_or(-1))
}

const XTERM: (&str, &str) = ("TERM", "xterm");
/// A pager that says that it was there.
const PAGER: (&str, &str) = ("PAGER", "echo paged; cat");

fn tall() -> Place {
    let place = Place::bound();
    for number in 0..30 {
        place.task(&format!("number {number}"), &[]);
    }
    place
}

const LIST: [&str; 4] = ["task", "list", "--limit", "30"];

#[test]
fn what_is_taller_than_the_terminal_goes_through_the_pager() {
    let place = tall();
    let paged = |words: &[&str], variables: &[(&str, &str)]| {
        let (text, code) = shown(&place, "ada", words, variables);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("PRIORITY") || text.contains("{"), "the answer is there: {text}");
        text.starts_with("paged")
    };
    assert!(paged(&LIST, &[XTERM, PAGER]));
    assert!(paged(&LIST, &[XTERM, ("PAGER", "cat"), ("TENURE_PAGER", "echo paged; cat")]));
    assert!(!paged(&["task", "list", "--limit", "20"], &[XTERM, PAGER]), "it fits");
    for (variables, why) in [
        (&[XTERM, ("PAGER", "")][..], "an empty pager is none"),
        (&[XTERM, ("PAGER", "cat")], "cat is none"),
        (&[XTERM, ("PAGER", "no-such-program-anywhere")], "a pager that is not there loses nothing"),
        (&[("TERM", "dumb"), PAGER], "a dumb terminal"),
        (&[XTERM, PAGER, ("CI", "true")], "continuous integration"),
        (&[XTERM, PAGER, ("CLAUDE_CODE_SESSION_ID", "0b1c2d3e")], "an agent's harness"),
    ] {
        assert!(!paged(&LIST, variables), "{why}");
    }
    assert!(!paged(&[&LIST[..], &["--no-pager"]].concat(), &[XTERM, PAGER]));
    assert!(!paged(&[&LIST[..], &["--json"]].concat(), &[XTERM, PAGER]));
}

#[test]
fn a_pager_that_is_left_early_is_no_error_and_an_exit_code_stays() {
    let place = tall();
    let (text, code) = shown(&place, "ada", &LIST, &[XTERM, ("PAGER", "head -n 1")]);
    assert_eq!((text.lines().count(), code), (1, 0), "{text}");
    let (text, code) = shown(&place, "ada", &LIST, &[XTERM, ("PAGER", "exit 3")]);
    assert_eq!((text.as_str(), code), ("", 0), "the answer was given");
    let (_, code) = shown(&place, "ada", &LIST, &[XTERM, ("PAGER", "kill -INT $$")]);
    assert_eq!(code, 130, "an interrupt stays one");
    let (_, code) = shown(&place, "ada", &["show", "afc-99"], &[XTERM, PAGER]);
    assert_eq!(code, 7);
}

#[test]
fn less_is_the_pager_when_nobody_says_so() {
    let place = tall();
    let (text, code) = typed(&place, "ada", &LIST, &[XTERM], "q");
    assert_eq!(code, 0);
    assert!(
        text.contains("afc-20") && !text.contains("afc-30"),
        "a screen of it, until a key was pressed: {text:?}"
    );
}

#[test]
fn colour_is_for_terminals_and_can_be_chosen() {
    let place = Place::bound();
    place.task("one", &[]);
    let coloured = |words: &[&str], variables: &[(&str, &str)]| {
        let (text, _) = shown(&place, "ada", words, variables);
        assert!(text.contains("TASK"), "{text}");
        text.contains("\u{1b}[1m")
    };
    assert!(coloured(&["ready"], &[XTERM]));
    assert!(!coloured(&["ready"], &[("TERM", "dumb")]));
    assert!(!coloured(&["ready"], &[XTERM, ("NO_COLOR", "1")]));
    assert!(!coloured(&["ready"], &[XTERM, ("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
    assert!(coloured(&["ready", "--color", "always"], &[XTERM, ("NO_COLOR", "1")]));
    assert!(!coloured(&["ready", "--color=never"], &[XTERM, ("CLICOLOR_FORCE", "1")]));
    let mut place = place;
    let piped = |place: &Place| place.ok("ada", &["ready"]).out.contains('\u{1b}');
    assert!(!piped(&place));
    place.variables.push(("CLICOLOR_FORCE".to_owned(), "1".to_owned()));
    assert!(piped(&place));
    place.variables[0] = ("FORCE_COLOR".to_owned(), "1".to_owned());
    assert!(!piped(&place), "what agents inherit from their harness colours nothing that they read");
}

#[test]
fn tables_are_as_wide_as_the_terminal_and_columns_overrides_it() {
    let place = Place::bound();
    place.task(&"a long title ".repeat(20), &[]);
    let widest = |variables: &[(&str, &str)]| {
        let (text, _) = shown(&place, "ada", &["ready"], variables);
        text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
    };
    assert_eq!(widest(&[]), 80);
    assert_eq!(widest(&[("COLUMNS", "100")]), 100);
    assert_eq!(widest(&[("COLUMNS", "40")]), 40);
    assert_eq!(widest(&[("COLUMNS", "none")]), 80);
    for words in [&["help", "exit-codes"][..], &["help", "--all"], &["help", "sessions"]] {
        let (text, _) = shown(&place, "ada", words, &[("COLUMNS", "40")]);
        let wide = text.lines().find(|line| line.chars().count() > 40 && line.trim().contains(' '));
        assert_eq!(wide, None, "{words:?}");
    }
}
