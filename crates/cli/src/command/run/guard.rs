//! The guard: a process between `run` and its command. It has the command started and outlives `run`, so that no command
//! goes on when `run` is killed; and it keeps the time itself, so that none goes on when `run` stands still.
//!
//! It becomes the parent of whatever the command leaves behind, in its group or out of it, and ends when nothing below
//! it is left.

use std::ffi::OsString;
use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, set_child_subreaper,
};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;
use tenure_client::clock;
use tenure_client::processes::{self, Process};

use super::bound::{Bound, span};
use super::channel::{self, Begin, Ended, Ending, Order, Report};
use super::signals;
use super::stopping::{LOOK_PAUSE, Stopping, number};
use crate::context::Context;

/// The clock is looked at so often, because a pause does not count the time that a machine sleeps.
pub const TICK: Duration = Duration::from_secs(1);

/// Stand between `run` and its command
#[derive(clap::Args)]
pub struct Guard {
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// What can happen to a guard.
enum Event {
    Order(Order),
    /// `run` is gone.
    Alone,
    /// Something below has ended.
    Child,
}

/// Guards until nothing below is left.
pub fn run(guard: &Guard, context: &Context) -> ExitCode {
    match guarded(guard) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            context
                .screen
                .talk(&format!("tenure: nothing was started; only `tenure run` starts a guard: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn guarded(guard: &Guard) -> Result<()> {
    // Standard input is the way to `run`; the command's own comes along it.
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    set_child_subreaper(Some(getpid()))?;
    let (tell, events) = channel();
    listen_to_signals(tell.clone())?;
    let (begin, input) = channel::begun(&socket)?;
    let group = match start(&guard.command, &begin, input) {
        Ok(group) => group,
        Err(error) => return channel::say(&socket, &Report::NotStarted(error.to_string())),
    };
    // Who cannot hear it is gone, and that is noticed below.
    channel::say(&socket, &Report::Started(group.as_raw_nonzero().get().unsigned_abs())).ok();
    let orders = socket.try_clone()?;
    std::thread::spawn(move || {
        for order in channel::heard(orders) {
            tell.send(Event::Order(order)).ok();
        }
        tell.send(Event::Alone).ok();
    });
    let ended = Watch::new(group, &begin).until_the_end(&events);
    channel::say(&socket, &Report::Ended(ended)).ok();
    Ok(())
}

/// A signal that would end a guard does nothing: it is for the command, and `run` passes it on.
fn listen_to_signals(tell: Sender<Event>) -> Result<()> {
    let mut signals = Signals::new([signals::passed_on(), vec![SIGCHLD]].concat())?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGCHLD && tell.send(Event::Child).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Starts the command in a process group of its own.
fn start(words: &[OsString], begin: &Begin, input: OwnedFd) -> Result<Pid> {
    let (socket, theirs) = UnixStream::pair()?;
    let mut starter = Command::new(std::env::current_exe()?);
    starter.args(["run-start", "--"]).args(words).stdin(Stdio::from(OwnedFd::from(theirs)));
    let child = starter.process_group(0).spawn()?;
    drop(starter);
    channel::begin(&socket, begin, input)?;
    // Once it is the command, its end is closed; otherwise it says why it is not.
    match channel::heard(&socket).next() {
        None => Ok(number(child.id()).expect("a child has a number")),
        Some(why) => Err(Error::other::<String>(why)),
    }
}

/// The command under guard.
struct Watch {
    group: Pid,
    foreground: bool,
    bound: Bound,
    ended: Option<Ending>,
    overdue: bool,
    stopping: Option<Stopping>,
}

impl Watch {
    fn new(group: Pid, begin: &Begin) -> Self {
        let (foreground, bound) = (begin.foreground, begin.bound);
        Self { group, foreground, bound, ended: None, overdue: false, stopping: None }
    }

    fn until_the_end(mut self, events: &Receiver<Event>) -> Ended {
        loop {
            self.reap();
            let now = clock::boot_ms();
            if self.stopping.is_none() && (self.ended.is_some() || now >= self.bound.stop_at) {
                self.overdue = self.ended.is_none();
                self.stop(self.bound.grace_ms(now));
            }
            if let Some(left) = self.stopping.as_mut().and_then(Stopping::go_on) {
                self.reap();
                return Ended { ending: self.ended, overdue: self.overdue, left };
            }
            match events.recv_timeout(self.pause(now)) {
                Ok(Event::Order(Order::Until(bound))) => self.bound = bound,
                Ok(Event::Order(Order::Pass(signal))) => self.pass(signal),
                Ok(Event::Order(Order::Stop(grace_ms))) => self.stop(grace_ms),
                Ok(Event::Alone) => self.stop(self.bound.grace_ms(clock::boot_ms())),
                Ok(Event::Child) => {}
                Err(RecvTimeoutError::Timeout) => self.wake(),
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_PAUSE),
            }
        }
    }

    fn pause(&self, now: i64) -> Duration {
        if self.stopping.is_some() {
            return LOOK_PAUSE;
        }
        TICK.min(span(self.bound.stop_at - now))
    }

    /// Begins to stop everything, or hurries.
    fn stop(&mut self, grace_ms: i64) {
        match &mut self.stopping {
            Some(stopping) => stopping.hurry(grace_ms),
            None => self.stopping = Some(Stopping::within(grace_ms)),
        }
    }

    /// The number of a command that was not reaped is nobody else's.
    fn pass(&self, signal: i32) {
        if self.ended.is_none()
            && let Some(signal) = Signal::from_named_raw(signal)
        {
            kill_process_group(self.group, signal).ok();
        }
    }

    /// Takes note of what has ended below.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == self.group {
                self.ended = ending(status);
            }
        }
    }

    /// Wakes a command that a key put to sleep: its lease goes on, and nobody else could wake it.
    fn wake(&self) {
        let group = self.group.as_raw_nonzero().get().unsigned_abs();
        let sleeps = |process: &Process| process.stands_still && process.group == group;
        if self.foreground && processes::below(std::process::id()).iter().any(sleeps) {
            kill_process_group(self.group, Signal::CONT).ok();
        }
    }
}

/// How a process ended, if it did.
pub fn ending(status: WaitStatus) -> Option<Ending> {
    let code = status.exit_status().map(Ending::Code);
    code.or_else(|| status.terminating_signal().map(Ending::Signal))
}
