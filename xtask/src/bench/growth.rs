//! What everything costs as a store grows: the same questions and changes at a thousand tasks and at a million.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tenure_engine::store::folder::DATABASE;

use super::daemon::Daemon;
use super::disk::fsync_ms;
use super::figure::quantile;
use super::fleet::{self, Agents, Kind};
use super::machine::Machine;
use super::plot::{Line, plot};
use super::worker::Worker;
use crate::repository;

/// How many tasks the stores have.
const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// How often each question is asked and each change made.
const TIMES: usize = 200;
/// How often words that stand in every task are looked for, and how often an import is made and a daemon started.
const FEW_TIMES: usize = 5;
/// How many tasks an import brings.
const IMPORTED: usize = 1_000;
/// How many kinds of cost are measured.
const KINDS: usize = 9;
/// The page of the book and its picture.
const PAGE: &str = "docs/src/growth.md";
const PICTURE: &str = "docs/src/growth.svg";

/// What is measured, in the order of the table.
const ROWS: [&str; KINDS] = [
    "`ready`, the first page",
    "`claim` of the next task",
    "`heartbeat`",
    "`close`",
    "`task create`",
    "`search` with one common word",
    "`search` with three common words",
    "import of 1000 tasks",
    "daemon start",
];

/// What a store of one size showed.
struct Column {
    tasks: u64,
    /// In the order of [`ROWS`]: the median in milliseconds.
    medians_ms: [f64; KINDS],
    /// The same for the slowest hundredth.
    p99_ms: [f64; KINDS],
    memory_mib: f64,
    disk_mib: f64,
    fsync_ms: f64,
}

