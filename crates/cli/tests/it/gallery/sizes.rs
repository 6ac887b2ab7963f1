//! How long default answers are in a fleet of a thousand tasks with long texts: less than two kilobytes, because who
//! reads them pays for every word.

use std::fmt::Write;

use super::cases::CASES;
use super::{Case, Effect, fleet};
use crate::place::Place;

/// Most bytes of a default answer.
const BYTES_MAX: usize = 2048;

/// The answers that may be longer, and why.
const LONGER: [(&str, usize, &str); 5] = [
    ("man", 8192, "a page that was asked for"),
    ("help", 4096, "a page that was asked for"),
    ("digest", 4096, "an account in four parts; each has a task with its whole title"),
    ("show", 8192, "the task's whole text was asked for"),
    ("claim", 8192, "whoever takes a task needs its whole text and what was left"),
];

fn long() -> Place {
    let place = fleet::hostile();
    let title = "a long title that says more than anybody reads ".repeat(10);
    let lines: Vec<String> = (0..1000)
        .map(|n| {
            format!(
                r#"{{"id":"x-{n}","title":"{title}","description":"{title}","status":"open","priority":1,"issue_type":"task","labels":["one","two"]}}"#
            )
        })
        .collect();
    std::fs::write(place.checkout().join("many"), lines.join("\n")).expect("written");
    place.ok("ada", &["import", "beads", "many", "--apply"]);
    for n in 0..30 {
        let agent = format!("agent-{n}");
        place.ok(&agent, &["claim"]);
        place.ok(&agent, &["note", &title]);
        place.ok("ada", &["dependency", "add", "afc-3", &format!("afc-{}", 100 + n)]);
        place.ok("ada", &["project", "create", &format!("p{n}"), "--name", &title]);
        place.ok("bob", &["note", "afc-4", &title]);
    }
    let line = r#"{"id":"bd-7","title":"one","status":"open","priority":1,"issue_type":"task"}"#;
    std::fs::write(place.checkout().join("export"), line).expect("written");
    place.ok("ada", &["backup", "create", "copy"]);
    place.ok("ada", &["export", "jsonl", "--output", "lines"]);
    place
}

/// The answers of a case that are too long, with their sizes.
fn too_long(case: &Case, place: impl Fn() -> Option<Place>, shared: &Place, told: &mut String) {
    for (form, more) in [("human", &[][..]), ("JSON", &["--json"])] {
        let own = place();
        let ran = own.as_ref().unwrap_or(shared).run(case.agent, &case.line(more));
        let bytes = ran.out.len() + ran.err.len();
        let longer = LONGER.iter().find(|(command, ..)| *command == case.command);
        if bytes > longer.map_or(BYTES_MAX, |(_, bytes, _)| *bytes) {
            let beginning: String = ran.out.chars().take(200).collect();
            writeln!(told, "{} ({form}): {bytes} bytes: {beginning}", case.command).ok();
        }
    }
}

#[test]
fn default_answers_are_short_in_a_large_fleet() {
    let place = long();
    let mut told = String::new();
    for case in CASES.iter().filter(|case| case.effect == Effect::Asks) {
        too_long(case, || None, &place, &mut told);
    }
    place.stop();
    for case in CASES.iter().filter(|case| case.effect != Effect::Asks) {
        too_long(case, || Some(fleet::copy(&place, case)), &place, &mut told);
    }
    assert!(told.is_empty(), "longer than {BYTES_MAX} bytes:\n{told}");
}
