//! The one place that prints: data to standard output, talk to standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tenure_client::failure::Failure;
use tenure_core::model::limits::ECHO_CHARACTERS;
use tenure_core::model::refusal::{Code, Problem, Refusal};

use crate::jq::Filter;
use crate::pager;
use crate::render::plain;
use crate::stop::Stop;
use crate::terminal::{self, Style};

/// Most characters that are told of what went wrong.
const DETAIL_CHARACTERS: usize = 4 * ECHO_CHARACTERS;
/// Begins the present line of a terminal anew.
const ANEW: &str = "\r\x1b[K";

/// How a command answers.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    /// As JSON: with these fields of its rows, or with all of them when none are named.
    pub json: Option<Vec<String>>,
    /// Of JSON only what this makes of it.
    pub filter: Option<Filter>,
    /// Without remarks.
    pub quiet: bool,
    /// Long answers without a pager.
    pub unpaged: bool,
    /// Whether data could not be written.
    lost: Arc<AtomicBool>,
    /// Whether something was changed, so that it must not be asked for again.
    changed: Arc<AtomicBool>,
    /// Why nothing could be made of an answer.
    unfiltered: Arc<Mutex<Option<Stop>>>,
    /// What stands on the line that passes.
    passing: Arc<Mutex<String>>,
}

impl Screen {
    /// A command's answers as JSON, for its own refusal.
    pub fn of_json() -> Self {
        Self { json: Some(Vec::new()), ..Self::default() }
    }

    /// Takes note that what the command is to change is changed.
    pub fn changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
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

    /// Prints a whole answer for a person: through a pager where it is taller than the terminal.
    pub fn page(&self, text: &str) {
        if self.unpaged || !pager::shows(text) {
            self.data(text);
        }
    }

    /// Prints JSON as it came, or what `--jq` makes of it, and says whether somebody still takes it. On a terminal,
    /// characters that could move the cursor are written as escapes, which mean the same to every reader of JSON.
    pub fn json(&self, json: &str) -> bool {
        let on_terminal = std::io::stdout().is_terminal();
        match &self.filter {
            Some(filter) => self.filtered(filter.apply(json, on_terminal, &mut |result| self.data(result))),
            None if on_terminal => self.data(&plain::json(json)),
            None => self.data(json),
        }
    }

    /// The same beside the data: where standard output is another program's.
    pub fn talk_json(&self, json: &str) {
        let Some(filter) = &self.filter else { return self.talk(json) };
        let on_terminal = std::io::stderr().is_terminal();
        let take = &mut |result: &str| {
            self.talk(result.strip_suffix('\n').unwrap_or(result));
            true
        };
        self.filtered(filter.apply(json, on_terminal, take));
    }

    /// Keeps why an expression failed for the end of the command.
    fn filtered(&self, outcome: Result<bool, Stop>) -> bool {
        outcome.unwrap_or_else(|stop| {
            *self.unfiltered.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
            false
        })
    }

    /// Says something to the person or agent, unless they asked for quiet.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            self.talk(&plain::line(text));
        }
    }

    /// Whether somebody sees the line that passes: a person at a terminal.
    pub fn shows_passing(&self) -> bool {
        !self.quiet && self.json.is_none() && std::io::stderr().is_terminal()
    }

    /// Says what goes on, on a line that the next words replace, where one is shown.
    pub fn passing(&self, text: &str) {
        let mut shown = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown != text {
            write!(std::io::stderr().lock(), "{ANEW}{text}").ok();
            text.clone_into(&mut shown);
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
        let unfiltered = self.unfiltered.lock().unwrap_or_else(PoisonError::into_inner).take();
        match unfiltered.map_or(outcome, Err) {
            Ok(()) if self.lost.load(Ordering::Relaxed) => self.failed(&self.unwritten()),
            Ok(()) => ExitCode::SUCCESS,
            Err(Stop::CheckFailed) => ExitCode::from(10),
            Err(Stop::Failure(failure)) => self.failed(&failure),
        }
    }

    /// Tells a bad end for which the command has an exit code of its own.
    pub fn end_with(&self, stop: Stop, exit: u8) -> ExitCode {
        if let Stop::Failure(failure) = stop {
            self.tell(Problem { exit_code: exit, ..failure.problem() });
        }
        ExitCode::from(exit)
    }

    /// What is wrong when an answer could not be written. After a change its exit code must not say that nobody can tell:
    /// who hears that asks again.
    fn unwritten(&self) -> Failure {
        if self.changed.load(Ordering::Relaxed) {
            let done =
                "what the command does is done; only its answer could not be written to standard output";
            let next = "do not repeat it; `tenure events --newest` tells what was done";
            return Refusal::new(Code::InvalidInput, done).next(next).into();
        }
        Failure::cannot_tell(
            "the answer could not be written to standard output",
            "look at where it goes (a full disk, for example), and repeat the command",
        )
    }

    fn failed(&self, failure: &Failure) -> ExitCode {
        let problem = failure.problem();
        let exit = problem.exit_code;
        self.tell(problem);
        ExitCode::from(exit)
    }

    fn tell(&self, mut problem: Problem) {
        if let Some((end, _)) = problem.detail.char_indices().nth(DETAIL_CHARACTERS) {
            // A name that was typed may be as long as a command line can be.
            problem.detail.truncate(end);
            problem.detail.push('…');
        }
        let error = terminal::on_stderr(Style::Bad, "error:");
        self.talk(&format!("{error} {} ({})", plain::line(&problem.detail), problem.code));
        for step in &problem.next_actions {
            self.talk(&format!("{}  {}", terminal::on_stderr(Style::Heading, "next:"), plain::line(step)));
        }
        // Whoever takes results of `--jq` as data must not take a refusal for one.
        if self.json.is_some() && self.filter.is_none() {
            self.json(
                &serde_json::to_string(&problem).expect("a problem is plain data and always serialises"),
            );
        }
    }
}
