//! The one place that prints: data to standard output, talk to standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_client::failure::Failure;

use crate::render::plain;
use crate::stop::Stop;

/// How a command answers.
#[derive(Debug, Clone)]
pub struct Screen {
    /// As JSON: with these fields of its rows, or with all of them when none are named.
    pub json: Option<Vec<String>>,
    /// Without remarks.
    pub quiet: bool,
    /// Whether data could not be written.
    lost: Arc<AtomicBool>,
}

impl Screen {
    /// A command's answers: as JSON or for a person, with remarks or without.
    pub fn new(json: Option<Vec<String>>, quiet: bool) -> Self {
        Self { json, quiet, lost: Arc::default() }
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

    /// Says something that must be heard.
    pub fn talk(&self, text: &str) {
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
