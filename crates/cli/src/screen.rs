//! The one place that prints: data to standard output, talk to standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tenure_client::failure::Failure;
use tenure_engine::backup::Progress;

use crate::render::plain;
use crate::stop::Stop;

/// Begins the present line of a terminal anew.
const ANEW: &str = "\r\x1b[K";

/// How a command answers.
#[derive(Debug, Clone)]
pub struct Screen {
    /// As JSON: with these fields of its rows, or with all of them when none are named.
    pub json: Option<Vec<String>>,
    /// Without remarks.
    pub quiet: bool,
    /// Whether data could not be written.
    lost: Arc<AtomicBool>,
    /// What stands on the line that passes.
    passing: Arc<Mutex<String>>,
}

impl Screen {
    /// A command's answers: as JSON or for a person, with remarks or without.
    pub fn new(json: Option<Vec<String>>, quiet: bool) -> Self {
        Self { json, quiet, lost: Arc::default(), passing: Arc::default() }
    }

    /// Prints data, and says whether somebody still takes it. A reader that has gone away is no error; a disk that is
    /// full is one.
    pub fn data(&self, text: &str) -> bool {
        let mut out = std::io::stdout().lock();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let written = write!(out, "{text}{end}").and_then(|()| out.flush());
        if written.as_ref().is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
            self.lost.store(true, Ordering::Relaxed);
        }
        written.is_ok()
    }

    /// Prints JSON that ends its own lines, and says whether somebody still takes it. On a terminal it is made harmless
    /// like all JSON.
    pub fn lines(&self, json: &[u8]) -> bool {
        let mut out = std::io::stdout().lock();
        let written = match std::str::from_utf8(json) {
            Ok(text) if out.is_terminal() => out.write_all(plain::json(text).as_bytes()),
            Ok(_) | Err(_) => out.write_all(json),
        };
        if written.as_ref().is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
            self.lost.store(true, Ordering::Relaxed);
        }
        written.is_ok()
    }

    /// Prints JSON as it came. On a terminal, characters that could move the cursor are written as escapes, which
    /// mean the same to every reader of JSON.
    pub fn json(&self, json: &str) -> bool {
        if std::io::stdout().is_terminal() { self.data(&plain::json(json)) } else { self.data(json) }
    }

    /// Says something to the person or agent, unless they asked for quiet.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            self.talk(&plain::line(text));
        }
    }

    /// Says what goes on, on a line that the next words replace. Only a person at a terminal sees it.
    pub fn passing(&self, text: &str) {
        if self.quiet || self.json.is_some() || !std::io::stderr().is_terminal() {
            return;
        }
        let mut shown = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown != text {
            write!(std::io::stderr().lock(), "{ANEW}{text}").ok();
            text.clone_into(&mut shown);
        }
    }

    /// The same for work on a backup.
    pub fn progress(&self, progress: Progress) {
        if let Some(text) = told(progress) {
            self.passing(&text);
        }
    }

    /// Takes the line that passes away.
    pub fn passed(&self) {
        let mut shown = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::take(&mut *shown).is_empty() {
            write!(std::io::stderr().lock(), "{ANEW}").ok();
        }
    }

    /// Says something that must be heard.
    pub fn talk(&self, text: &str) {
        self.passed();
        let mut out = std::io::stderr().lock();
        writeln!(out, "{text}").ok();
    }

    /// Tells a bad end, and gives the exit code.
    pub fn end(&self, outcome: Result<(), Stop>) -> ExitCode {
        match outcome {
            Ok(()) if self.lost.load(Ordering::Relaxed) => self.failed(&Failure::cannot_tell(
                "the answer could not be written to standard output",
                "look at where it goes (a full disk, for example), and repeat the command",
            )),
            Ok(()) => ExitCode::SUCCESS,
            Err(Stop::CheckFailed) => ExitCode::from(10),
            Err(Stop::Failure(failure)) => self.failed(&failure),
        }
    }

    fn failed(&self, failure: &Failure) -> ExitCode {
        let problem = failure.problem();
        self.talk(&format!("error: {} ({})", plain::line(&problem.detail), problem.code));
        for step in &problem.next_actions {
            self.talk(&format!("next:  {}", plain::line(step)));
        }
        if self.json.is_some() {
            self.json(
                &serde_json::to_string(&problem).expect("a problem is plain data and always serialises"),
            );
        }
        ExitCode::from(problem.exit_code)
    }
}

/// How far work on a backup is, in whole MiB so that a line is written seldom.
fn told(progress: Progress) -> Option<String> {
    let of = |done: u64, all: u64| format!("{} of {} MiB", done >> 20, all >> 20);
    match progress {
        Progress::Compared { done, all } => {
            Some(format!("comparing the backup with its manifest: {} …", of(done, all)))
        }
        Progress::Walking => Some("checking its pages and its record …".to_owned()),
        Progress::Copied { done, all } => Some(format!("copying the backup: {} …", of(done, all))),
        Progress::Reached(_) => None,
    }
}
