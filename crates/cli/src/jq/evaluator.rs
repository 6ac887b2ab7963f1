//! The process that evaluates `--jq`. It may end at any point of its work, of too little memory or too deep a recursion:
//! the command that started it tells so.

use std::io::{Error, Result, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure_core::model::limits::JQ_MEMORY_BYTES;

use super::frame::{self, Kind};
use super::language::Filter;
use crate::context::Context;

/// The stack of an evaluation: deeper than any answer.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;
/// Most bytes of what went wrong; the value that it went wrong at may be a whole answer.
pub const REASON_BYTES: usize = 200;

/// Evaluate an expression within bounds
#[derive(clap::Args)]
pub struct Evaluate {}

/// Evaluates until the command is gone.
pub fn run(context: &Context) -> ExitCode {
    let evaluation = bounded().and_then(|()| {
        let orders = orders();
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || evaluate(&orders))
    });
    match evaluation.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ok(Err(error))) | Err(error) => {
            context.screen.talk(&format!("tenure: nothing was evaluated; only --jq starts this: {error}"));
        }
        // What panicked has said so.
        Ok(Err(_)) => {}
    }
    ExitCode::FAILURE
}

/// Bounds the memory of this process, and lets it leave no picture of it behind.
fn bounded() -> Result<()> {
    for (resource, most) in [(Resource::As, JQ_MEMORY_BYTES), (Resource::Core, 0)] {
        let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// What the command sends. Its end is the end of this process, whatever is being evaluated.
fn orders() -> Receiver<String> {
    let (send, orders) = channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Ok((_, text)) = frame::hear(&mut input, usize::MAX) {
            send.send(text).ok();
        }
        std::process::exit(0);
    });
    orders
}

/// First comes the expression, then one answer after the other.
fn evaluate(orders: &Receiver<String>) -> Result<()> {
    let expression = orders.recv().map_err(Error::other)?;
    let filter = match Filter::read(&expression) {
        Ok(filter) => filter,
        Err(reason) => return say(Kind::Failed, &short(reason)),
    };
    say(Kind::Done, "")?;
    for json in orders {
        let mut said = Ok(());
        let end = filter.evaluate(&json, &mut |kind, text| {
            said = say(kind, text);
            said.is_ok()
        });
        said?;
        match end {
            Ok(()) => say(Kind::Done, "")?,
            Err(reason) => say(Kind::Failed, &short(reason))?,
        }
    }
    Ok(())
}

fn say(kind: Kind, text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    frame::say(&mut out, kind, text)?;
    out.flush()
}

fn short(mut reason: String) -> String {
    if reason.len() > REASON_BYTES {
        reason.truncate(reason.floor_char_boundary(REASON_BYTES - '…'.len_utf8()));
        reason.push('…');
    }
    reason
}
