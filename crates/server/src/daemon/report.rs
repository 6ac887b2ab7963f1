//! What a daemon tells whoever started it: one line of JSON, and before it one now and then while there is reason to
//! wait.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use serde_json::json;

/// A daemon that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Whether it was there before.
    pub already: bool,
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Where it listens.
    pub socket: PathBuf,
    /// Where it listens on the network, as URLs.
    pub listening: Vec<String>,
}

/// Why a daemon could not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// What went wrong.
    pub error: String,
    /// What to do about it.
    pub next: String,
}

impl Failed {
    /// What went wrong and what to do about it.
    pub fn new(error: impl Into<String>, next: impl Into<String>) -> Self {
        Self { error: error.into(), next: next.into() }
    }
}

/// Tells the starter that a daemon answers.
pub(super) fn ready(running: &Running) {
    let mut line = json!({
        "ready": true,
        "already": running.already,
        "pid": running.pid,
        "version": running.version,
        "socket": running.socket.to_string_lossy(),
    });
    if !running.listening.is_empty() {
        line["listening"] = json!(running.listening);
    }
    say(&line);
}

/// Tells the starter that the store is being brought up to date, so that it goes on waiting.
pub(super) fn upgrading() {
    say(&json!({ "ready": false, "upgrading": true }));
}

/// Tells the starter why there is none.
pub(super) fn failed(failed: &Failed) {
    say(&json!({ "ready": false, "error": failed.error, "next": failed.next }));
}

/// Tells whoever sits at the terminal that nothing was started.
pub(super) fn there_before(running: &Running) {
    let pid = running.pid;
    let told = format!(
        "Process {pid} serves this folder already, so this one ends. To serve it from here, end that process first:\n\
         kill {pid}, and repeat the command at once, before another command starts a server by itself."
    );
    to_a_terminal(&told);
}

/// Tells whoever sits at the terminal how the first administrator is made.
pub(super) fn secret(secret: &str) {
    to_a_terminal(&format!(
        "This fleet has no administrator yet. To make the first one, run `tenure account bootstrap NAME`\n\
         in another terminal, and type there this one-time secret: {secret}"
    ));
}

/// Says something to a person, if there is one at the error output. Programs read the line on standard output.
fn to_a_terminal(text: &str) {
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() {
        // A terminal that is gone needs no word.
        let _ = writeln!(stderr, "{text}").and_then(|()| stderr.flush());
    }
}

/// A starter that has gone away needs no answer.
fn say(line: &serde_json::Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Ends the conversation: the starter, or whatever reads its pipe, sees the end of standard output. A detached
/// daemon keeps neither input nor error output of its starter.
pub(super) fn let_go(detached: bool) {
    let Ok(nothing) = std::fs::File::options().read(true).write(true).open("/dev/null") else {
        return;
    };
    let _ = rustix::stdio::dup2_stdout(&nothing);
    if detached {
        let _ = rustix::stdio::dup2_stdin(&nothing);
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
}
