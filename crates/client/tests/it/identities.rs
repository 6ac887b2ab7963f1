//! Who calls: a table of surroundings and the caller that follows from them.

use std::collections::BTreeMap;

use tenure_client::identity::{EXPORT, Identity, Surroundings, identify};
use tenure_client::processes::Process;
use tenure_core::model::refusal::{Code, Refusal};

/// A process table written as a chain from this process upwards: `name words…`, with one terminal for all.
fn chain(terminal: u64, leader: u32, names: &[&str]) -> BTreeMap<u32, Process> {
    let pid = |index: usize| 100 - u32::try_from(index).expect("small");
    names
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let is_whole = line.starts_with("tmux: ");
            let first = if is_whole { *line } else { &words[0] };
            let name = first.rsplit('/').next().expect("a word").to_owned();
            let process = Process {
                pid: pid(index),
                parent: if index + 1 < names.len() { pid(index + 1) } else { 0 },
                leader,
                terminal,
                started: 5000 - index as u64,
                name,
                words,
                ..Process::default()
            };
            (process.pid, process)
        })
        .collect()
}

fn who(
    explicit: Option<&str>,
    variables: &[(&str, &str)],
    table: &BTreeMap<u32, Process>,
) -> Result<Identity, Refusal> {
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    identify(&Surroundings {
        explicit,
        variable: &variable,
        process: &|pid| table.get(&pid).cloned(),
        pid: 100,
    })
}

fn name(explicit: Option<&str>, variables: &[(&str, &str)], table: &BTreeMap<u32, Process>) -> String {
    match who(explicit, variables, table) {
        Ok(identity) => identity.name.to_string(),
        Err(refusal) => refusal.code.to_string(),
    }
}

const CLAUDE: (&str, &str) = ("CLAUDE_CODE_SESSION_ID", "0f8a4c1e-7d21-4b3e-9c55-aabbccddeeff");
const CODEX: (&str, &str) = ("CODEX_THREAD_ID", "01957f3e-1c00-7abc-8def-001122334455");

#[test]
fn the_surest_sign_wins() {
    let agent = chain(0, 98, &["tenure", "bash -c x", "claude", "bash", "tmux: server", "systemd"]);
    assert_eq!(name(Some("alice"), &[("TENURE_SESSION", "bob"), CLAUDE], &agent), "alice");
    assert_eq!(name(None, &[("TENURE_SESSION", "bob"), CLAUDE], &agent), "bob");
    assert_eq!(name(None, &[("TENURE_SESSION", ""), CLAUDE], &agent), "claude-aabbccddeeff");
    assert_eq!(name(None, &[CODEX], &agent), "codex-001122334455");
    assert_eq!(name(None, &[("CODEX_SESSION_ID", "root"), CODEX], &agent), "codex-001122334455");
    assert_eq!(name(None, &[], &agent), "claude-p98.4998");
    assert_eq!(name(Some("no such name"), &[], &agent), "invalid_input");
    assert_eq!(name(None, &[("CLAUDE_CODE_SESSION_ID", "a b")], &agent), "session_required");
}

#[test]
fn a_harness_variable_carries_its_conversation() {
    let nobody = chain(0, 99, &["tenure", "bash"]);
    let identity = who(None, &[CODEX], &nobody).expect("known");
    assert_eq!(identity.conversation.expect("told").as_str(), CODEX.1);
    assert_eq!(identity.harness.as_deref(), Some("codex"));
    // Ids that begin with the same moment are still two sessions.
    let twin = ("CODEX_THREAD_ID", "01957f3e-1c00-7abc-8def-001122334456");
    assert_ne!(name(None, &[CODEX], &nobody), name(None, &[twin], &nobody));
}

#[test]
fn two_shells_of_one_run_are_one_session_and_two_runs_are_two() {
    let first = chain(0, 98, &["tenure", "bash -c a", "node /usr/bin/codex.js", "bash"]);
    let mut second = first.clone();
    second.insert(99, Process { started: 9999, words: vec!["sh".to_owned()], ..first[&99].clone() });
    assert_eq!(name(None, &[], &first), "codex-p98.4998");
    assert_eq!(name(None, &[], &second), "codex-p98.4998");
    second.insert(98, Process { started: 7000, ..first[&98].clone() });
    assert_eq!(name(None, &[], &second), "codex-p98.7000");
}

#[test]
fn of_nested_harnesses_the_nearer_one_calls() {
    let inner = chain(0, 98, &["tenure", "bash", "codex", "bash", "claude", "bash"]);
    assert_eq!(name(None, &[CLAUDE, CODEX], &inner), "codex-001122334455");
    let outer = chain(0, 98, &["tenure", "bash", "claude", "bash", "codex", "bash"]);
    assert_eq!(name(None, &[CLAUDE, CODEX], &outer), "claude-aabbccddeeff");
    let hidden = chain(0, 98, &["tenure", "bash", "wrapper"]);
    assert_eq!(name(None, &[CLAUDE, CODEX], &hidden), "session_required");
}

#[test]
fn a_terminal_is_its_shell_and_two_terminals_are_two() {
    let first = chain(34816, 99, &["tenure", "bash", "tmux: server", "systemd"]);
    let second = chain(34817, 99, &["tenure", "zsh -l", "tmux: server", "systemd"]);
    assert_eq!(name(None, &[], &first), "terminal-0-99.4999");
    assert_eq!(name(None, &[], &second), "terminal-1-99.4999");
    let through_make = chain(34816, 98, &["tenure", "make", "bash", "sshd"]);
    assert_eq!(name(None, &[], &through_make), "terminal-0-98.4998");
}

#[test]
fn what_many_share_is_never_guessed() {
    for table in [
        chain(0, 98, &["tenure", "bash -e script", "Runner.Worker", "Runner.Listener", "systemd"]),
        chain(0, 99, &["tenure", "bash", "tmux: server", "claude"]),
        chain(0, 100, &["tenure", "cron"]),
        chain(34816, 100, &["tenure", "sshd"]),
        chain(34816, 99, &["tenure", "bash -c tenure", "sshd"]),
        chain(34816, 99, &["tenure", "bash -lc tenure", "script"]),
        chain(0, 99, &["tenure", "node server.js", "bash"]),
        BTreeMap::new(),
    ] {
        let refusal = who(None, &[], &table).expect_err("nobody");
        assert_eq!(refusal.code, Code::SessionRequired);
        assert_eq!(refusal.next_actions, [EXPORT]);
    }
}