/// Fills stores of all sizes, one after the other, and measures each.
pub fn run(root: &Path, binary: &Path, machine: &Machine, writes: bool) -> Result<(), String> {
    let agents = Agents::draw()?;
    let mut columns = Vec::new();
    for tasks in SIZES {
        eprintln!("bench: a store of {tasks} tasks");
        let folder = root.join(tasks.to_string());
        fleet::fill(&folder, &agents, tasks)?;
        columns.push(measure(&folder, &agents, binary, tasks)?);
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let table = table(&columns);
    println!("{}\n\n{table}", machine.line());
    if writes {
        let write = |path: &str, text: String| {
            fs::write(repository::root().join(path), text).map_err(|error| format!("{path}: {error}"))
        };
        write(PICTURE, picture(&columns))?;
        write(PAGE, page(machine, &table))?;
    }
    Ok(())
}

fn measure(folder: &Path, agents: &Agents, binary: &Path, tasks: u64) -> Result<Column, String> {
    let mut starts = Vec::new();
    let mut daemon = Daemon::start(binary, folder, Kind::Next.project())?;
    for _ in 0..FEW_TIMES {
        daemon.stop()?;
        daemon = Daemon::start(binary, folder, Kind::Next.project())?;
        starts.push(daemon.ready_ms);
    }
    let agent = agents.some(1).next().ok_or("there are no agents")?;
    let mut worker = Worker::connect(folder, agent, format!("growth {tasks}"))?;
    let project = Kind::Next.project();
    let mut times: [Vec<f64>; KINDS] = Default::default();
    times[8] = starts;
    for round in 0..TIMES {
        let [ready, claim, heartbeat, close, create, search, ..] = &mut times;
        timed(ready, || worker.ask(&format!("/ready?project={project}")))?;
        let held = timed(claim, || worker.claim(project))?;
        timed(heartbeat, || worker.act("heartbeat", &held, &json!({})))?;
        let criteria = json!({ "c1": "seen in the list" });
        timed(close, || worker.act("close", &held, &json!({ "criteria": criteria })))?;
        let title = format!("Keep what was measured in round {round} beside the others");
        timed(create, || worker.change("/tasks", None, &json!({ "project": project, "title": title })))?;
        timed(search, || worker.ask("/search?query=measured%20beside"))?;
    }
    for round in 0..FEW_TIMES {
        timed(&mut times[6], || worker.ask("/search?query=importer%20keep%20order"))?;
        let body = json!({ "project": project, "format": "beads", "text": export(round) });
        timed(&mut times[7], || worker.change("/imports", None, &body))?;
    }
    let memory_mib = daemon.process.memory_mib().ok_or("the daemon's memory is not told")?;
    daemon.stop()?;
    let bytes = fs::metadata(folder.join(DATABASE)).map_err(|error| error.to_string())?.len();
    let each = |part: f64| -> Result<[f64; KINDS], String> {
        let values = times.iter().map(|times| quantile(times, part).ok_or("nothing was measured".to_owned()));
        let values: Vec<f64> = values.collect::<Result<_, _>>()?;
        values.try_into().map_err(|_| "a row is missing".to_owned())
    };
    Ok(Column {
        tasks,
        medians_ms: each(0.5)?,
        p99_ms: each(0.99)?,
        memory_mib,
        disk_mib: bytes as f64 / 1024.0 / 1024.0,
        fsync_ms: fsync_ms(folder)?,
    })
}

fn timed<T>(times: &mut Vec<f64>, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let begun = Instant::now();
    let done = work()?;
    times.push(begun.elapsed().as_secs_f64() * 1000.0);
    Ok(done)
}

/// An export of another tracker with new tasks.
fn export(round: usize) -> String {
    let line = |number: usize| -> String {
        let line: Value = json!({
            "id": format!("growth-{round}-{number}"),
            "title": format!("Bring over what stood in the old list, line {number} of part {round}"),
            "description": "It stood there for a while and is as it was.",
            "status": "open",
            "priority": 2,
            "issue_type": "task",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
        });
        format!("{line}\n")
    };
    (0..IMPORTED).map(line).collect()
}

fn table(columns: &[Column]) -> String {
    let mut text = String::from("| median / p99 in ms |");
    for column in columns {
        text.push_str(&format!(" {} tasks |", column.tasks));
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(columns.len()));
    text.push('\n');
    let mut row = |name: &str, cell: &dyn Fn(&Column) -> String| {
        let cells: String = columns.iter().map(|column| format!(" {} |", cell(column))).collect();
        text.push_str(&format!("| {name} |{cells}\n"));
    };
    for (place, name) in ROWS.iter().enumerate() {
        row(name, &|column| format!("{:.2} / {:.2}", column.medians_ms[place], column.p99_ms[place]));
    }
    row("the daemon's memory, MiB", &|column| format!("{:.0}", column.memory_mib));
    row("the database, MiB", &|column| format!("{:.0}", column.disk_mib));
    row("a flush of the disk meanwhile", &|column| format!("{:.3}", column.fsync_ms));
    text
}

fn picture(columns: &[Column]) -> String {
    let sizes: Vec<f64> = columns.iter().map(|column| column.tasks as f64).collect();
    let lines: Vec<Line> = ROWS
        .iter()
        .enumerate()
        .map(|(place, name)| Line {
            name: name.replace('`', ""),
            values: columns.iter().map(|column| column.medians_ms[place]).collect(),
        })
        .collect();
    plot("What it costs as a store grows", ("tasks", "ms, median"), &sizes, &lines)
}

fn page(machine: &Machine, table: &str) -> String {
    format!(
        "<!-- Written by `cargo xtask bench --growth --write`. Run that, do not edit this. -->\n\n\
         # As a store grows\n\n\
         One agent over the socket, one request after the other; every change is flushed before it is answered. An \
         import is one request of 1000 tasks. A common word stands in every task, and a search ranks all that have \
         it.\n\n\
         Measured on {}.\n\n\
         ![Both axes in powers of ten: lines that stay level cost the same in a large store](growth.svg)\n\n\
         {table}",
        machine.line()
    )
}
