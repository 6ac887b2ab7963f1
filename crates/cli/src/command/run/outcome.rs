//! What is recorded once the command has ended, and what `run` itself ends with.
//!
//! A task is closed only when its command ended with 0 and nothing spoke against it. In every other case it is handed
//! off, and after a lost ownership nothing is written but a recovery note.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tenure_client::call::Client;
use tenure_client::failure::Failure;
use tenure_client::pause::{Pause, Steps};
use tenure_client::session::Session;
use tenure_core::model::ids::AttemptId;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::Operation;
use tenure_core::operation::ownership::{Close, HandOff, Release, WriteNote};

use super::bound::Bound;
use super::channel::Ending;
use super::renewal::finished;
use super::signals::BY_SIGNAL;
use super::tree::Tree;
use super::watch::{End, Why};
use super::words;
use crate::screen::Screen;

/// The command could not be started.
pub const NOT_STARTED: u8 = 122;
/// Ownership was lost or a stop was asked for.
const STOPPED: u8 = 123;
/// The command succeeded and the task could not be closed.
const INCOMPLETE: u8 = 124;
/// The command's outcome could not be recorded.
const UNRECORDED: u8 = 125;

/// What became of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was closed.
    Closed,
    /// It was handed off.
    HandedOff,
    /// It was released, because the command could not be started.
    Released,
    /// The command ended its attempt itself.
    EndedByCommand,
    /// Ownership was lost.
    Lost,
    /// Nobody can tell.
    Unrecorded,
}

/// An outcome with what there is to say about it.
pub struct Told {
    /// What became of the task.
    pub outcome: Outcome,
    /// What `run` ends with.
    pub exit: u8,
    /// Why, unless it was closed.
    pub reason: Option<String>,
    /// What the task lacks for being closed.
    pub missing: Vec<String>,
}

impl Told {
    fn new(outcome: Outcome, exit: u8, reason: Option<String>) -> Self {
        Self { outcome, exit, reason, missing: Vec::new() }
    }
}

/// Who records, and about what.
pub struct Holder<'a> {
    /// The way to the coordinator.
    pub client: &'a Client,
    /// The session that holds the attempt.
    pub session: &'a Session,
    /// The attempt.
    pub attempt: &'a AttemptId,
    /// The command as it was typed.
    pub command: &'a str,
    /// Where doubts are told.
    pub screen: &'a Screen,
}

/// Why something was not written.
enum Unwritten {
    /// The session itself had ended the attempt before.
    Finished,
    /// The attempt is not the session's any more.
    Lost(Failure),
    /// The rules said no for another reason.
    Refused(Refusal),
    /// Nobody could tell as long as the lease lasted.
    Unknown(Failure),
}

