//! How each command is typed in the fleet of the pictures (`fleet.rs` says who is who there).

use super::Case;
use super::Effect::{self, Asks, Changes, Offline};

/// What has no pictures here, and why.
pub const TOLD_ELSEWHERE: [(&str, &str); 2] = [
    ("serve", "it is the daemon: it answers no command, and the tests of daemons look at its one line"),
    ("demo", "it plays a race whose winner differs; the process tests play it"),
];

const fn case(
    command: &'static str,
    agent: &'static str,
    words: &'static [&'static str],
    effect: Effect,
) -> Case {
    Case { command, agent, words, effect }
}

pub const CASES: [Case; 60] = [
    case("ready", "ada", &[], Asks),
    case("claim", "erin", &["afc-12"], Changes),
    case("heartbeat", "ada", &[], Changes),
    case("note", "ada", &["the reader works"], Changes),
    case("checkpoint", "ada", &["tests are left", "--branch", "config"], Changes),
    case("handoff", "ada", &["bob knows the rest", "--to", "bob"], Changes),
    case("release", "ada", &["--note", "no time"], Changes),
    case("close", "ada", &["--note", "done", "--commit", "1a2b3c4"], Changes),
    case("show", "ada", &["afc-2"], Asks),
    case("explain", "ada", &["afc-3"], Asks),
    case("next", "bob", &[], Asks),
    case("wait", "ada", &["afc-10"], Asks),
    case("run", "erin", &["afc-13", "--", "true"], Changes),
    case("dispose", "dave", &["--disposition", "resume"], Changes),
    case(
        "reconcile",
        "ada",
        &["--digest", "0000000000000000000000000000000000000000000000000000000000000000"],
        Changes,
    ),
    case("attempts", "ada", &["afc-11"], Asks),
    case("history", "ada", &["afc-4"], Asks),
    case(
        "task create",
        "ada",
        &["--title", "A new one", "--blocked-by", "afc-3", "--label", "core"],
        Changes,
    ),
    case("task edit", "ada", &["afc-13", "--revision", "1", "--title", "Another title"], Changes),
    case("task list", "ada", &[], Asks),
    case("task show", "ada", &["afc-10"], Asks),
    case("task find", "ada", &["bd-1"], Asks),
    case("task open", "ada", &["afc-9"], Changes),
    case("task defer", "ada", &["afc-13", "--until", "2099-01-01", "--reason", "the next century"], Changes),
    case("task resume", "ada", &["afc-6"], Changes),
    case("task archive", "ada", &["afc-10"], Changes),
    case(
        "task cancel",
        "ada",
        &["afc-13", "--revision", "1", "--reason", "not wanted", "--dependents", "release"],
        Changes,
    ),
    case("task reopen", "ada", &["afc-10", "--reason", "it broke"], Changes),
    case("task force-release", "ada", &["afc-4", "--reason", "gone"], Changes),
    case("dependency add", "ada", &["afc-13", "afc-3"], Changes),
    case("dependency remove", "ada", &["afc-3", "afc-2"], Changes),
    case("dependency list", "ada", &["afc-3"], Asks),
    case("blocker raise", "ada", &["afc-13", "--kind", "permission", "--reason", "no push rights"], Changes),
    case("blocker resolve", "ada", &["afc-7", "1", "--reason", "granted"], Changes),
    case("project create", "ada", &["more", "--name", "More work"], Changes),
    case("project list", "ada", &[], Asks),
    case("project show", "ada", &["afc"], Asks),
    case("project edit", "ada", &["afc", "--revision", "1", "--attempts-max", "9"], Changes),
    case("project bind", "ada", &["afc", "--folder", "docs"], Changes),
    case("project unbind", "ada", &["afc"], Changes),
    case("session open", "fay", &["--capability", "docker"], Changes),
    case("session show", "ada", &[], Asks),
    case("session list", "ada", &[], Asks),
    case("session close", "ada", &[], Changes),
    case("events", "ada", &["--newest"], Asks),
    case("digest", "ada", &["--since", "2026-01-01"], Asks),
    case("stats", "ada", &[], Asks),
    case("audit verify", "ada", &[], Asks),
    case("backup create", "ada", &["copy", "--replace"], Changes),
    case("backup verify", "ada", &["copy"], Asks),
    case("restore", "ada", &["copy"], Offline),
    case("import beads", "ada", &["export"], Asks),
    case("init", "ada", &[], Asks),
    case("doctor", "ada", &["--quick"], Asks),
    case("config show", "ada", &["--origin"], Asks),
    case("call", "ada", &["task.find", r#"{"project":"afc","alias":"bd-1"}"#], Asks),
    case("completion", "ada", &["fish"], Asks),
    case("man", "ada", &["heartbeat"], Asks),
    case("version", "ada", &[], Asks),
    case("help", "ada", &["heartbeat"], Asks),
];
