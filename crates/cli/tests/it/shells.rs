//! Completions as real shells ask for them, and pages as man reads them.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::place::{PROGRAM, Place, signal};

/// Runs a shell where the program under test is found by its name.
pub fn shell(place: &Place, words: &[&str]) -> (Vec<String>, String) {
    let own = Path::new(PROGRAM).parent().expect("a folder");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env_clear().current_dir(place.checkout());
    command.env("PATH", format!("{}:/usr/bin:/bin", own.display())).env("HOME", place.root.path());
    command.env("TENURE_STATE_DIR", place.state());
    let output = command.output().expect("the shell is there");
    let lines = String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect();
    (lines, String::from_utf8(output.stderr).expect("text"))
}

/// What bash offers for the last of these words.
pub fn bash(place: &Place, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let script = format!(
        "eval \"$(tenure completion bash)\"\n\
         COMP_WORDS=({}) COMP_CWORD={last} COMP_TYPE=9\n\
         function=$(complete -p tenure | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
         \"$function\" tenure {} {}\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        quoted[last],
        quoted[last - 1],
    );
    let (lines, errors) = shell(place, &["bash", "--norc", "--noprofile", "-c", &script]);
    assert_eq!(errors, "", "{words:?}");
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

/// What fish offers, with what it shows beside.
fn fish(place: &Place, line: &str) -> Vec<String> {
    let script = format!("tenure completion fish | source; complete -C '{line}'");
    let (lines, errors) = shell(place, &["fish", "--no-config", "-c", &script]);
    assert_eq!(errors, "", "{line}");
    lines
}

#[test]
fn a_shell_completes_commands_options_and_the_names_that_the_fleet_has() {
    let place = Place::bound();
    place.task("Parse the config", &[]);
    place.task("evil \u{1b}[2J\u{202e}", &["--planned"]);
    let done = place.task("done", &[]);
    place.ok("ada", &["claim", &done]);
    place.ok("ada", &["close", &done]);
    assert_eq!(bash(&place, &["tenure", "hea"]), ["heartbeat"]);
    assert_eq!(bash(&place, &["tenure", "task", "cre"]), ["create"]);
    assert_eq!(bash(&place, &["tenure", "task", "create", "--pro"]), ["--project"]);
    assert_eq!(bash(&place, &["tenure", "ready", "--project", ""]), ["afc"]);
    assert_eq!(
        bash(&place, &["tenure", "claim", "a"]),
        ["afc-1", "afc-2"],
        "what is finished is not offered"
    );
    assert_eq!(bash(&place, &["tenure", "dependency", "add", "afc-1", "a"]), ["afc-1", "afc-2"]);
    assert_eq!(bash(&place, &["tenure", "help", "exi"]), ["exit-codes"]);
    assert_eq!(bash(&place, &["tenure", "call", "task.sh"]), ["task.show"]);
    assert_eq!(bash(&place, &["tenure", "--session", ""]), ["ada"]);
    place.ok("ada", &["task", "edit", "afc-1", "--revision", "1", "--label", "phase-2", "--label", "parser"]);
    for words in [&["commits"][..], &["task", "list"], &["task", "create"], &["task", "edit", "afc-1"]] {
        let typed = [&["tenure"], words, &["--label", "p"]].concat();
        assert_eq!(bash(&place, &typed), ["parser", "phase-2"], "{words:?}");
    }
    assert_eq!(bash(&place, &["tenure", "task", "list", "-l", "phase-"]), ["phase-2"]);
    let handle =
        place.json("ada", &["session", "show"])["session"]["handle"].as_str().expect("one").to_owned();
    assert_eq!(bash(&place, &["tenure", "session", "show", &handle[..2]]), [handle]);
    let shown = fish(&place, "tenure show a");
    assert_eq!(shown, ["afc-1\tParse the config", "afc-2\tevil \\x1b[2J\\u{202e}"]);
}

#[test]
fn no_name_from_the_store_or_the_disk_is_run_by_a_shell_that_completes_it() {
    let place = Place::bound();
    let labels = ["$(touch ran)", "`touch ran`", "x;touch ran", "two words", "~", "*", "-rf", "fine"];
    let marked: Vec<String> = labels.iter().map(|label| format!("--label={label}")).collect();
    let marked: Vec<&str> = marked.iter().map(String::as_str).collect();
    place.task("marked", &marked);
    assert_eq!(bash(&place, &["tenure", "task", "list", "--label", ""]), ["fine"]);
    assert_eq!(fish(&place, "tenure task list --label "), ["fine\t1 unfinished task"]);
    std::fs::create_dir(place.checkout().join("files")).expect("made");
    for name in ["$(touch ran)", "good.json", "a;touch ran"] {
        std::fs::write(place.checkout().join("files").join(name), "").expect("written");
    }
    assert_eq!(bash(&place, &["tenure", "import", "beads", "files/"]), ["files/good.json"]);
}

#[test]
fn only_so_many_names_are_offered_and_a_beginning_finds_any() {
    let place = Place::bound();
    let records: Vec<String> = (0..150)
        .map(|n| format!(r#"{{"id":"x-{n}","title":"t","status":"open","priority":1,"issue_type":"task"}}"#))
        .collect();
    std::fs::write(place.checkout().join("export"), records.join("\n")).expect("written");
    place.ok("ada", &["import", "beads", "export", "--apply"]);
    assert_eq!(bash(&place, &["tenure", "show", "afc-"]).len(), 100);
    assert_eq!(bash(&place, &["tenure", "show", "afc-149"]), ["afc-149"]);
}

#[test]
fn a_completion_starts_no_daemon_and_says_nothing_where_none_answers() {
    let place = Place::new();
    assert!(bash(&place, &["tenure", "show", ""]).iter().all(|word| word.starts_with("--")));
    assert_eq!(bash(&place, &["tenure", "ready", "--project", ""]), [""; 0]);
    assert!(!place.state().exists(), "nothing was started and nothing was kept");
    place.ok("ada", &["init", "afc"]);
    place.task("first", &[]);
    let daemon = place.daemon();
    signal(daemon, Signal::STOP);
    let offered = bash(&place, &["tenure", "show", "afc"]);
    signal(daemon, Signal::CONT);
    assert_eq!(offered, [""; 0], "a daemon that stands still is given up");
    assert_eq!(bash(&place, &["tenure", "show", "afc"]), ["afc-1"]);
}

#[test]
fn every_shell_has_its_script() {
    let place = Place::new();
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.ok("", &["completion", name]);
        assert!(ran.out.contains("TENURE_COMPLETE") && ran.err.is_empty(), "{name}: {}{}", ran.out, ran.err);
    }
    assert_eq!(place.run("", &["completion", "tcsh"]).code, 1);
}

#[test]
fn the_pages_for_man_are_whole_and_without_a_warning() {
    let place = Place::new();
    let commands = place.json("", &["help", "--all"]);
    let commands: Vec<&str> = commands["commands"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["command"].as_str())
        .collect();
    let written = place.json("", &["man", "--output", "pages"]);
    let pages: Vec<&str> =
        written["pages"].as_array().expect("names").iter().filter_map(|page| page.as_str()).collect();
    for command in commands {
        let page = format!("tenure-{}.1", command.replace(' ', "-"));
        assert!(pages.contains(&page.as_str()), "{page}");
    }
    for page in pages {
        let file = place.checkout().join("pages").join(page);
        let read =
            Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&file).output().expect("groff");
        assert_eq!(String::from_utf8_lossy(&read.stderr), "", "{page}");
    }
    let one = place.ok("", &["man", "task", "create"]);
    assert!(one.out.contains(".TH TENURE-TASK-CREATE 1"), "{}", one.out);
    assert_eq!(place.run("", &["man", "task", "craete"]).code, 1);
    assert!(!place.state().exists(), "nothing was started for it");
}
