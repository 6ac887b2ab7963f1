//! Stopping everything below this process: asked first, ended after a grace.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tenure_client::clock;
use tenure_client::processes::{self, Process};

/// How often it is looked who is left.
pub const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// How long a process that was ended may take to go. One that waits for a broken disk never goes.
const GOING_MS: i64 = 10_000;

/// A stop on its way.
#[derive(Debug)]
pub struct Stopping {
    end_at: i64,
    asked: BTreeSet<(u32, u64)>,
    /// The last look found nobody.
    nobody: bool,
}

impl Stopping {
    /// Begins one with so much grace.
    pub fn within(grace_ms: i64) -> Self {
        Self { end_at: clock::boot_ms() + grace_ms, asked: BTreeSet::new(), nobody: false }
    }

    /// Leaves no more grace than this.
    pub fn hurry(&mut self, grace_ms: i64) {
        self.end_at = self.end_at.min(clock::boot_ms() + grace_ms);
    }

    /// Goes on: whoever is met for the first time is asked to end, and after the grace everybody is ended. Returns
    /// who is left once nothing more can be done; usually nobody. It takes two looks to be sure of that: one may miss a
    /// process whose parent ends while it is looked.
    pub fn go_on(&mut self) -> Option<Vec<u32>> {
        let left: Vec<Process> = below().collect();
        let now = clock::boot_ms();
        let (nobody, was_nobody) = (left.is_empty(), self.nobody);
        self.nobody = nobody;
        if nobody && was_nobody || now >= self.end_at + GOING_MS {
            return Some(left.iter().map(|process| process.pid).collect());
        }
        for process in &left {
            if now >= self.end_at {
                send(process, Signal::KILL);
            } else if self.asked.insert((process.pid, process.started)) {
                send(process, Signal::TERM);
                // One that stands still hears nothing.
                send(process, Signal::CONT);
            }
        }
        None
    }

    /// Goes on to the end.
    pub fn complete(mut self) -> Vec<u32> {
        loop {
            if let Some(left) = self.go_on() {
                return left;
            }
            std::thread::sleep(LOOK_PAUSE);
        }
    }
}

/// The processes below this one, without coordinators: a store's daemon outlives whoever happened to start it.
fn below() -> impl Iterator<Item = Process> {
    let all = processes::below(std::process::id());
    all.into_iter().filter(|process| !is_coordinator(process.pid))
}

fn is_coordinator(pid: u32) -> bool {
    let words = processes::process(pid).map(|process| process.words).unwrap_or_default();
    words.get(1..3).is_some_and(|words| words == ["serve", "--private"])
}

/// Signals this very process, and none that got its number meanwhile.
fn send(process: &Process, signal: Signal) {
    let Some(pid) = number(process.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if processes::started(process.pid) == Some(process.started) {
        // Another user's process cannot be signalled; it stays on the list of who is left.
        pidfd_send_signal(handle, signal).ok();
    }
}

/// A process's number as the kernel takes it.
pub fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
