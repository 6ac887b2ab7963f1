//! `tenure run`: claims a task, runs a command for it, keeps the lease, stops the command when ownership is lost, and
//! records how it ended.
//!
//! Three processes take part: this one keeps the lease and records; the [`guard`] starts the command, keeps the time
//! and outlives this one; the command works. Each of the first two stops everything when the other is gone.

mod bound;
mod channel;
pub mod guard;
mod outcome;
mod renewal;
mod report;
pub mod signals;
pub mod starter;
mod stopping;
mod terminal;
mod tree;
mod watch;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::iterator::Signals;
use tenure_client::call::Client;
use tenure_client::clock;
use tenure_client::failure::Failure;
use tenure_client::place::Place;
use tenure_client::session::Session;
use tenure_core::model::attempt::{AttemptMode, Disposition};
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::{Claim, Claimed, Dispose};

use self::bound::{Bound, span};
use self::outcome::Holder;
use self::renewal::Lease;
use self::report::Report;
use self::signals::BY_SIGNAL;
use self::watch::{End, NotStarted, Start};
use super::ownership;
use crate::context::Context;
use crate::duration;
use crate::environment::own_program;
use crate::on_work::OnWork;
use crate::render::time;
use crate::stop::Stop;

/// The task could not be claimed.
const NOT_CLAIMED: u8 = 120;
/// Nobody can tell, and nothing was started.
const CANNOT_TELL: u8 = 121;

/// Claim a task, run a command for it, and record how it ended
///
/// The lease is renewed while the command runs. If ownership is lost, or no heartbeat comes through for two thirds of
/// the lease, the command and everything it started is stopped before the lease can end. A command that ends with 0
/// closes the task; any other end, and a task that lacks something for being closed, hands it off and says what
/// happened. Standard input and both outputs are the command's own.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure run afc-1 -- cargo test\n  \
    tenure run --wait 5m -- ./agent.sh\n  \
    tenure run --report report.json -- sh -c \"make && make check\"\n\n\
    The command finds TENURE_SESSION, TENURE_TASK, TENURE_ATTEMPT, TENURE_GENERATION, TENURE_PROJECT and\n\
    TENURE_STATE_DIR in its environment, so its own `tenure note` or `tenure close` acts as the same session.\n\n\
    It ends with the command's exit code (128 and the number of a signal), or with one of its own, 120 to 125:\n\
    `tenure help exit-codes`. With --json it says how it went in one line of JSON on standard error.")]
pub struct Run {
    #[command(flatten)]
    operation: OnWork<Claim>,
    /// Wait so long until there is something to claim, e.g. 90s or 5m
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    wait: Option<Duration>,
    /// What is decided about work that is taken over from an expired attempt
    #[arg(long, default_value = "resume")]
    disposition: Disposition,
    /// Why; needed for restart and blocked
    #[arg(long, required_if_eq_any = [("disposition", "restart"), ("disposition", "blocked")])]
    reason: Option<String>,
    /// Write how it went into a file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The command and its arguments, after `--`
    #[arg(index = 2, last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What was claimed, and by whom.
struct Held<'a> {
    client: &'a Client,
    session: Session,
    claimed: Claimed,
    bound: Bound,
}

/// Runs.
pub fn run(run: Run, context: &Context) -> ExitCode {
    // Until the command is there to hear it, a signal ends this process as it ends any other.
    let ends = Arc::new(AtomicBool::new(true));
    let signals = match watched(&ends) {
        Ok(signals) => signals,
        Err(error) => {
            let what = format!("signals cannot be caught: {error}");
            return not_begun(context, Failure::cannot_tell(what, "repeat the command").into());
        }
    };
    let Run { operation, wait, disposition, reason, report, command } = run;
    let prepared = || -> Result<_, Stop> {
        context.check_own::<Report>()?;
        report::check_place(report.as_deref())?;
        let held = claim(operation, wait, context)?;
        dispose(&held, disposition, reason)?;
        let lease = lease(&held, context)?;
        let start = start(&held, &command, context)?;
        Ok((held, start, lease))
    };
    let (held, start, lease) = match prepared() {
        Ok(prepared) => prepared,
        Err(stop) => return not_begun(context, stop),
    };
    ends.store(false, Ordering::SeqCst);
    let ended = watch::run(&start, signals, lease);
    ends.store(true, Ordering::SeqCst);
    finish(&held, &command, ended, report.as_deref(), context)
}

/// Ends this process on a signal as long as the flag stands, and otherwise keeps the signal for the command. What comes
/// before somebody listens waits.
fn watched(ends: &Arc<AtomicBool>) -> std::io::Result<Signals> {
    for signal in signals::passed_on() {
        signal_hook::flag::register_conditional_shutdown(signal, BY_SIGNAL + signal, ends.clone())?;
    }
    Signals::new(signals::passed_on())
}

