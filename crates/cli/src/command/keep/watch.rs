//! The process that renews a lease while another one runs. It knows a reporter's secret and neither session nor token.

use std::io::Read;
use std::os::raw::c_int;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signal_hook::iterator::Signals;
use tenure_client::failure::Failure;
use tenure_client::pause::{Pause, Steps};
use tenure_client::reporting::Reporting;
use tenure_client::{clock, processes};
use tenure_core::model::ids::AttemptId;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::token::ReporterSecret;

use crate::command::run::signals;
use crate::context::Context;
use crate::duration::ms;
use crate::interrupt;
use crate::render::time;
use crate::stop::{Stop, usage};

/// Shortest interval between two renewals, in milliseconds.
pub const RENEW_MS_MIN: i64 = 100;
/// How often it is looked whether the process still runs.
const LOOK: Duration = Duration::from_millis(200);
/// Longest time that one renewal waits for its answer: meanwhile nobody looks at the process.
const PATIENCE: Duration = Duration::from_secs(5);
/// Rests after a renewal that nobody answered.
const RESTS: Steps = Steps { first: Duration::from_millis(100), factor: 2, cap: Duration::from_secs(2) };
/// Most bytes of the orders.
const ORDERS_BYTES: u64 = 16 * 1024;

/// Renew a lease for `keep`
#[derive(clap::Args)]
pub struct Watch {
    /// Leave the session that it was started in
    #[arg(long)]
    detached: bool,
}

/// What `keep` tells by standard input.
#[derive(Serialize, Deserialize)]
pub struct Orders {
    /// The reporter's secret.
    pub secret: String,
    /// The attempt that it renews.
    pub attempt: AttemptId,
    /// The process that is watched …
    pub pid: u32,
    /// … and when it started: a number that was given to another process is another process.
    pub started: u64,
    /// Until when to renew, on [`clock::boot_ms`].
    pub ends_at: i64,
    /// How often to renew, in milliseconds.
    pub renew_ms: i64,
}

/// Why it ended.
enum End {
    /// What was watched has ended.
    Process,
    /// The window is over first.
    Window,
    /// The holder was asked to stop.
    StopAsked,
    /// Somebody asked this process to end.
    Signal,
    /// The lease is gone, or this reporter is.
    Lost(Failure),
}

/// How a lease was kept.
#[derive(Serialize, JsonSchema)]
struct Kept {
    /// The attempt.
    attempt: AttemptId,
    /// The process that was watched, which has ended.
    pid: u32,
    /// How often the lease was renewed.
    renewals: u64,
    /// How long the lease still lasts, in milliseconds, as far as this process renewed it.
    expires_in_ms: i64,
}

/// Renews until something ends it.
pub fn run(watch: &Watch, context: &Context) -> ExitCode {
    // From here on a signal is heard, also by a process that has only begun.
    match heard().and_then(|signals| Ok((signals, orders()?))) {
        Ok((signals, orders)) => {
            if watch.detached {
                // It is the leader of its group only if nobody started it as `keep` does.
                let _ = rustix::process::setsid();
            }
            Keeping::new(orders, context)
                .map_or_else(|stop| context.screen.end(Err(stop)), |keeping| keeping.run(&signals, context))
        }
        Err(error) => {
            let wrong = format!("nothing is renewed; only `tenure keep` starts this: {error}");
            context.screen.end(Err(usage(wrong, "use `tenure keep`")))
        }
    }
}

