//! The product: its binary, built for release, and a daemon of it that ends with the bench.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::Signal;

use super::process::Process;
use super::wire::{self, Request};
use crate::repository;

/// What a slow disk is made of passes on to whatever is started: the library below libc, and the delay it makes.
const PASSED_ON: [&str; 2] = ["LD_PRELOAD", "TENURE_FLUSH_US"];

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
    /// Its process.
    pub process: Process,
    /// How long it took from its start to its first answer to `ready`, in milliseconds.
    pub ready_ms: f64,
}

impl Daemon {
    /// Starts a daemon for a folder and waits until it has answered `ready` for a project.
    pub fn start(binary: &Path, folder: &Path, project: &str) -> Result<Self, String> {
        Self::serve(binary, folder, project, &[])
    }

    /// The same, with more to say to `serve`.
    pub fn serve(binary: &Path, folder: &Path, project: &str, words: &[&str]) -> Result<Self, String> {
        let begun = Instant::now();
        let mut serve = command(binary, folder);
        serve.args(["serve", "--folder"]).arg(folder).args(words).stderr(Stdio::null());
        let path = format!("/ready?project={project}");
        let process = Process::start(&mut serve, Signal::TERM, || match wire::connect(folder) {
            Ok(stream) => wire::ask(&stream, Request::get(&path)).map(|_| true),
            Err(_) => Ok(false),
        })
        .map_err(|error| format!("{error}; its log is in {}", folder.display()))?;
        Ok(Self { process, ready_ms: begun.elapsed().as_secs_f64() * 1000.0 })
    }

    /// Asks it to go and waits until it has.
    pub fn stop(self) -> Result<(), String> {
        self.process.stop()
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
    for name in PASSED_ON {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command
}
