//! Watching over the command: the guard's reports, signals, and the lease, until everything has ended.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper};
use signal_hook::iterator::Signals;
use tenure_client::clock;
use tenure_client::failure::Failure;
use tenure_client::processes;

use super::bound::{Bound, span};
use super::channel::{self, Begin, Ended, Ending, Order, Report};
use super::guard::{self, TICK};
use super::renewal::{Lease, Renewal};
use super::stopping::{Stopping, number};
use super::terminal;

/// What is run, and for how long it may.
pub struct Start<'a> {
    /// This program, which is also the guard.
    pub program: PathBuf,
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// What the command finds in its environment.
    pub environment: Vec<(&'static str, OsString)>,
    /// What it does not.
    pub hidden: &'static [&'static str],
    /// Until when it may run without a renewal.
    pub bound: Bound,
}

/// Why a command was stopped from here.
#[derive(Debug)]
pub enum Why {
    /// Ownership is gone.
    Lost(Failure),
    /// No renewal succeeded in two thirds of the lease.
    Overdue,
    /// Somebody asked.
    Asked,
    /// Its guard ended before it, or does not answer.
    Unguarded,
}

/// How it went.
pub struct End {
    /// How the command ended, if that was seen.
    pub ending: Option<Ending>,
    /// Why it was stopped, if it was.
    pub why: Option<Why>,
    /// The last signal that was passed on.
    pub signal: Option<i32>,
    /// Whether the session itself ended its attempt meanwhile.
    pub finished: bool,
    /// Until when the lease lasts.
    pub bound: Bound,
    /// How long the command ran.
    pub lasted_ms: i64,
    /// Processes that could not be ended.
    pub left: Vec<u32>,
}

/// A command that could not be started, and why.
pub struct NotStarted(pub String);

enum Event {
    Report(Report),
    /// The guard is gone.
    Unguarded,
    Signal(i32),
    Renewal(Renewal),
}

/// Runs a command under guard and keeps the lease until everything has ended.
pub fn run(start: &Start, signals: Signals, lease: Lease) -> Result<End, NotStarted> {
    let (tell, events) = channel();
    let mut watch = Watch::start(start, tell.clone()).map_err(|error| NotStarted(error.to_string()))?;
    pass_on(signals, tell.clone());
    std::thread::spawn(move || lease.keep(|renewal| tell.send(Event::Renewal(renewal)).is_ok()));
    let outcome = watch.until_the_end(&events);
    if watch.foreground {
        terminal::take_back();
    }
    outcome
}

fn pass_on(mut signals: Signals, tell: Sender<Event>) {
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if tell.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    });
}

struct Watch {
    orders: UnixStream,
    guard: Option<Pid>,
    foreground: bool,
    command: Option<u32>,
    bound: Bound,
    begun_at: i64,
    why: Option<Why>,
    signal: Option<i32>,
    finished: bool,
}