fn orders() -> std::io::Result<Orders> {
    let mut text = Vec::new();
    std::io::stdin().lock().take(ORDERS_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// The signals that end this process, as they come.
fn heard() -> std::io::Result<Receiver<c_int>> {
    let mut signals = Signals::new(signals::passed_on())?;
    let (tell, told) = channel();
    std::thread::spawn(move || signals.forever().any(|signal| tell.send(signal).is_err()));
    Ok(told)
}

struct Keeping {
    orders: Orders,
    reporting: Reporting,
    /// When the lease ends at the earliest, on [`clock::boot_ms`].
    lease_ends_at: i64,
    renewals: u64,
}

impl Keeping {
    fn new(orders: Orders, context: &Context) -> Result<Self, Stop> {
        let secret: ReporterSecret = orders
            .secret
            .parse()
            .map_err(|wrong| usage(format!("the orders hold {wrong}"), "use `tenure keep`"))?;
        let reporting = Reporting::with(context.nameless_client()?.with_patience(PATIENCE), &secret);
        Ok(Self { orders, reporting, lease_ends_at: 0, renewals: 0 })
    }

    fn run(mut self, signals: &Receiver<c_int>, context: &Context) -> ExitCode {
        let end = self.keep(signals);
        let attempt = &self.orders.attempt;
        if !matches!(end, End::Lost(_))
            && let Err(failure) = self.reporting.end()
        {
            context.screen.remark(&format!(
                "tenure: nobody was told that nothing renews {attempt} any more: {failure}"
            ));
        }
        let refused = |code, detail: String, next: String| {
            context.screen.end(Err(Refusal::new(code, detail).next(next).into()))
        };
        match end {
            End::Process => self.told(context),
            End::Signal => {
                context.screen.remark(&format!("tenure: interrupted; nothing renews {attempt} any more"));
                ExitCode::from(interrupt::EXIT)
            }
            End::Window => refused(
                Code::NotYet,
                format!(
                    "the window of {attempt} is over and process {} still runs; the lease lasts another {}",
                    self.orders.pid,
                    time::duration(self.left_ms())
                ),
                format!(
                    "declare the next window: `tenure keep {} --for 45m --watch {}`",
                    attempt.task, self.orders.pid
                ),
            ),
            End::StopAsked => refused(
                Code::StateConflict,
                format!("the holder of {attempt} is asked to stop, and nothing renews it any more"),
                format!("stop the work, and give it back: `tenure release {}`", attempt.task),
            ),
            End::Lost(failure) => context.screen.end(Err(failure.into())),
        }
    }

    /// Says that what was watched has ended.
    fn told(&self, context: &Context) -> ExitCode {
        let Orders { attempt, pid, .. } = &self.orders;
        let expires_in_ms = self.left_ms();
        let kept = Kept { attempt: attempt.clone(), pid: *pid, renewals: self.renewals, expires_in_ms };
        let left = time::duration(expires_in_ms);
        let line = format!("{attempt}: process {pid} has ended; the lease lasts another {left}\n");
        context.screen.end(context.print_own(&kept, &line))
    }

    /// How long the lease still lasts, as far as it was renewed here.
    fn left_ms(&self) -> i64 {
        (self.lease_ends_at - clock::boot_ms()).max(0)
    }

    /// Renews while the process lives, the window lasts and nobody says otherwise.
    fn keep(&mut self, signals: &Receiver<c_int>) -> End {
        let mut pause = Pause::new(RESTS);
        let mut due = clock::boot_ms();
        loop {
            if processes::started(self.orders.pid) != Some(self.orders.started) {
                return End::Process;
            }
            let now = clock::boot_ms();
            if now >= self.orders.ends_at {
                return End::Window;
            }
            if now >= due {
                match self.reporting.renew() {
                    Ok(told) if told.cancel_requested => return End::StopAsked,
                    Ok(told) => {
                        self.renewals += 1;
                        self.lease_ends_at = now + told.expires_in_ms;
                        due = now + self.orders.renew_ms.min(told.renew_ms);
                        pause = Pause::new(RESTS);
                    }
                    // Whoever cannot be asked may be there again before the lease ends; the holder may renew it too.
                    Err(failure) if !failure.is_decided() => {
                        let rest = pause.rest(failure.retry_after());
                        due = clock::boot_ms().saturating_add(ms(rest));
                    }
                    Err(failure) => return End::Lost(failure),
                }
            }
            match signals.recv_timeout(LOOK) {
                Ok(_) => return End::Signal,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
            }
        }
    }
}
