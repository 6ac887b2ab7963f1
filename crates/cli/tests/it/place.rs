//! A place for one test: a store, a checkout, and nothing of the environment around it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_client::call::Client;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_tenure");

pub struct Place {
    pub root: tempfile::TempDir,
    pub variables: Vec<(String, String)>,
    /// The network that its commands run in, if that is not the machine's own.
    pub network: Option<PathBuf>,
}

/// What a run gave.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    /// An empty store and an unbound checkout.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let git = root.path().join("checkout/.git");
        std::fs::create_dir_all(&git).expect("created");
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        std::fs::write(git.join("config"), "[remote \"origin\"]\n\turl = git@example.org:team/afc.git\n")
            .expect("written");
        Self { root, variables: Vec::new(), network: None }
    }

    /// The same with a project that the checkout is bound to.
    pub fn bound() -> Self {
        let place = Self::new();
        place.ok("ada", &["init", "afc"]);
        place
    }

    /// A daemon with these shorter durations.
    pub fn hurried(arguments: &[&str]) -> Self {
        let place = Self::new();
        let start = tenure_client::autostart::Start {
            program: PROGRAM.into(),
            arguments: arguments.iter().map(Into::into).collect(),
        };
        tenure_client::autostart::ensure(&place.state(), &start).expect("started");
        place.ok("ada", &["init", "afc"]);
        place
    }

    pub fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub fn checkout(&self) -> PathBuf {
        self.root.path().join("checkout")
    }

    pub fn command(&self, agent: &str, words: &[&str]) -> Command {
        let mut command = self.inside(Path::new(PROGRAM));
        command.args(words);
        if !agent.is_empty() {
            command.env("TENURE_SESSION", agent);
        }
        command.envs(self.variables.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A program here, with nothing of the environment around it.
    pub fn inside(&self, program: &Path) -> Command {
        let mut command = match self.entrance() {
            Some(network) => {
                let mut command = Command::new("/usr/bin/nsenter");
                command.arg(network).arg("--").arg(program);
                command
            }
            None => Command::new(program),
        };
        command.env_clear().current_dir(self.checkout());
        command.env("TENURE_STATE_DIR", self.state()).env("HOME", self.root.path());
        command
    }

    /// How `nsenter` is told where to go in, if this place has a network of its own.
    pub fn entrance(&self) -> Option<String> {
        self.network.as_ref().map(|network| format!("--net={}", network.display()))
    }

    pub fn run(&self, agent: &str, words: &[&str]) -> Ran {
        Ran::of(self.command(agent, words).output().expect("runs"))
    }

    /// A run with this on its standard input.
    pub fn fed(&self, agent: &str, words: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(agent, words).stdin(Stdio::piped()).spawn().expect("runs");
        child.stdin.take().expect("piped").write_all(input).expect("written");
        Ran::of(child.wait_with_output().expect("ends"))
    }

    /// A run that ends well.
    pub fn ok(&self, agent: &str, words: &[&str]) -> Ran {
        let ran = self.run(agent, words);
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
        ran
    }

    pub fn json(&self, agent: &str, words: &[&str]) -> Value {
        let ran = self.ok(agent, &[words, &["--json"]].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{words:?}: {error}: {}", ran.out))
    }

    /// A task of the bound project.
    pub fn task(&self, title: &str, more: &[&str]) -> String {
        let answer = self.json("ada", &[&["task", "create", "--title", title], more].concat());
        answer["task"]["id"].as_str().expect("an id").to_owned()
    }

    pub fn daemon(&self) -> u32 {
        self.client().info().expect("a daemon").pid
    }

    /// Ends its daemon and waits until it has let go of the store.
    pub fn stop(&self) {
        let daemon = self.daemon();
        signal(daemon, rustix::process::Signal::TERM);
        until("the daemon is gone", || tenure_client::processes::started(daemon).is_none());
    }

    /// A caller that starts no daemon.
    pub fn client(&self) -> Client {
        Client::new(&self.state(), None, Box::new(|_| ()))
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// The problem that a refusal prints as JSON.
    pub fn problem(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// Asks again until it is so. A state that never comes fails the test instead of hanging it.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        // waits because: the state is another process's and is only known by asking; a pause leaves it a core.
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a number")).expect("a process");
    rustix::process::kill_process(pid, signal).ok();
}

impl Drop for Place {
    /// Only the daemon of this very place is ended.
    fn drop(&mut self) {
        if let Ok(info) = self.client().info() {
            signal(info.pid, rustix::process::Signal::TERM);
        }
    }
}
