//! A state folder and a place beside it for backups, for tests of both.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::backup::Manifest;
use tenure_core::model::refusal::Refusal;
use tenure_engine::backup::replace::{self, Plan, Step, restore};
use tenure_engine::backup::{BackupError, Progress, check};
use tenure_engine::{Command, Engine, Options};

use crate::world::{Agent, StillClocks, operation};

/// A state folder, and a place beside it for backups.
pub struct Scene {
    pub place: tempfile::TempDir,
    pub clocks: Arc<StillClocks>,
}

pub fn verify(file: &Path) -> Result<Manifest, BackupError> {
    check::verify(file, &mut |_| ())
}

pub fn plan(folder: &Path, file: &Path, clocks: &StillClocks) -> Result<Plan, BackupError> {
    replace::plan(folder, file, clocks, &mut |_| ())
}

/// A folder as it is now, with what its files share.
pub fn snapshot(folder: &Path, copy: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").args([folder, copy]).status();
    assert!(copied.expect("it is part of Debian").success());
}

/// An engine that is let go of at once.
pub fn close(engine: Engine) {
    engine.close();
    drop(engine);
}

pub fn done(engine: &Engine, command: Command) -> Value {
    let answer = engine.call(command).expect("accepted");
    serde_json::from_str(&answer).expect("answers are JSON")
}

pub fn ask(engine: &Engine, name: &str, input: Value) -> Value {
    let answer = engine.read(&operation(name, input), &Envelope::default()).expect("answered");
    serde_json::from_str(&answer).expect("answers are JSON")
}

impl Scene {
    pub fn new() -> Self {
        Self { place: tempfile::tempdir().expect("a folder"), clocks: StillClocks::new() }
    }

    pub fn state(&self) -> PathBuf {
        self.place.path().join("state")
    }

    pub fn file(&self) -> PathBuf {
        self.place.path().join("backup.db")
    }

    pub fn open_in(&self, folder: &Path) -> Engine {
        let options = Options { clocks: self.clocks.clone(), ..Options::default() };
        Engine::open(folder, options).expect("a store")
    }

    pub fn open(&self) -> Engine {
        self.open_in(&self.state())
    }

    /// A store with a project and a few tasks, one of them claimed.
    pub fn begun(&self) -> Engine {
        let engine = self.open();
        let bob = Agent::new("bob", 1);
        done(&engine, bob.open());
        done(&engine, bob.command(operation("project.create", json!({ "key": "afc" }))));
        work(&engine, &bob, 3);
        engine
    }

    /// A backup of a store that is closed then.
    pub fn backed_up(&self) -> Manifest {
        let engine = self.begun();
        let manifest = engine.backup(&self.file(), false).expect("a backup");
        close(engine);
        manifest
    }

    /// A restore, and what the disk holds when the process ends right after each of its steps.
    pub fn restored_in_steps(&self) -> (Plan, Vec<(Step, PathBuf)>) {
        let mut left = Vec::new();
        let plan = restore(&self.state(), &self.file(), &*self.clocks, &mut |progress| {
            if let Progress::Reached(step) = progress {
                let folder = self.place.path().join(format!("{step:?}"));
                snapshot(&self.state(), &folder);
                left.push((step, folder));
            }
        });
        (plan.expect("restored"), left)
    }

    pub fn restore(&self) -> Result<Plan, BackupError> {
        restore(&self.state(), &self.file(), &*self.clocks, &mut |_| ())
    }

    /// What a restore is refused with, both when it is only planned and when it is meant.
    pub fn refused(&self, file: &Path) -> Refusal {
        let before = contents(&self.state());
        let planned = plan(&self.state(), file, &self.clocks).expect_err("refused");
        let meant = restore(&self.state(), file, &*self.clocks, &mut |_| ()).expect_err("refused");
        assert_eq!(planned.to_string(), meant.to_string());
        assert_eq!(contents(&self.state()), before, "a refusal changes nothing");
        Refusal::from(meant)
    }
}

/// The names and bytes of what counts in a folder: the store and what is kept of it.
pub fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let counts = !name.ends_with(".lock") && !name.ends_with("-shm") && !name.ends_with("-wal");
        if counts && entry.path().is_file() {
            found.push((name, fs::read(entry.path()).expect("it is ours")));
        }
    }
    found.sort();
    found
}

/// Creates so many tasks and claims one.
pub fn work(engine: &Engine, agent: &Agent, tasks: usize) -> Vec<Value> {
    let create = |n| operation("task.create", json!({ "project": "afc", "title": format!("task {n}") }));
    let mut answers: Vec<Value> = (0..tasks).map(|n| done(engine, agent.command(create(n)))).collect();
    let input = json!({ "projects": ["afc"], "another": true });
    answers.push(done(engine, agent.command(operation("claim", input))));
    answers
}

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}
