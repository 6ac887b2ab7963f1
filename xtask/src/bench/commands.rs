//! Whole processes: what a command costs whoever types it, beside a process that does nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use super::disk::{Commits, fsync_ms};
use super::figure::{Figure, Target, Unit, median, parts, quantile};
use super::fleet::Kind;
use super::{Extent, Places, claims, daemon};

/// The task that is claimed, kept and given back; the clients of the other figures come to it last.
const TASK: &str = "named-50000";
/// What a command may cost, in empty processes.
const EMPTY_PROCESSES: f64 = 3.0;

/// Builds a Rust program that does nothing.
fn empty(folder: &Path) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    std::fs::write(&source, "fn main() {}\n").map_err(|error| format!("{}: {error}", source.display()))?;
    let status = Command::new("rustc")
        .args(["--edition", "2024", "-C", "opt-level=3", "-C", "panic=abort", "-C", "strip=debuginfo", "-o"])
        .args([&program, &source])
        .status();
    let built = status.map_err(|error| format!("rustc: {error}"))?.success();
    if built { Ok(program) } else { Err("an empty program does not build".to_owned()) }
}

/// Measures the commands. The daemon of `places.daemon` runs.
pub fn measure(places: &Places, binary: &Path, extent: &Extent) -> Result<Vec<Figure>, String> {
    let empty = empty(&places.root)?;
    let commits = Commits::new(&places.root, &claims::settings(&places.played)?)?;
    let tenure = |words: &[&str]| {
        let mut command = daemon::command(binary, &places.daemon);
        command.args(words);
        command
    };
    let (claim, heartbeat, release) = (["claim", TASK], ["heartbeat", TASK], ["release", TASK]);
    let ready = ["ready", "--project", Kind::Next.project()];
    // The first claim opens the session.
    timed(tenure(&claim))?;
    timed(tenure(&release))?;

    let mut times: [Vec<f64>; 5] = Default::default();
    let mut fsyncs = Vec::new();
    for round in 0..extent.processes {
        let [nothing, asked, claimed, kept, committed] = &mut times;
        nothing.push(timed(daemon::command(&empty, &places.root))?);
        asked.push(timed(tenure(&ready))?);
        claimed.push(timed(tenure(&claim))?);
        kept.push(timed(tenure(&heartbeat))?);
        committed.push(commits.once_ms()?);
        timed(tenure(&release))?;
        if round % 20 == 0 {
            fsyncs.push(fsync_ms(&places.root)?);
        }
    }
    eprintln!("bench: {} rounds of whole processes", extent.processes);
    let [nothing, asked, claimed, kept, committed] = &times;
    let middle = |times: &[f64]| median(times).ok_or_else(|| "no process was measured".to_owned());
    let (nothing, commit, fsync_ms) = (middle(nothing)?, middle(committed)?, middle(&fsyncs)?);
    let figure = |name, what: &str, times: &[f64], commit_ms: f64| {
        let parts = parts([
            ("processes", json!(times.len())),
            ("process_ms", json!(middle(times)?)),
            ("p95_ms", json!(quantile(times, 0.95))),
            ("empty_process_ms", json!(nothing)),
            ("commit_ms", json!(commit_ms)),
        ]);
        let value = (middle(times)? - commit_ms) / nothing;
        let (what, unit, target) = (what.to_owned(), Unit::Times, Target::AtMost(EMPTY_PROCESSES));
        Ok::<_, String>(Figure { name, what, value, unit, target, fsync_ms, parts })
    };
    Ok(vec![
        figure("process_ready", "`tenure ready`, whole process, to an empty Rust process", asked, 0.0)?,
        figure("process_claim", "`tenure claim`, the same, less one fsynced commit", claimed, commit)?,
        figure("process_heartbeat", "`tenure heartbeat`, the same, less one fsynced commit", kept, commit)?,
    ])
}

/// Runs a command, which must succeed, and tells how long its whole process took in milliseconds.
fn timed(mut command: Command) -> Result<f64, String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    let took = begun.elapsed();
    if status.success() {
        return Ok(took.as_secs_f64() * 1000.0);
    }
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    Err(format!("`{}` ended with {status}", words.join(" ")))
}
