//! The fleet of the pictures: a task in every state, and in every field that others can fill a text that moves the
//! cursor, hides, reorders, or is long.

use std::path::Path;

use super::{Case, Effect};
use crate::place::{Place, until};

/// Clears the screen, takes the title, and pretends to be a link.
const ESCAPES: &str =
    "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]8;;http://evil.example\u{7}click\u{1b}]8;;\u{7}\u{9b}31m";
/// Reorders and hides.
const MARKS: &str = "invoice\u{202e}fdp.exe \u{2066}\u{200b}\u{e0041}";
/// Wide, joined and combined: all of it is text.
const SCRIPTS: &str = "\u{5bb6}\u{65cf}\u{306e}\u{8a2d}\u{5b9a} \u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467} e\u{301} \u{1f1e9}\u{1f1ea}";
/// Breaks lines and columns.
const LINES: &str = "one\ntwo\tthree\r\nfour";

/// What goes into fields that are a line, and may not hold control characters.
fn one_line() -> String {
    format!("{SCRIPTS} {MARKS}")
}

/// A word without a place to break it.
fn word() -> String {
    "x".repeat(500)
}

/// The fleet, as a folder that can be copied. `ada` holds afc-5, `bob` afc-4, `dave` has taken over afc-11 from `cy`, who
/// left afc-12 as well; afc-6 is deferred, afc-7 blocked, afc-8 cancelled, afc-9 planned, afc-10 done, afc-13 plain.
pub fn hostile() -> Place {
    let place = Place::hurried(&["--lease-ms", "3000", "--lease-ms-min", "100"]);
    let (line, word) = (one_line(), word());
    let text = format!("{LINES}\n{line} {ESCAPES}");
    let create = |title: &str, more: &[&str]| {
        place.task(title, more);
    };
    create(&line, &["--kind", "objective"]);
    let details = [
        ["--description", &text],
        ["--criterion", &line],
        ["--label", &line],
        ["--spec", &line],
        ["--reference", &line],
        ["--alias", "bd-1"],
        ["--touches", &line],
        ["--resource", "tests/checks"],
        ["--source", &line],
        ["--source-revision", &line],
        ["--parent", "afc-1"],
    ];
    create(SCRIPTS, &details.concat());
    create(&word, &["--blocked-by", "afc-2", "--alias", &line]);
    create(ESCAPES, &[]);
    create("Work in hand", &[]);
    for title in ["Put off", "Blocked", "Cancelled"] {
        create(title, &[]);
    }
    create("Planned", &["--planned"]);
    create("Done", &[]);
    create("Taken over", &[]);
    create("Left behind", &[]);
    create("Plain", &["--priority", "3"]);
    create("Waits for plain", &["--blocked-by", "afc-13"]);
    let left = format!("half of it: {text}");
    for task in ["afc-11", "afc-12"] {
        place.ok("cy", &["claim", task, "--another"]);
        place.ok("cy", &["checkpoint", task, &left, "--branch", &line]);
    }
    until("it is on record that they expired", || {
        let newest = place.json("ada", &["events", "--newest", "--limit", "2"]);
        let newest = newest["events"].as_array().expect("events");
        newest.iter().all(|event| event["kind"] == "lease_expired")
    });
    place.stop();
    in_their_states(&place, &line, &text);
    place
}

/// What leases of the usual length are for.
fn in_their_states(place: &Place, line: &str, text: &str) {
    place.ok("dave", &["claim", "afc-11"]);
    place.ok("bob", &["claim", "afc-4"]);
    place.ok("bob", &["note", "afc-4", text]);
    place.ok(
        "bob",
        &["checkpoint", "afc-4", text, "--branch", line, "--commit", line, "--pull-request", line],
    );
    place.ok(
        "ada",
        &["task", "defer", "afc-6", "--until", "2099-01-01", "--reason", line, "--reopening", line],
    );
    place.ok(
        "ada",
        &["blocker", "raise", "afc-7", "--kind", "permission", "--reason", line, "--reopening", line],
    );
    place.ok("ada", &["task", "cancel", "afc-8", "--revision", "1", "--reason", text]);
    place.ok("ada", &["claim", "afc-10"]);
    let evidence = ["--branch", line, "--commit", line, "--merge-commit", line, "--pull-request", line];
    place.ok("ada", &[&["close", "afc-10", "--note", text, "--lesson", line], &evidence[..]].concat());
    place.ok("ada", &["claim", "afc-5"]);
    place.ok("ada", &["project", "create", "evil", "--name", line]);
}

/// A fleet in which nothing was done yet.
pub fn empty() -> Place {
    Place::bound()
}

/// Another place with the same store and the same files, for one command. The store's daemon must be gone.
pub fn copy(of: &Place, case: &Case) -> Place {
    let place = Place::new();
    copy_folder(&of.state(), &place.state());
    copy_folder(&of.checkout(), &place.checkout());
    if case.effect != Effect::Offline {
        place.ok("", &["stats"]);
    }
    place
}

fn copy_folder(from: &Path, to: &Path) {
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
    if !to.exists() {
        std::fs::DirBuilder::new().mode(0o700).create(to).expect("created");
    }
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        let to = to.join(entry.file_name());
        if kind.is_dir() {
            copy_folder(&entry.path(), &to);
        } else if !kind.is_socket() {
            std::fs::copy(entry.path(), to).expect("copied");
        }
    }
}
