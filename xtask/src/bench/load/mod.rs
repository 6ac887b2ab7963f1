//! A working day in minutes: many projects, agents and followers on a store with a long past, in little memory.

mod agents;
mod cgroup;
mod followers;
mod past;
mod returning;
mod watch;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::daemon::Daemon;
use super::disk::fsync_ms;
use super::figure::{Figure, Target, Unit, parts, quantile, table};
use super::fleet::Agents;
use super::machine::Machine;
use crate::repository;
use agents::{Deed, Times};
use watch::Watch;

/// How many projects there are.
const PROJECTS: usize = 20;
/// How many agents claim, renew, list and close.
const AGENTS: usize = 50;
/// How many tasks were finished before.
const FINISHED: usize = 100_000;
/// How many agents hold a task for the whole time and only renew it.
const HOLDERS: usize = 1_000;
/// How many follow the record.
const FOLLOWERS: usize = 20;
/// How many clients lose the daemon at the same moment and come back.
const RETURNING: usize = 200;
/// How long the daemon is away meanwhile.
const AWAY: Duration = Duration::from_secs(90);
/// The memory that the daemon may have, page cache included.
const MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// What a claim and a heartbeat may take, at the slowest hundredth.
const LATENCY_MS: f64 = 50.0;
/// What the daemon may have in use, and how much more at the end than near the beginning.
const MEMORY_MIB: f64 = 150.0;
const FLAT: f64 = 1.2;
/// What the log may grow to: the writer copies it back at 2,000 pages, and a reader can hold that up for a moment.
const LOG_MIB: f64 = 64.0;
/// How many of those who come back may come within the same tenth of a second, as a part of all.
const STAMPEDE: f64 = 0.35;
/// The page of the book.
const PAGE: &str = "docs/src/load.md";

/// Lets it run for so many minutes and judges it.
pub fn run(root: &Path, binary: &Path, machine: &Machine, minutes: u64, writes: bool) -> Result<(), String> {
    let agents = Agents::draw()?;
    let folder = root.join("load");
    past::fill(&folder, &agents)?;
    let daemon = Daemon::start(binary, &folder, &past::project(0))?;
    let memory = cgroup::limit(&daemon, MEMORY_BYTES);
    let long = Duration::from_secs(minutes * 60);
    eprintln!("bench: {minutes} minutes of load; the daemon's memory: {memory}");
    let day = day(&folder, &agents, &daemon, long)?;
    let returned = returning::measure(binary, &folder, &agents, daemon)?;
    let figures = figures(&day, &returned, fsync_ms(root)?)?;
    let rows = table(&figures);
    println!("{}\n\n{rows}", machine.line());
    if writes {
        let page = page(machine, minutes, &memory, &day, &rows);
        fs::write(repository::root().join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    }
    let missed: Vec<&str> =
        figures.iter().filter(|figure| figure.is_missed()).map(|figure| figure.name).collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("MISSED: {}", missed.join(", "))) }
}

/// What a day showed.
struct Day {
    times: Times,
    watch: Watch,
    events: u64,
    followed: usize,
}