impl Watch {
    /// Starts the guard and tells it to begin.
    fn start(start: &Start, tell: Sender<Event>) -> std::io::Result<Self> {
        // Where the guard is killed, what it guarded becomes ours.
        set_child_subreaper(Some(getpid()))?;
        let (orders, theirs) = UnixStream::pair()?;
        let mut guard = Command::new(&start.program);
        guard.args(["run-guard", "--"]).args(start.command);
        for name in start.hidden {
            guard.env_remove(name);
        }
        guard.envs(start.environment.iter().map(|(name, value)| (name, value)));
        let child = guard.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs))).process_group(0).spawn()?;
        // Until it is dropped it holds the guard's end of the socket, whose closing tells that the guard is gone.
        drop(guard);
        let foreground = terminal::is_ours();
        let begin = Begin { bound: start.bound, foreground };
        channel::begin(&orders, &begin, std::io::stdin())?;
        let reports = orders.try_clone()?;
        std::thread::spawn(move || {
            for report in channel::heard(reports) {
                tell.send(Event::Report(report)).ok();
            }
            tell.send(Event::Unguarded).ok();
        });
        Ok(Self {
            orders,
            guard: number(child.id()),
            foreground,
            command: None,
            bound: start.bound,
            begun_at: clock::boot_ms(),
            why: None,
            signal: None,
            finished: false,
        })
    }

    fn until_the_end(&mut self, events: &Receiver<Event>) -> Result<End, NotStarted> {
        loop {
            match events.recv_timeout(self.pause()) {
                Ok(Event::Report(Report::Started(pid))) => self.command = Some(pid),
                Ok(Event::Report(Report::NotStarted(why))) => return Err(NotStarted(why)),
                Ok(Event::Report(Report::Ended(ended))) => {
                    if ended.overdue && self.why.is_none() {
                        self.why = Some(Why::Overdue);
                    }
                    return Ok(self.ended(ended));
                }
                Ok(Event::Unguarded) => return Ok(self.unguarded()),
                Ok(Event::Signal(signal)) => self.pass(signal),
                Ok(Event::Renewal(renewal)) => self.renewed(renewal),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => self.wake(),
            }
            if clock::boot_ms() >= self.bound.last_call() {
                return Ok(self.unguarded());
            }
        }
    }

    fn pause(&self) -> Duration {
        TICK.min(span(self.bound.last_call() - clock::boot_ms()))
    }

    /// What cannot be said to a guard that is gone is noticed by its end.
    fn order(&self, order: &Order) {
        channel::say(&self.orders, order).ok();
    }

    /// Wakes a guard that somebody put to sleep, perhaps the command itself: nobody else would notice.
    fn wake(&self) {
        let sleeps = |guard: Pid| processes::stands_still(guard.as_raw_nonzero().get().unsigned_abs());
        if let Some(guard) = self.guard.filter(|guard| sleeps(*guard)) {
            kill_process(guard, Signal::CONT).ok();
        }
    }

    /// Passes a signal on; the second one ends everything at once.
    fn pass(&mut self, signal: i32) {
        self.wake();
        self.order(&if self.signal.is_none() { Order::Pass(signal) } else { Order::Stop(0) });
        self.signal = Some(signal);
    }

    fn renewed(&mut self, renewal: Renewal) {
        // Once it is decided that the command stops, its time is not made longer any more.
        if self.why.is_some() {
            return;
        }
        let now = clock::boot_ms();
        match renewal {
            Renewal::Until(bound) => {
                self.bound = bound;
                self.order(&Order::Until(bound));
            }
            Renewal::Finished => {
                self.finished = true;
                self.bound = Bound::NONE;
                self.order(&Order::Until(Bound::NONE));
            }
            Renewal::StopAsked => {
                self.why = Some(Why::Asked);
                self.order(&Order::Stop(self.bound.grace_ms(now)));
            }
            Renewal::Lost(failure) => {
                self.why = Some(Why::Lost(failure));
                self.bound = Bound::lost(now);
                self.order(&Order::Stop(self.bound.grace_ms(now)));
            }
        }
    }

    fn ended(&mut self, ended: Ended) -> End {
        End {
            ending: ended.ending,
            why: self.why.take(),
            signal: self.signal,
            finished: self.finished,
            bound: self.bound,
            lasted_ms: clock::boot_ms() - self.begun_at,
            left: ended.left,
        }
    }

    /// Does the guard's work: stops what it left, and the guard itself if it only stands still.
    fn unguarded(&mut self) -> End {
        let left = Stopping::within(self.bound.grace_ms(clock::boot_ms())).complete();
        self.why.get_or_insert(Why::Unguarded);
        let ending = self.command.and_then(reaped);
        self.ended(Ended { ending, overdue: false, left })
    }
}

/// How the command ended that the guard left to us.
fn reaped(command: u32) -> Option<Ending> {
    let mut ending = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if number(command) == Some(pid) {
            ending = guard::ending(status);
        }
    }
    ending
}
