//! The pictures themselves, and what in them differs from run to run.

use std::fmt::Write;

use serde_json::Value;

use super::cases::CASES;
use super::{Case, Effect, fleet};
use crate::doctoring::hide_the_machine;
use crate::place::Place;
use crate::terminal::shown;

/// In how many tests the commands are pictured, each of which is a process of its own.
const SHARES: usize = 4;

/// The name of a case's file.
pub fn name(case: &Case) -> String {
    case.command.replace([' ', '-'], "_")
}

#[test]
fn pictures_of_questions() {
    let (full, empty) = (with_files(fleet::hostile()), with_files(fleet::empty()));
    for case in CASES.iter().filter(|case| case.effect == Effect::Asks) {
        let narrow = at_terminal(&full, case, "40");
        let wide = at_terminal(&full, case, "120");
        keep(case, &narrow, &wide, &as_json(&full, case), &at_terminal(&empty, case, "120"));
    }
}

fn pictures_of_changes(share: usize) {
    let (full, empty) = (with_files(fleet::hostile()), with_files(fleet::empty()));
    full.stop();
    empty.stop();
    let changes = CASES.iter().filter(|case| case.effect != Effect::Asks);
    for (_, case) in changes.enumerate().filter(|(number, _)| number % SHARES == share) {
        let narrow = at_terminal(&fleet::copy(&full, case), case, "40");
        let wide = at_terminal(&fleet::copy(&full, case), case, "120");
        let json = as_json(&fleet::copy(&full, case), case);
        keep(case, &narrow, &wide, &json, &at_terminal(&fleet::copy(&empty, case), case, "120"));
    }
}

#[test]
fn pictures_of_changes_0() {
    pictures_of_changes(0);
}

#[test]
fn pictures_of_changes_1() {
    pictures_of_changes(1);
}

#[test]
fn pictures_of_changes_2() {
    pictures_of_changes(2);
}

#[test]
fn pictures_of_changes_3() {
    pictures_of_changes(3);
}

/// The place with the files that some commands read.
fn with_files(place: Place) -> Place {
    let line =
        r#"{"id":"bd-7","title":"evil \u001b[2J\u202e","status":"open","priority":1,"issue_type":"task"}"#;
    std::fs::write(place.checkout().join("export"), line).expect("written");
    place.ok("ada", &["backup", "create", "copy"]);
    place.ok("ada", &["export", "jsonl", "--output", "lines"]);
    place
}

fn at_terminal(place: &Place, case: &Case, columns: &str) -> String {
    let (text, code) = shown(place, case.agent, &case.line(&[]), &[("COLUMNS", columns)]);
    check_harmless(case, &text);
    let end = if code == 0 { String::new() } else { format!("exit {code}\n") };
    steady(place, &text) + &end
}

fn as_json(place: &Place, case: &Case) -> String {
    let ran = place.run(case.agent, &case.line(&["--json"]));
    let mut text = String::new();
    // `run` leaves standard output to its command.
    let told = if case.command == "run" { &ran.err } else { &ran.out };
    for line in told.lines().filter(|line| line.starts_with('{')) {
        let mut value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}: {line}", case.command));
        level(&mut value);
        let pretty = serde_json::to_string_pretty(&value).expect("plain data");
        writeln!(text, "{}", readable(&pretty)).ok();
    }
    let end = if ran.code == 0 { String::new() } else { format!("exit {}\n", ran.code) };
    steady(place, &text) + &end
}

/// What a terminal must never be sent, in this test's own words.
fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
        || ('\u{e0000}'..='\u{e0fff}').contains(&c)
        || c == '\u{200b}'
}

/// JSON for whoever reads the picture: a program gets these characters as they are.
fn readable(json: &str) -> String {
    json.chars().flat_map(|c| if is_harmful(c) { c.escape_unicode().collect() } else { vec![c] }).collect()
}

fn check_harmless(case: &Case, text: &str) {
    assert_eq!(text.chars().find(|c| is_harmful(*c)), None, "{}: {text:?}", case.command);
}

/// Levels what differs from run to run: moments and durations.
fn level(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let differs =
                    name.ends_with("_at") || name.ends_with("_ms") || DIFFERS.contains(&name.as_str());
                match field {
                    Value::Number(_) if differs => *field = Value::from(0),
                    Value::String(_) if name == "workstation" => *field = Value::from("HERE"),
                    field => level(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(level),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const DIFFERS: [&str; 9] =
    ["at", "until", "wall_time", "fleet_time", "deadline", "since", "bytes", "pid", "taken"];

fn steady(place: &Place, text: &str) -> String {
    text.replace(place.root.path().to_str().expect("text"), "ROOT")
}

fn keep(case: &Case, narrow: &str, wide: &str, json: &str, empty: &str) {
    let line = case.line(&[]).join(" ");
    let seen = format!(
        "{agent}$ tenure {line}\n\n--- 40 columns\n{narrow}\n--- 120 columns\n{wide}\n--- as JSON\n{json}\n--- in an empty fleet\n{empty}",
        agent = case.agent
    );
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\dZ", "WHEN");
    settings.add_filter(r"\b(9m 5\ds|10m)\b", "10m");
    settings.add_filter(r"\b(29m 5\ds|30m)\b", "30m");
    settings.add_filter(r"[a-z]{3,}(-[a-z]{3,}){4}\b( *)", "HANDLE");
    settings.add_filter(r"HANDLE +HOLDS", "HANDLE HOLDS");
    settings.add_filter(r"HANDLE(afc-)", "HANDLE $1");
    settings.add_filter(r"\b[0-9a-f]{64}\b", "HASH");
    settings.add_filter(r"\b[0-9a-f]{32}\b", "ID");
    settings.add_filter(r"\b1[6-9]\d{11}\b", "0");
    // What goes on after a restore in the dark follows the clock.
    settings.add_filter(r"\b1\d{9,}\b", "FAR");
    settings.add_filter(r"\d+ bytes", "N bytes");
    settings.add_filter(r#""version": "[0-9.]+""#, r#""version": "V""#);
    settings.add_filter(r"workstation: +\S+", "workstation: HERE");
    settings.add_filter(r"\d+, all private", "N, all private");
    hide_the_machine(&mut settings);
    settings.bind(|| insta::assert_snapshot!(name(case), seen));
}