/// Tells why nothing was started.
fn not_begun(context: &Context, stop: Stop) -> ExitCode {
    let exit = match &stop {
        Stop::CheckFailed => NOT_CLAIMED,
        Stop::Failure(failure) if !failure.is_decided() => CANNOT_TELL,
        Stop::Failure(failure) if failure.code().exit() == Code::InvalidInput.exit() => {
            return context.screen.end(Err(stop));
        }
        Stop::Failure(_) => NOT_CLAIMED,
    };
    context.screen.end_with(stop, exit)
}

fn claim(operation: OnWork<Claim>, wait: Option<Duration>, context: &Context) -> Result<Held<'_>, Stop> {
    let claimed = ownership::claimed(operation, wait, context)?.value;
    let gone = || Failure::cannot_tell("the session's file does not tell of the claim", "repeat the command");
    let session = context.known_session()?.ok_or_else(gone)?;
    let record = session.file.read()?.ok_or_else(gone)?;
    let lease = record.leases.get(&claimed.task.id).filter(|lease| lease.attempt == claimed.attempt);
    // The file counts from before the claim was sent.
    let left_ms = claimed.expires_in_ms;
    let bound = Bound::of(lease.ok_or_else(gone)?.ends_at_boot_ms - left_ms, left_ms);
    context.screen.remark(&format!(
        "tenure: {} {}, {:?}, lease {}",
        if claimed.resumed { "resumed" } else { "claimed" },
        claimed.attempt,
        claimed.task.title,
        time::duration(left_ms),
    ));
    Ok(Held { client: context.client()?, session, claimed, bound })
}

/// Records what is decided about work that was taken over: without it the task cannot be closed.
fn dispose(held: &Held<'_>, disposition: Disposition, reason: Option<String>) -> Result<(), Stop> {
    let view = held.claimed.task.attempt.as_ref();
    let is_decided = view.is_some_and(|attempt| attempt.disposition.is_some());
    if held.claimed.mode != AttemptMode::Recovery || is_decided {
        return Ok(());
    }
    let dispose = Dispose { task: held.claimed.task.id.clone(), disposition, reason };
    held.client.call(&dispose, Some(&held.session))?;
    Ok(())
}

/// Prepares the renewal of the lease, by a way to the coordinator of its own.
fn lease(held: &Held<'_>, context: &Context) -> Result<Lease, Stop> {
    let client = context.another_client()?;
    let session = Session::existing(&client, &context.identity()?)?;
    let gone = || Failure::cannot_tell("the session's file is gone", "repeat the command");
    let Claimed { attempt, heartbeat_ms, resumed, .. } = &held.claimed;
    Ok(Lease {
        // One heartbeat that waits for its answer must not keep the next from being sent in time.
        client: client.with_patience(span(heartbeat_ms / 2)),
        session: session.ok_or_else(gone)?,
        attempt: attempt.clone(),
        bound: held.bound,
        // How long ago a lease that was there already was renewed is not known.
        due: if *resumed {
            clock::boot_ms()
        } else {
            held.bound.ends_at - held.claimed.expires_in_ms + heartbeat_ms
        },
        heartbeat_ms: *heartbeat_ms,
    })
}

/// Prepares the command's start.
fn start<'a>(held: &Held<'_>, command: &'a [OsString], context: &Context) -> Result<Start<'a>, Stop> {
    let attempt = &held.claimed.attempt;
    let place = context.place()?;
    let mut environment: Vec<(&'static str, OsString)> = vec![
        ("TENURE_SESSION", held.session.name.to_string().into()),
        ("TENURE_TASK", attempt.task.to_string().into()),
        ("TENURE_ATTEMPT", attempt.to_string().into()),
        ("TENURE_GENERATION", attempt.generation.to_string().into()),
        ("TENURE_PROJECT", attempt.task.project.to_string().into()),
        ("TENURE_STATE_DIR", place.folder().into()),
    ];
    if let Place::Server(server) = &place {
        environment.push(("TENURE_SERVER", server.url.to_string().into()));
    }
    // With --local a server that the environment names is not meant, neither here nor in the command.
    let hidden: &[&str] = if context.wish.local { &["TENURE_SERVER"] } else { &[] };
    Ok(Start { program: own_program()?, command, environment, hidden, bound: held.bound })
}

/// Records how it went, and says so.
fn finish(
    held: &Held<'_>,
    words: &[OsString],
    ended: Result<End, NotStarted>,
    file: Option<&Path>,
    context: &Context,
) -> ExitCode {
    let command = words::command(words);
    let Held { client, session, claimed, .. } = held;
    let attempt = &claimed.attempt;
    let holder = Holder { client, session, attempt, command: &command, screen: &context.screen };
    let told = match &ended {
        Ok(end) => holder.record(end, &tree::of(&context.folder)),
        Err(NotStarted(why)) => holder.release(held.bound, why),
    };
    let exit = ExitCode::from(told.exit);
    Report::new(attempt, &command, ended.ok().as_ref(), told).tell(file, &context.screen);
    exit
}
