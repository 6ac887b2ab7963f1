//! `tenure keep`: while a long job runs, its holder's lease is renewed by a process that can do nothing else.
//!
//! The holder's session makes a reporter, and then another process image takes over ([`watch`]) that is told the
//! reporter's secret alone, by a pipe: never by an argument or the environment, which others may read.

pub mod watch;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tenure_client::failure::Failure;
use tenure_client::place::Place;
use tenure_client::{clock, processes, reporting};
use tenure_core::model::ids::{AttemptId, ReporterId};
use tenure_core::operation::reporter::CreateReporter;

use self::watch::Orders;
use crate::context::Context;
use crate::duration::{self, ms};
use crate::environment::own_program;
use crate::render::time;
use crate::stop::{Stop, usage};

/// Keep the lease of a held task while a process runs, and no longer
///
/// The lease is renewed until the process ends, at most to the end of the window (an hour is the longest), and only while
/// this attempt holds the task. A renewal is no progress: leave a note or a checkpoint when there is something to say.
/// Whoever still holds the task can declare the next window, which takes the place of this one.
///
/// It ends with 0 when the process has ended, 6 when the lease was lost, 8 when the holder is asked to stop, 9 when the
/// window is over and the process still runs, 130 when it was interrupted.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure keep afc-1 --for 45m --watch 4711\n  \
    tenure keep --for 20m --watch 4711 --doing \"cargo build\" --detach")]
pub struct Keep {
    /// The task, by id or alias; the one that is held here when absent
    task: Option<String>,
    /// The window: how long the lease may be kept, e.g. 45m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    window: Duration,
    /// The process that is watched, by its number
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    watch: u32,
    /// What it does, for whoever looks at the task; the process's name when absent
    #[arg(long, value_name = "TEXT")]
    doing: Option<String>,
    /// Renew so often; never seldomer than the coordinator advises
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    every: Option<Duration>,
    /// Go on in the background, and print the number of the process that does
    #[arg(long)]
    detach: bool,
}

/// What is told of a lease that is kept in the background.
#[derive(Serialize, JsonSchema)]
struct Detached {
    /// The attempt whose lease is kept.
    attempt: AttemptId,
    /// The reporter that renews it.
    reporter: ReporterId,
    /// The process that does.
    pid: u32,
}

/// Makes the reporter, and hands over to the process that renews.
pub fn run(keep: &Keep, context: &Context) -> Result<(), Stop> {
    context.check_own::<Detached>()?;
    if context.screen.filter.is_some() {
        return Err(usage("there is nothing for --jq to look at", "use --json"));
    }
    let watched = processes::process(keep.watch).filter(|process| !process.has_ended).ok_or_else(|| {
        usage(
            format!("there is no process {} to be watched", keep.watch),
            "name one that runs on this machine, e.g. `--watch $!` behind a command in the background",
        )
    })?;
    let task = match &keep.task {
        Some(operand) => context.task(operand)?,
        None => context.held_task()?,
    };
    let secret = reporting::draw();
    let watches = keep.doing.clone().unwrap_or_else(|| watched.name.clone());
    let create = CreateReporter { task, hash: secret.hash(), watches, window_ms: ms(keep.window) };
    let sent_at = clock::boot_ms();
    let made = context.call_on(&create, keep.task.as_deref())?.value;
    let orders = Orders {
        secret: secret.as_str().to_owned(),
        attempt: made.attempt.clone(),
        pid: watched.pid,
        started: watched.started,
        // A moment before its end, so that the lease still lasts when somebody hears of it.
        ends_at: sent_at + made.window_ms - made.renew_ms.min(made.window_ms / 4),
        renew_ms: keep
            .every
            .map_or(made.renew_ms, |every| ms(every).clamp(watch::RENEW_MS_MIN, made.renew_ms)),
    };
    let (place, window) = (context.place()?, time::duration(made.window_ms));
    context.screen.remark(&format!(
        "tenure: keeps {} while process {} ({}) runs, for {window} at most",
        made.attempt, watched.pid, create.watches
    ));
    let mut watch = watching(&place, &orders, context)?;
    if !keep.detach {
        // What held the session's secret is gone with this: whoever reads the memory of the process that stays for so long
        // finds the reporter's, which renews one lease.
        return Err(not_started(&watch.exec()).into());
    }
    let child = watch.arg("--detached").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let pid = child.map_err(|error| not_started(&error))?.id();
    let told = Detached { attempt: made.attempt, reporter: made.reporter, pid };
    context.print_own(&told, &format!("{pid}\n"))
}

/// The process that renews, with its orders waiting on its standard input.
fn watching(place: &Place, orders: &Orders, context: &Context) -> Result<Command, Stop> {
    let mut command = Command::new(own_program()?);
    command.arg("keep-watch");
    match place {
        Place::Server(server) => command.args(["--server", &server.url.to_string()]),
        Place::Local(_) => command.arg("--local"),
    };
    if context.screen.quiet {
        command.arg("--quiet");
    }
    if let Some(fields) = &context.screen.json {
        command.arg(format!("--json={}", fields.join(",")));
    }
    let told = serde_json::to_vec(orders).expect("orders are plain data and always serialise");
    let piped = std::io::pipe().and_then(|(read, mut write)| {
        // They are shorter than what a pipe holds, so nobody has to read meanwhile.
        write.write_all(&told)?;
        Ok(read)
    });
    command.stdin(piped.map_err(|error| not_started(&error))?);
    Ok(command)
}

fn not_started(error: &std::io::Error) -> Failure {
    Failure::cannot_tell(
        format!("the process that renews was not started: {error}"),
        "repeat the command; nothing renews the lease until then",
    )
}
