//! The product: its binary, built for release, and a daemon of it that ends with the bench.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::fleet::Kind;
use super::wire;
use crate::repository;

/// How long a daemon may take to answer first, and to go.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a starting daemon is tried.
const TRY_EVERY: Duration = Duration::from_micros(200);

/// Builds the product for release.
pub fn build() -> Result<PathBuf, String> {
    eprintln!("bench: building the release of `tenure`");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "tenure"])
        .current_dir(repository::root())
        .stdin(Stdio::null())
        .status();
    if !status.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err("the release of `tenure` does not build".to_owned());
    }
    // This program was built into the same folder.
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = own.with_file_name("tenure");
    if binary.is_file() { Ok(binary) } else { Err(format!("{} is not there", binary.display())) }
}

/// A running daemon, which ends with this value.
pub struct Daemon {
    child: Child,
    folder: PathBuf,
    /// How long it took from its start to its first answer to `ready`, in milliseconds.
    pub ready_ms: f64,
}

impl Daemon {
    /// Starts a daemon for a folder and waits until it has answered `ready`.
    pub fn start(binary: &Path, folder: &Path) -> Result<Self, String> {
        let begun = Instant::now();
        let child = command(binary, folder)
            .args(["serve", "--folder"])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        let mut daemon = Self { child, folder: folder.to_owned(), ready_ms: 0.0 };
        let target = format!("{}/ready?project={}", tenure_core::wire::API, Kind::Next.project());
        loop {
            if let Ok(stream) = wire::connect(&daemon.folder) {
                wire::get(&stream, &target)?;
                daemon.ready_ms = begun.elapsed().as_secs_f64() * 1000.0;
                return Ok(daemon);
            }
            let ended = daemon.child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                return Err(format!("the daemon did not start; its log is in {}", folder.display()));
            }
            sleep(TRY_EVERY);
        }
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
        kill_process(pid, Signal::TERM).map_err(|error| error.to_string())?;
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if self.child.try_wait().map_err(|error| error.to_string())?.is_some() {
                return Ok(());
            }
            sleep(TRY_EVERY);
        }
        self.child.kill().and_then(|()| self.child.wait()).map_err(|error| error.to_string())?;
        Err("the daemon did not go when it was asked".to_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("bench: {error}");
        }
    }
}

/// A command of the product with nothing of the developer's own surroundings.
pub fn command(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    command
        .env_clear()
        .env("TENURE_STATE_DIR", folder)
        .env("TENURE_SESSION", "bench")
        .env("HOME", folder)
        .current_dir(folder);
    command
}
