//! `--jq EXPR`: of an answer's JSON, what an expression makes of it. The language is jq's, and nothing else need be
//! installed. An expression is read before anything is asked for, so one that cannot be read changes nothing.
//!
//! An expression is a program, and may want more memory, time or stack than there is. No process can bear that and go
//! on to say what became of the command; so another one, the [`evaluator`], reads and evaluates it within bounds.

pub mod evaluator;
mod frame;
mod language;

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_core::model::limits::{JQ_BYTES, JQ_MEMORY_BYTES, JQ_MS};

use self::frame::{Kind, Unheard};
use crate::environment::own_program;
use crate::render::plain;
use crate::stop::{Stop, usage};

/// How many results may be ahead of who prints them.
const AHEAD: usize = 64;

/// An expression that has been read, and who evaluates it. Nobody does any more when it went beyond its bounds, or when
/// nobody takes results.
#[derive(Debug, Clone)]
pub struct Filter(Arc<Mutex<Option<Evaluator>>>);

/// The other process.
#[derive(Debug)]
struct Evaluator {
    child: Child,
    orders: ChildStdin,
    told: Receiver<Result<(Kind, String), Unheard>>,
}

impl Filter {
    /// Reads an expression.
    pub fn read(expression: &str) -> Result<Self, Stop> {
        let mut evaluator =
            Evaluator::start().map_err(|error| refused(&format!("it cannot be read: {error}")))?;
        evaluator.order(expression);
        match evaluator.hear() {
            Ok((Kind::Done, _)) => Ok(Self(Arc::new(Mutex::new(Some(evaluator))))),
            Ok((_, reason)) => Err(refused(&reason)),
            Err(reason) => Err(refused(&reason)),
        }
    }

    /// Hands over the results for one answer, one after the other, until nobody takes them any more. Says whether
    /// somebody still does.
    pub fn apply(
        &self,
        json: &str,
        on_terminal: bool,
        take: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, Stop> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What it was that ended it has been told.
        let Some(mut evaluator) = kept.take() else { return Ok(false) };
        evaluator.order(json);
        loop {
            let shown = match evaluator.hear().map_err(|reason| failed(&reason))? {
                (Kind::Done, _) => {
                    *kept = Some(evaluator);
                    return Ok(true);
                }
                (Kind::Failed, reason) => {
                    *kept = Some(evaluator);
                    return Err(failed(&reason));
                }
                (Kind::Text, text) if on_terminal => plain::block(&text),
                (Kind::Json, text) if on_terminal => plain::json(&text),
                (Kind::Text | Kind::Json, text) => text,
            };
            if !take(&format!("{shown}\n")) {
                return Ok(false);
            }
        }
    }
}

impl Evaluator {
    fn start() -> std::io::Result<Self> {
        let program = own_program().map_err(|failure| std::io::Error::other(failure.problem().detail))?;
        let mut command = Command::new(program);
        command.arg("jq-evaluate").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // In a group of its own: what a key ends is the command, which may still have something to say.
        let mut child = command.process_group(0).spawn()?;
        let (orders, results) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (tell, told) = sync_channel(AHEAD);
        std::thread::spawn(move || listen(results, &tell));
        Ok(Self { child, orders, told })
    }

    /// Who cannot be told is gone, and that is heard next.
    fn order(&mut self, text: &str) {
        frame::say(&mut self.orders, Kind::Text, text).and_then(|()| self.orders.flush()).ok();
    }

    /// What it tells next, or why it tells nothing more.
    fn hear(&mut self) -> Result<(Kind, String), String> {
        let bounds = format!(
            "it needs more than {} MiB of memory, or goes too deep for its {} MiB of stack",
            JQ_MEMORY_BYTES >> 20,
            evaluator::STACK_BYTES >> 20,
        );
        match self.told.recv_timeout(Duration::from_millis(JQ_MS)) {
            Ok(Ok(told)) => Ok(told),
            Ok(Err(Unheard::TooMuch)) => Err(format!("the results have more than {} MiB", JQ_BYTES >> 20)),
            Ok(Err(Unheard::Gone)) | Err(RecvTimeoutError::Disconnected) => match self.child.wait() {
                Ok(status) if status.signal().is_some() => Err(bounds),
                Ok(status) => Err(format!("its evaluation ended by itself ({status})")),
                Err(error) => Err(format!("its evaluation is gone: {error}")),
            },
            Err(RecvTimeoutError::Timeout) => Err(format!("no further result within {} s", JQ_MS / 1000)),
        }
    }
}

impl Drop for Evaluator {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Hears the evaluator until it is gone or says too much. The results of one answer are counted together.
fn listen(mut results: ChildStdout, tell: &SyncSender<Result<(Kind, String), Unheard>>) {
    let mut left = JQ_BYTES;
    loop {
        let told = frame::hear(&mut results, left.max(evaluator::REASON_BYTES));
        left = match &told {
            Ok((Kind::Done | Kind::Failed, _)) => JQ_BYTES,
            Ok((Kind::Text | Kind::Json, text)) => left.saturating_sub(text.len() + 1),
            Err(_) => 0,
        };
        let is_last = told.is_err();
        if tell.send(told).is_err() || is_last {
            return;
        }
    }
}

fn refused(reason: &str) -> Stop {
    usage(
        format!("the expression of --jq cannot be used: {reason}; nothing was asked for"),
        "mend the expression, or leave --jq out; `tenure help output` has examples",
    )
}

fn failed(reason: &str) -> Stop {
    usage(
        format!("the expression of --jq failed on the answer: {reason}"),
        "what the command does is done; look at its whole answer with `--jq .` where it only asks",
    )
}
