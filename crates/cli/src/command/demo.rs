//! `tenure demo`: the story of a claim, told by real processes in a throw-away store.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tenure_client::autostart::{self, Start};
use tenure_client::call::Client;
use tenure_client::failure::Failure;

use crate::context::Context;
use crate::environment::own_program;
use crate::interrupt;
use crate::render::plain;
use crate::shell;
use crate::stop::Stop;

/// Play the story in a throw-away store: a race, a crash, recovery, a refused write
///
/// Every step is a `tenure` command of its own process against a real daemon. It takes a few seconds, because a
/// lease has to end, and leaves nothing behind.
#[derive(clap::Args)]
pub struct Demo {}

/// The demo's lease: long enough for slow machines to work in it, short enough to wait for its end.
const LEASE_MS: i64 = 3_000;
/// The longest wait for the lease to end.
const WAIT_MAX: Duration = Duration::from_secs(12);
/// How often it is looked whether the lease has ended.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long the daemon may take to stop.
const STOP_MAX: Duration = Duration::from_secs(5);
/// The task of the story.
const TASK: &str = "demo-1";

/// Plays it.
pub fn run(_demo: &Demo, context: &Context) -> Result<(), Stop> {
    // The children of an interrupted demo end by themselves; this process stays to clean up.
    let interrupted = interrupt::flag()
        .map_err(|error| Failure::cannot_tell(format!("signals cannot be received: {error}"), "try again"))?;
    let folder = tempfile::Builder::new()
        .prefix("tenure-demo-")
        .tempdir()
        .map_err(|error| Failure::file("create a folder in", &std::env::temp_dir(), &error))?;
    let told = Stage::open(context, folder.path(), interrupted.clone()).and_then(|stage| {
        let told = story(&stage);
        stage.close();
        told
    });
    let removed = folder.close();
    if interrupted.load(Ordering::SeqCst) {
        std::process::exit(interrupt::EXIT.into());
    }
    removed.map_err(|error| Failure::file("remove", Path::new("the demo's folder"), &error))?;
    told?;
    context.print_value(
        &json!({"ok": true, "removed": true}),
        "The end. The store of this story is removed; yours begins with `tenure init` in a repository.",
    )
}

fn story(stage: &Stage) -> Result<(), Stop> {
    stage.tell("A project with two tasks; the second waits for the first.");
    stage.must("ada", &["project", "create", "demo", "--workflow", "simple"])?;
    stage.must("ada", &["task", "create", "--project", "demo", "--title", "Write the release notes"])?;
    let second =
        ["task", "create", "--project", "demo", "--title", "Publish the release", "--blocked-by", TASK];
    stage.must("ada", &second)?;

    stage.tell("Two agents, ada and grace, claim the same task at the same moment.");
    let (winner, loser) = stage.race()?;
    stage.tell(&format!("{winner} holds it. There is never a second holder; {loser} was told who has it."));

    stage.tell(&format!("{winner} records progress, and then its process dies. Nobody says goodbye."));
    stage.must(
        winner,
        &["checkpoint", TASK, "the outline is done, two sections are left", "--branch", "notes"],
    )?;

    stage.tell(&format!("{loser} asks again until the lease has ended, and then gets what {winner} left."));
    stage.take_over(loser)?;
    stage.tell("The lease ended by itself, and no work was lost.");

    stage.tell(&format!("Now {winner} wakes up and believes that it still holds the task."));
    stage.refused(winner, &["close", TASK, "--note", "finished"], 6)?;
    stage.tell("Its write came too late and changed nothing.");

    stage.tell(&format!("{loser} says what it makes of the old work, and finishes."));
    stage.must(loser, &["dispose", TASK, "--disposition", "resume"])?;
    stage.must(loser, &["close", TASK, "--note", "all sections written"])?;

    stage.tell("Every step is on record, and the record can be checked.");
    stage.must(loser, &["audit", "verify"])?;
    Ok(())
}

/// Where the story is played: a store with its daemon.
struct Stage<'a> {
    context: &'a Context,
    folder: PathBuf,
    program: PathBuf,
    client: Client,
    interrupted: Arc<AtomicBool>,
}

