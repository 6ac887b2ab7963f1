//! Starting the private daemon: twenty commands at once find one.
//!
//! Whoever finds no daemon takes the starters' lock, looks again, and spawns its own executable as `tenure serve`.
//! The daemon says in one line on its standard output that it is ready, or why it cannot be; that is what the
//! command reports.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use serde::Deserialize;
use tenure_core::wire;

use crate::failure::Failure;
use crate::{private, transport};

/// How a daemon is started.
#[derive(Debug, Clone)]
pub struct Start {
    /// The executable.
    pub program: PathBuf,
    /// What it is told besides `serve --private --folder FOLDER`: shorter times for the demo and tests.
    pub arguments: Vec<OsString>,
}

/// How long a daemon may take to say that it is ready: longer than it waits for one that is going.
const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long another command may hold the starters' lock: longer than one start takes.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);
/// How often it is looked whether the lock is free.
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// What the daemon inherits of the environment. It outlives the agent that happened to start it, whose variables
/// are not the daemon's business.
const INHERITED: [&str; 12] = [
    "HOME",
    "PATH",
    "TZ",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "TENURE_LOG",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
];

/// A line of the daemon's: its last one, unless the store is still being brought up to date.
#[derive(Deserialize)]
struct Readiness {
    ready: bool,
    #[serde(default)]
    upgrading: bool,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    next: Option<String>,
}

/// Creates the state folder for its owner alone.
pub fn create_folder(folder: &Path) -> Result<(), Failure> {
    private::create_folder(folder, private::CHANGE)
}

/// Sees to it that a daemon listens. Returns whether this call started it.
pub fn ensure(folder: &Path, start: &Start) -> Result<bool, Failure> {
    create_folder(folder)?;
    let _lock = lock(folder, LOCK_PATIENCE)?;
    if transport::connect(folder).is_ok() {
        return Ok(false);
    }
    let mut child = spawn(folder, start)?;
    let line = last_line(folder, &mut child)?;
    match serde_json::from_str::<Readiness>(&line) {
        Ok(Readiness { ready: true, .. }) => Ok(true),
        Ok(Readiness { error, next, .. }) => {
            child.wait().ok();
            Err(Failure::cannot_tell(
                format!("the daemon could not start: {}", error.as_deref().unwrap_or("no reason given")),
                next.unwrap_or_else(|| format!("read {}", folder.join(wire::LOG).display())),
            ))
        }
        Err(_) => {
            let status = child.wait().map(|status| status.to_string()).unwrap_or_default();
            Err(not_started(folder, &format!("it ended without a word ({status})")))
        }
    }
}

/// Keeps every command from starting a daemon for as long as what it returns lives.
pub fn hold_off(folder: &Path) -> Result<File, Failure> {
    create_folder(folder)?;
    lock(folder, LOCK_PATIENCE)
}

/// Takes the starters' lock. Its holder waits for a daemon's word and not for ever, but it may be suspended.
fn lock(folder: &Path, patience: Duration) -> Result<File, Failure> {
    let path = folder.join(wire::START_LOCK);
    let file = private::options().create(true).append(true).open(&path);
    let file = file.map_err(|error| Failure::file("open", &path, &error))?;
    let deadline = Instant::now() + patience;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(LOCK_PAUSE),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(not_started(folder, "another command has been at it for too long"));
            }
            Err(error) => return Err(Failure::file("lock", &path, &error.into())),
        }
    }
}

/// Starts the executable with nothing of this process but its standard output to speak on.
fn spawn(folder: &Path, start: &Start) -> Result<Child, Failure> {
    let log_path = folder.join(wire::LOG);
    let log = private::options().create(true).append(true).open(&log_path);
    let log = log.map_err(|error| Failure::file("open", &log_path, &error))?;
    // What a harness left open (pipes it waits on, for example) must not be kept open by the daemon.
    close_fds::set_fds_cloexec(3, &[]);
    let variables = std::env::vars_os().filter(|(name, _)| {
        INHERITED.iter().any(|kept| *kept == name.as_os_str())
            || name.to_string_lossy().starts_with("FAKETIME")
    });
    Command::new(&start.program)
        .args(["serve", "--private", "--folder"])
        .arg(folder)
        .args(&start.arguments)
        .env_clear()
        .envs(variables)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| Failure::file("start", &start.program, &error))
}

/// What the daemon has to say. One that says nothing for too long is ended; one that brings a large store up to date
/// says so now and then.
fn last_line(folder: &Path, child: &mut Child) -> Result<String, Failure> {
    let output = child.stdout.take().expect("its standard output is piped");
    let (told, tell) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = String::new();
            let read = output.read_line(&mut line);
            let goes_on = read.is_ok() && is_upgrading(&line);
            if told.send(read.map(|_| line)).is_err() || !goes_on {
                break;
            }
        }
    });
    loop {
        match tell.recv_timeout(READY_TIMEOUT) {
            Ok(Ok(line)) if is_upgrading(&line) => {}
            Ok(Ok(line)) => return Ok(line),
            Ok(Err(error)) => return Err(not_started(folder, &error.to_string())),
            Err(_) => {
                child.kill().ok();
                child.wait().ok();
                return Err(not_started(folder, "it did not say within 10 seconds that it is ready"));
            }
        }
    }
}

fn is_upgrading(line: &str) -> bool {
    serde_json::from_str(line).is_ok_and(|readiness: Readiness| readiness.upgrading)
}

fn not_started(folder: &Path, why: &str) -> Failure {
    Failure::cannot_tell(
        format!("the daemon could not start: {why}"),
        format!("read {}, then run `tenure doctor`", folder.join(wire::LOG).display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starter_that_hangs_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = lock(folder.path(), Duration::ZERO).expect("free");
        let failure = lock(folder.path(), Duration::from_millis(30)).expect_err("held");
        assert!(failure.to_string().contains("another command"), "{failure}");
        drop(held);
        lock(folder.path(), Duration::ZERO).expect("free again");
    }
}