/// Everybody at work, until the time is over.
fn day(folder: &Path, agents: &Agents, daemon: &Daemon, long: Duration) -> Result<Day, String> {
    let until = Instant::now() + long;
    let is_over = AtomicBool::new(false);
    let last = AtomicBool::new(false);
    thread::scope(|scope| {
        let followers: Vec<_> = (0..FOLLOWERS)
            .map(|number| {
                let last = &last;
                scope.spawn(move || followers::follow(folder, number, last))
            })
            .collect();
        // Somebody who asks for much and never reads it.
        let slow = followers::never_reads(folder)?;
        let watching = scope.spawn(|| watch::watch(&daemon.process, folder, &is_over));
        let holders = scope.spawn(|| agents::renew(folder, agents, HOLDERS, until));
        let workers: Vec<_> = agents
            .some(AGENTS)
            .enumerate()
            .map(|(number, agent)| scope.spawn(move || agents::work(folder, agent, number, until)))
            .collect();
        let mut times = Times::default();
        let joined = |_| "somebody at work ended early".to_owned();
        for worker in workers {
            times.add(worker.join().map_err(joined)??);
        }
        times.add(holders.join().map_err(joined)??);
        is_over.store(true, Ordering::Relaxed);
        let watch = watching.join().map_err(joined)??;
        drop(slow);
        // An event that all followers wait for as the last one.
        let events = agents::say("Good night", folder, agents)?;
        last.store(true, Ordering::Relaxed);
        let mut followed = 0;
        for follower in followers {
            let seen = follower.join().map_err(joined)??;
            if seen != events {
                return Err(format!("a follower saw {seen} as the last event, and it was {events}"));
            }
            followed += 1;
        }
        Ok(Day { times, watch, events, followed })
    })
}

fn figures(day: &Day, returned: &returning::Returned, fsync_ms: f64) -> Result<Vec<Figure>, String> {
    let mut figures = Vec::new();
    for (deed, times) in day.times.deeds() {
        let target = match deed {
            Deed::Claim | Deed::Heartbeat => Target::AtMost(LATENCY_MS),
            Deed::Note | Deed::Close | Deed::Create | Deed::List => Target::Told,
        };
        let name = deed.as_str();
        let part = |part| quantile(times, part).ok_or_else(|| format!("nobody did {name}"));
        let numbers = [
            ("count", json!(times.len())),
            ("p50_ms", json!(part(0.5)?)),
            ("p99_9_ms", json!(part(0.999)?)),
            ("slowest_ms", json!(part(1.0)?)),
        ];
        figures.push(Figure {
            name,
            what: format!("{name}, p99 of {}", times.len()),
            value: part(0.99)?,
            unit: Unit::Milliseconds,
            target,
            fsync_ms,
            parts: parts(numbers),
        });
    }
    let told = |name, what: &str, value, unit, target| Figure {
        name,
        what: what.to_owned(),
        value,
        unit,
        target,
        fsync_ms,
        parts: parts([]),
    };
    let watch = &day.watch;
    figures.push(told(
        "memory",
        "the daemon's memory, at most",
        watch.memory_mib()?,
        Unit::Mebibytes,
        Target::AtMost(MEMORY_MIB),
    ));
    figures.push(told(
        "memory_flat",
        "its last minute, to the one after its first tenth",
        watch.growth()?,
        Unit::Times,
        Target::AtMost(FLAT),
    ));
    figures.push(told(
        "log",
        "the write-ahead log, at most, with a reader that never reads",
        watch.log_mib()?,
        Unit::Mebibytes,
        Target::AtMost(LOG_MIB),
    ));
    figures.push(told(
        "returning",
        &format!("of {RETURNING} followers that lost the daemon for {AWAY:?}, those within the same 0.1 s"),
        returned.most_at_once(),
        Unit::Times,
        Target::AtMost(STAMPEDE),
    ));
    figures.push(told(
        "returned",
        "until the last of them was back",
        returned.last_ms(),
        Unit::Milliseconds,
        Target::Told,
    ));
    Ok(figures)
}

fn page(machine: &Machine, minutes: u64, memory: &str, day: &Day, rows: &str) -> String {
    format!(
        "<!-- Written by `cargo xtask bench --load --write`. Run that, do not edit this. -->\n\n\
         # Under load\n\n\
         {minutes} minutes of {AGENTS} agents in {PROJECTS} projects that claim, renew, note, list, create and close, \
         with {FINISHED} finished tasks behind them; {HOLDERS} more hold a task all the time and renew it; {} follow the \
         record and saw every one of its {} events once; one asks for much and never reads it. The daemon's memory: \
         {memory}. No request failed. Every commit is flushed.\n\n\
         Measured on {}.\n\n{rows}",
        day.followed,
        day.events,
        machine.line()
    )
}