impl<'a> Stage<'a> {
    fn open(context: &'a Context, folder: &Path, interrupted: Arc<AtomicBool>) -> Result<Self, Stop> {
        let program = own_program()?;
        let lease = LEASE_MS.to_string();
        let arguments = ["--lease-ms", &lease, "--lease-ms-min", "100"].map(Into::into).to_vec();
        let start = Start { program: program.clone(), arguments };
        let folder = folder.join("state");
        autostart::ensure(&folder, &start)?;
        let client = Client::new(&folder, None, Box::new(|_| ()));
        Ok(Self { context, folder, program, client, interrupted })
    }

    /// Stops the daemon and waits until it has let go of the folder.
    fn close(self) {
        let Ok(info) = self.client.info() else { return };
        if let Some(pid) = i32::try_from(info.pid).ok().and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        }
        let deadline = Instant::now() + STOP_MAX;
        while tenure_client::processes::started(info.pid).is_some() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Tells a part of the story.
    fn tell(&self, text: &str) {
        if self.context.screen.json.is_none() {
            self.context.screen.data(&format!("\n{text}\n"));
        }
    }

    /// Shows a command and what it answered.
    fn show(&self, agent: &str, words: &[&str], output: &Output) {
        if self.context.screen.json.is_some() {
            return;
        }
        let words: Vec<_> = words.iter().map(|word| shell::word(word)).collect();
        let mut text = format!("  {agent}$ tenure {}\n", words.join(" "));
        for line in
            [&output.stdout, &output.stderr].into_iter().flat_map(|bytes| bytes.split(|byte| *byte == b'\n'))
        {
            if !line.is_empty() {
                text.push_str(&format!("    {}\n", plain::line(&String::from_utf8_lossy(line))));
            }
        }
        self.context.screen.data(&text);
    }

    fn command(&self, agent: &str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .args(["--quiet", "--local"])
            .env("TENURE_STATE_DIR", &self.folder)
            .env("TENURE_SESSION", agent)
            .current_dir(self.folder.parent().unwrap_or(&self.folder))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn output(&self, agent: &str, words: &[&str]) -> Result<Output, Stop> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Err(astray("the demo was interrupted"));
        }
        self.command(agent, words)
            .output()
            .map_err(|error| Failure::file("run", &self.program, &error).into())
    }

    /// A step that goes well.
    fn must(&self, agent: &str, words: &[&str]) -> Result<(), Stop> {
        self.refused(agent, words, 0)
    }

    /// A step that ends with this exit code.
    fn refused(&self, agent: &str, words: &[&str], expected: i32) -> Result<(), Stop> {
        let output = self.output(agent, words)?;
        self.show(agent, words, &output);
        if output.status.code() == Some(expected) {
            Ok(())
        } else {
            Err(astray(&format!("`{}` ended with {}", words.join(" "), output.status)))
        }
    }

    /// Two processes claim at once: one ends with 0, the other with 3. Returns winner and loser.
    fn race(&self) -> Result<(&'static str, &'static str), Stop> {
        let words = ["claim", TASK];
        // Both sessions are opened before, so that the claims alone race.
        self.output("grace", &["session", "open"])?;
        let start = |agent| {
            self.command(agent, &words).spawn().map_err(|error| Failure::file("run", &self.program, &error))
        };
        let (ada, grace) = (start("ada")?, start("grace")?);
        let end = |child: std::process::Child| {
            child.wait_with_output().map_err(|error| Failure::file("run", &self.program, &error))
        };
        let (ada, grace) = (end(ada)?, end(grace)?);
        self.show("ada", &words, &ada);
        self.show("grace", &words, &grace);
        match (ada.status.code(), grace.status.code()) {
            (Some(0), Some(3)) => Ok(("ada", "grace")),
            (Some(3), Some(0)) => Ok(("grace", "ada")),
            (ada, grace) => Err(astray(&format!("the race ended with {ada:?} and {grace:?}"))),
        }
    }

    /// Claims until the lease of the other has ended.
    fn take_over(&self, agent: &str) -> Result<(), Stop> {
        self.context.screen.remark(&format!("  (the lease takes {} seconds to end)", LEASE_MS / 1000));
        let words = ["claim", TASK];
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            let output = self.output(agent, &words)?;
            if output.status.code() != Some(3) || Instant::now() > deadline {
                self.show(agent, &words, &output);
                return if output.status.success() { Ok(()) } else { Err(astray("nobody could take over")) };
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The story did not go as it is told, and nobody can tell why.
fn astray(what: &str) -> Stop {
    Failure::cannot_tell(format!("the story went astray: {what}"), "run `tenure doctor`, and report this")
        .into()
}
