//! `tenure run` as it is typed: what its command's end does to the task, and what its own end does to the command.

mod endings;
mod kills;
mod losses;
mod terminal;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command};

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_client::processes;
use tenure_core::model::event::{Event, EventKind};
use tenure_core::model::ids::TaskId;
use tenure_sim::agent::{Agent, client};
use tenure_sim::daemon::{self, Daemon};
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::shell::{Ran, Shell};
use tenure_sim::{store, waiting};

/// A command that says three numbers: its own, a child's in its group, and a child's in a session of its own.
const THREE: &str = "echo $$; sleep 1000 & echo $!; setsid sleep 1000 & echo $!; wait";

/// A store with a project, and somebody who types.
struct Story {
    daemon: Daemon,
    founder: Agent,
    shell: Shell,
    place: Place,
}

impl Story {
    fn new() -> Self {
        Self::with(&[])
    }

    /// The same with a daemon that was told of shorter durations.
    fn with(arguments: &[&str]) -> Self {
        let place = Place::new();
        let daemon = Daemon::start(place.state(), arguments, &[]);
        let founder = Agent::open(client(place.state()), "founder");
        create_project(&founder);
        let shell = Shell::new(place.state(), &place.checkout()).named("ada");
        Self { daemon, founder, shell, place }
    }

    /// The same with leases of so many milliseconds.
    fn leasing(lease_ms: i64) -> Self {
        let lease = lease_ms.to_string();
        Self::with(&["--lease-ms", &lease, "--lease-ms-min", "100"])
    }

    fn task(&self) -> TaskId {
        self.task_with(&json!({}))
    }

    fn task_with(&self, fields: &Value) -> TaskId {
        let mut input = json!({ "project": PROJECT, "title": "work" });
        for (name, value) in fields.as_object().expect("fields") {
            input[name] = value.clone();
        }
        let created = self.founder.mutate("task.create", &input).expect("it is created");
        created["task"]["id"].as_str().expect("an id").parse().expect("which is valid")
    }

    /// Runs a script for a task, to its end.
    fn run(&self, task: &TaskId, options: &[&str], script: &str) -> Ran {
        let task = task.to_string();
        let words = [&["run", &task][..], options, &["--", "sh", "-c", script]].concat();
        self.shell.run(&words)
    }

    /// Starts a script for a task.
    fn start(&self, task: &TaskId, options: &[&str], script: &str) -> Running {
        let task = task.to_string();
        let words = [&["run", &task][..], options, &["--", "sh", "-c", script]].concat();
        Running::of(&mut self.shell.command(&words))
    }

    fn events(&self) -> Vec<Event> {
        store::events(&self.founder.client)
    }

    /// How attempts at a task ended, in order.
    fn endings(&self, task: &TaskId) -> Vec<EventKind> {
        let of_task = self.events().into_iter().filter(|event| event.task.as_ref() == Some(task));
        let ends = |kind: &EventKind| {
            matches!(
                kind,
                EventKind::TaskClosed
                    | EventKind::TaskHandedOff
                    | EventKind::TaskReleased
                    | EventKind::TaskCancelled
            )
        };
        of_task.map(|event| event.kind).filter(ends).collect()
    }

    /// Everything that was written about a task.
    fn texts(&self, task: &TaskId) -> String {
        store::texts(&self.founder.client, task).into_keys().collect::<Vec<_>>().join("\n")
    }
}

/// A `tenure run` on its way.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the program under test runs");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, output }
    }

    /// The next line that the command says.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("commands print text");
        line.trim_end().to_owned()
    }

    /// The next line, which is a process's number.
    fn number(&mut self) -> u32 {
        let line = self.line();
        line.parse().unwrap_or_else(|_| panic!("{line:?} is no number: {}", self.complaint()))
    }

    fn complaint(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().expect("it is piped").read_to_string(&mut text).expect("it is text");
        text
    }

    fn signal(&self, signal: Signal) {
        daemon::signal(self.child.id(), signal);
    }

    /// Waits until `run` has ended and nobody holds its outputs any more.
    fn end(mut self) -> Ran {
        let mut out = String::new();
        self.output.read_to_string(&mut out).expect("commands print text");
        let ran = Ran::of(self.child.wait_with_output().expect("it is our child"));
        Ran { out, ..ran }
    }
}

/// The process that guards a command.
fn guard_of(command: u32) -> u32 {
    processes::process(command).expect("the command lives").parent
}

fn stand_still(pid: u32) {
    daemon::signal(pid, Signal::STOP);
    waiting::until("it stands still", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    });
}

fn gone(pids: &[u32]) {
    for pid in pids {
        waiting::until("it has ended", || daemon::has_ended(*pid));
    }
}