impl Holder<'_> {
    /// Records how the command went.
    pub fn record(&self, end: &End, tree: &Tree) -> Told {
        let code = exit_code(end.ending);
        if end.finished {
            return Told::new(Outcome::EndedByCommand, code, None);
        }
        let went = words::went(self.command, end);
        match (&end.why, end.ending, end.signal) {
            (Some(Why::Lost(_) | Why::Overdue), _, _) => self.lost(&went),
            (Some(Why::Asked | Why::Unguarded), _, _) => self.hand_off(end.bound, &went, tree, STOPPED),
            // Where work is reviewed, what succeeded will be submitted here.
            (None, Some(Ending::Code(0)), None) => self.close(end, &went, tree),
            (None, _, _) => self.hand_off(end.bound, &went, tree, code),
        }
    }

    /// Gives the task back because its command could not be started.
    pub fn release(&self, bound: Bound, why: &str) -> Told {
        let note = words::not_started(self.command, why);
        let release = Release { task: self.attempt.task.clone(), note: Some(note.clone()) };
        let outcome = match self.write(&release, bound) {
            Ok(()) => Outcome::Released,
            Err(Unwritten::Finished) => Outcome::EndedByCommand,
            Err(Unwritten::Lost(_)) => Outcome::Lost,
            Err(Unwritten::Refused(_) | Unwritten::Unknown(_)) => Outcome::Unrecorded,
        };
        Told::new(outcome, NOT_STARTED, Some(note))
    }

    fn close(&self, end: &End, went: &str, tree: &Tree) -> Told {
        let close = Close {
            task: self.attempt.task.clone(),
            revision: None,
            resolution: None,
            evidence: tree.evidence.clone(),
            note: Some(went.to_owned()),
            lessons: Vec::new(),
            criteria: BTreeMap::new(),
        };
        match self.write(&close, end.bound) {
            Ok(()) => Told::new(Outcome::Closed, 0, None),
            Err(Unwritten::Refused(refusal)) => {
                let missing = words::missing(&refusal);
                let text = format!("{went}\n{}", words::not_closed(&refusal, &missing));
                let told = self.hand_off(end.bound, &text, tree, INCOMPLETE);
                Told { missing, reason: Some(refusal.detail), ..told }
            }
            Err(unwritten) => self.unwritten(unwritten, went, exit_code(end.ending)),
        }
    }

    fn hand_off(&self, bound: Bound, text: &str, tree: &Tree, exit: u8) -> Told {
        let hand_off = HandOff {
            task: self.attempt.task.clone(),
            text: words::bounded(text),
            to: None,
            evidence: tree.evidence.clone(),
            tree: tree.state,
        };
        match self.write(&hand_off, bound) {
            Ok(()) => Told::new(Outcome::HandedOff, exit, Some(text.to_owned())),
            Err(unwritten) => self.unwritten(unwritten, text, exit),
        }
    }

    fn unwritten(&self, unwritten: Unwritten, went: &str, exit: u8) -> Told {
        match unwritten {
            Unwritten::Finished => Told::new(Outcome::EndedByCommand, exit, None),
            Unwritten::Lost(failure) => self.lost(&format!("{went}\n{failure}")),
            Unwritten::Refused(refusal) => Told::new(Outcome::Unrecorded, UNRECORDED, Some(refusal.detail)),
            Unwritten::Unknown(failure) => {
                Told::new(Outcome::Unrecorded, UNRECORDED, Some(failure.to_string()))
            }
        }
    }

    /// Leaves a recovery note, if that is possible: it changes nothing.
    fn lost(&self, went: &str) -> Told {
        let task = self.attempt.task.clone();
        let note = WriteNote { task, text: words::bounded(went), recovery: true };
        // Without the attempt it would be anybody's remark; who follows looks for what this attempt left.
        if self.is_known()
            && let Err(failure) = self.client.call(&note, Some(self.session))
        {
            self.screen.remark(&format!("tenure: no recovery note could be stored: {failure}"));
        }
        Told::new(Outcome::Lost, STOPPED, Some(went.to_owned()))
    }

    /// Whether the session's file still tells of this very attempt.
    fn is_known(&self) -> bool {
        let record = self.session.file.read().ok().flatten();
        record.is_some_and(|record| {
            record.leases.get(&self.attempt.task).is_some_and(|lease| lease.attempt == *self.attempt)
        })
    }

    /// Writes as the holder of this very attempt, and asks until there is an answer or the lease may have ended.
    fn write<O: Operation>(&self, operation: &O, bound: Bound) -> Result<(), Unwritten> {
        let mut is_uncertain = false;
        let mut pause = Pause::new(Steps::PATIENT);
        loop {
            match self.write_once(operation) {
                // An earlier try was done, and its answer was lost.
                Err(Unwritten::Finished) if is_uncertain => return Ok(()),
                Err(Unwritten::Unknown(failure)) if !bound.has_ended() => {
                    if !is_uncertain {
                        let text = "the outcome is not recorded yet, asking until the lease ends";
                        self.screen.remark(&format!("tenure: {text}: {failure}"));
                    }
                    is_uncertain = true;
                    let rest = pause.rest(failure.retry_after());
                    std::thread::sleep(rest.min(bound.left()));
                }
                written => return written,
            }
        }
    }

    fn write_once<O: Operation>(&self, operation: &O) -> Result<(), Unwritten> {
        // By now the session may hold another attempt at the task, which this is not about.
        let outcome = if self.is_known() {
            self.client.call(operation, Some(self.session)).map(|_| ())
        } else {
            Err(Refusal::new(Code::NotHolder, format!("{} is over", self.attempt)).into())
        };
        let failure = match outcome {
            Ok(()) => return Ok(()),
            Err(failure) if !failure.is_decided() => return Err(Unwritten::Unknown(failure)),
            Err(failure) => failure,
        };
        // A refusal can also mean that the session itself has ended the attempt.
        match (finished(self.client, self.session, self.attempt), failure) {
            (Ok(true), _) => Err(Unwritten::Finished),
            (Err(doubt), _) if !doubt.is_decided() => Err(Unwritten::Unknown(doubt)),
            (_, Failure::Refused(refusal)) if !is_lost(refusal.code) => Err(Unwritten::Refused(*refusal)),
            (_, failure) => Err(Unwritten::Lost(failure)),
        }
    }
}

/// Whether a refusal says that the attempt or its session is over.
fn is_lost(code: Code) -> bool {
    code.exit() == Code::NotHolder.exit() || code.exit() == Code::SessionClosed.exit()
}

/// The command's own exit code, as a shell tells it.
fn exit_code(ending: Option<Ending>) -> u8 {
    let code = match ending {
        Some(Ending::Code(code)) => code,
        Some(Ending::Signal(signal)) => BY_SIGNAL + signal,
        None => i32::from(STOPPED),
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}
