//! A daemon that a test owns: started from the real program, stopped, continued and killed by its number.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tenure_client::call::{Client, Retry};

use crate::{program, waiting};

/// A running `tenure serve --private`. It is killed when it is dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    folder: PathBuf,
    /// How long it took until it said that it is ready.
    pub ready_after: Duration,
}

/// Sends a signal to one process by its number.
pub fn signal(pid: u32, signal: Signal) {
    let raw = i32::try_from(pid).expect("process numbers are small");
    let pid = Pid::from_raw(raw).expect("a process has a number");
    // A process that has ended meanwhile is what every caller wants.
    rustix::process::kill_process(pid, signal).ok();
}

/// Whether a process has ended; one that its parent has not asked about yet has ended too.
#[must_use]
pub fn has_ended(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// The command that serves a folder, speaking to a pipe. The kernel ends it with its starter, so that a test that is
/// itself ended leaves nothing behind.
pub fn serving(program: &Path, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command.args(["serve", "--private", "--folder"]).arg(folder).args(arguments);
    command.env_clear().envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Starts a command that serves, and reads the one line that it reports.
pub fn report_of(command: &mut Command) -> (Child, Value) {
    let mut child = command.spawn().expect("the program under test runs");
    let mut line = String::new();
    let output = child.stdout.take().expect("its standard output is piped");
    BufReader::new(output).read_line(&mut line).expect("the report is text");
    let report = serde_json::from_str(&line).unwrap_or_else(|error| {
        let status = child.wait();
        panic!("no report: {error} in {line:?}, {status:?}")
    });
    (child, report)
}

impl Daemon {
    /// Starts one and waits until it says that it is ready.
    #[must_use]
    pub fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let begun = Instant::now();
        let mut command = serving(program::tenure(), folder, arguments, variables);
        let (child, report) = report_of(&mut command);
        assert_eq!((&report["ready"], &report["already"]), (&true.into(), &false.into()), "{report}");
        Self { child, folder: folder.to_owned(), ready_after: begun.elapsed() }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends it at once, in the middle of whatever it does.
    pub fn kill(&mut self) -> ExitStatus {
        signal(self.child.id(), Signal::KILL);
        self.child.wait().expect("it is our child")
    }

    /// Asks it to go and waits until it has gone.
    pub fn terminate(&mut self) -> ExitStatus {
        signal(self.child.id(), Signal::TERM);
        self.child.wait().expect("it is our child")
    }

    /// Waits until it has ended by itself.
    pub fn wait(&mut self) -> ExitStatus {
        waiting::some("the daemon ends by itself", || self.child.try_wait().expect("it is our child"))
    }

    /// Makes it stand still, and waits until it does.
    pub fn stop(&self) {
        signal(self.child.id(), Signal::STOP);
        let pid = self.child.id();
        waiting::until("the daemon stands still", || {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
            tasks.flatten().all(|task| {
                let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
                stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
            })
        });
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        signal(self.child.id(), Signal::CONT);
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The process of the daemon that answers in a folder now, whoever started it.
#[must_use]
pub fn found_in(folder: &Path) -> Option<u32> {
    let once = Retry { pause_ms: 0, repetitions: 0 };
    let client = Client::new(folder, None, Box::new(|_| ())).with_retry(once);
    client.info().ok().map(|info| info.pid)
}

/// Ends a daemon that a client started, at once, and waits until it has ended.
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
    waiting::until("the daemon has ended", || has_ended(pid));
}
