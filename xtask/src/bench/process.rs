//! A server that the bench started: it ends with the value that stands for it.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a server may take to answer first, and to go.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a server that starts or ends is looked at.
const TRY_EVERY: Duration = Duration::from_micros(200);

/// A running server.
pub struct Process {
    name: String,
    child: Child,
    signal: Signal,
}

impl Process {
    /// Starts a server and waits until `answers` says that it serves. `signal` asks it to end.
    pub fn start(
        command: &mut Command,
        signal: Signal,
        mut answers: impl FnMut() -> Result<bool, String>,
    ) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let begun = Instant::now();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut process = Self { child: child.map_err(|error| format!("{name}: {error}"))?, name, signal };
        while !answers()? {
            let ended = process.child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                return Err(format!("{} did not start", process.name));
            }
            sleep(TRY_EVERY);
        }
        Ok(process)
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How much memory it has in use, in MiB.
    pub fn memory_mib(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib / 1024.0)
    }

    /// Asks it to go and waits until it has.
    pub fn stop(mut self) -> Result<(), String> {
        self.end()
    }

    fn end(&mut self) -> Result<(), String> {
        if self.child.try_wait().map_err(|error| error.to_string())?.is_some() {
            return Ok(());
        }
        let pid = Pid::from_child(&self.child);
        kill_process(pid, self.signal).map_err(|error| error.to_string())?;
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if self.child.try_wait().map_err(|error| error.to_string())?.is_some() {
                return Ok(());
            }
            sleep(TRY_EVERY);
        }
        self.child.kill().and_then(|()| self.child.wait()).map_err(|error| error.to_string())?;
        Err(format!("{} did not go when it was asked", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("bench: {error}");
        }
    }
}
