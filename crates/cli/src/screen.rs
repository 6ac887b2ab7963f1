//! The one place that prints: data to standard output, talk to standard error.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

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
}

impl Screen {
    /// Prints data. A reader that has gone away is no error.
    pub fn data(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        write!(out, "{text}{end}").and_then(|()| out.flush()).ok();
    }

    /// Prints JSON as it came. On a terminal, characters that could move the cursor are written as escapes, which
    /// mean the same to every reader of JSON.
    pub fn json(&self, json: &str) {
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
