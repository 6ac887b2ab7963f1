//! Starting the private daemon: twenty commands at once find one.
//!
//! Whoever finds no daemon takes the starters' lock, looks again, and spawns its own executable as `tenure serve`.
//! The daemon says in one line on its standard output that it is ready, or why it cannot be; that is what the
//! command reports.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::FlockOperation;
use serde::Deserialize;
use tenure_core::wire;

use crate::failure::Failure;
use crate::transport;

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

/// The daemon's one line.
#[derive(Deserialize)]
struct Readiness {
    ready: bool,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    next: Option<String>,
}

/// Creates the state folder for its owner alone.
pub fn create_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| Failure::file("create the state folder", folder, &error))
}

/// Sees to it that a daemon listens. Returns whether this call started it.
pub fn ensure(folder: &Path, start: &Start) -> Result<bool, Failure> {
    create_folder(folder)?;
    let _lock = lock(folder)?;
    if transport::connect(folder).is_ok() {
        return Ok(false);
    }
    spawn(folder, start)?;
    Ok(true)
}

fn lock(folder: &Path) -> Result<File, Failure> {
    let path = folder.join(wire::START_LOCK);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    let file = file.map_err(|error| Failure::file("open", &path, &error))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| Failure::file("lock", &path, &error.into()))?;
    Ok(file)
}

fn spawn(folder: &Path, start: &Start) -> Result<(), Failure> {
    let log_path = folder.join(wire::LOG);
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&log_path);
    let log = log.map_err(|error| Failure::file("open", &log_path, &error))?;
    // What a harness left open (pipes it waits on, for example) must not be kept open by the daemon.
    close_fds::set_fds_cloexec(3, &[]);
    let variables = std::env::vars_os().filter(|(name, _)| {
        INHERITED.iter().any(|kept| *kept == name.as_os_str())
            || name.to_string_lossy().starts_with("FAKETIME")
    });
    let mut child = Command::new(&start.program)
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
        .map_err(|error| Failure::file("start", &start.program, &error))?;
    let output = child.stdout.take().expect("its standard output is piped");
    let (told, tell) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        told.send(read.map(|_| line)).ok();
    });
    let line = match tell.recv_timeout(READY_TIMEOUT) {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => return Err(not_started(folder, &error.to_string())),
        Err(_) => {
            child.kill().ok();
            child.wait().ok();
            return Err(not_started(folder, "it did not say within 10 seconds that it is ready"));
        }
    };
    match serde_json::from_str::<Readiness>(&line) {
        Ok(Readiness { ready: true, .. }) => Ok(()),
        Ok(Readiness { error, next, .. }) => {
            child.wait().ok();
            Err(Failure::cannot_tell(
                format!(
                    "the daemon could not start: {}",
                    error.unwrap_or_else(|| "no reason given".to_owned())
                ),
                next.unwrap_or_else(|| format!("read {}", log_path.display())),
            ))
        }
        Err(_) => {
            let status = child.wait().map(|status| status.to_string()).unwrap_or_default();
            Err(not_started(folder, &format!("it ended without a word ({status})")))
        }
    }
}

fn not_started(folder: &Path, why: &str) -> Failure {
    Failure::cannot_tell(
        format!("the daemon could not start: {why}"),
        format!("read {}, then run `tenure doctor`", folder.join(wire::LOG).display()),
    )
}
