//! The figures: what Tenure takes and gives, each beside a peer or a limit that was measured in the same run.
//!
//! Only ratios are judged, since an absolute number says more about the machine and its other work than about us.
//! Peers and ours take turns in short slices. A peer that is absent and a slice with too little in it fail the run; no
//! row is left out in silence. A row is a function that returns figures, and stands in [`measure`].

mod authority;
mod bare;
mod claims;
mod clients;
mod commands;
mod daemon;
mod disk;
mod figure;
mod fleet;
mod growth;
mod load;
mod machine;
mod peers;
mod plot;
mod process;
mod reads;
mod servers;
mod slow;
mod start;
mod wakes;
mod wire;
mod worker;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tenure_engine::store::folder::DATABASE;

use crate::{repository, tools};
use figure::{Figure, table};
use fleet::{Agents, CLIENTS, TASKS};
use machine::Machine;

/// The page of the book.
const PAGE: &str = "docs/src/performance.md";

/// How much is measured.
pub struct Extent {
    /// How many rounds of slices.
    pub rounds: usize,
    /// How long a slice of the product takes.
    pub slice: Duration,
    /// How many processes of each kind are started.
    pub processes: usize,
    /// How many daemons are started.
    pub starts: usize,
    /// When the run gives up; building is not counted.
    limit: Duration,
}

const FULL: Extent = Extent {
    rounds: 5,
    slice: Duration::from_millis(600),
    processes: 200,
    starts: 9,
    limit: Duration::from_secs(900),
};
const QUICK: Extent = Extent {
    rounds: 3,
    slice: Duration::from_millis(300),
    processes: 40,
    starts: 3,
    limit: Duration::from_secs(180),
};

/// What is measured alone, because it takes long.
enum Long {
    /// One and two servers on one PostgreSQL.
    Servers,
    /// Stores of all sizes.
    Growth,
    /// Everybody at work.
    Load {
        /// For how long.
        minutes: u64,
    },
}

/// How long the load lasts.
const LOAD_MINUTES: u64 = 20;

/// The folders of a run, all on the disk of the build.
pub struct Places {
    /// What is gone afterwards.
    pub root: PathBuf,
    /// The daemon's store.
    pub daemon: PathBuf,
    /// A copy of it on which the engine is recorded.
    pub recorded: PathBuf,
    /// A copy of it that belongs to the bare loop.
    pub played: PathBuf,
}

/// Runs the bench with the words after `bench`.
pub fn run(words: &[&str]) -> Result<(), String> {
    if let [slow::INSIDE, rounds, root] = words {
        let binary = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("tenure");
        return slow::inside(&binary, rounds, root, &FULL);
    }
    let (mut extent, mut writes, mut long) = (&FULL, false, None);
    let mut left = words.iter();
    while let Some(word) = left.next() {
        match *word {
            "--quick" => extent = &QUICK,
            "--write" => writes = true,
            "--servers" => long = Some(Long::Servers),
            "--growth" => long = Some(Long::Growth),
            "--load" => long = Some(Long::Load { minutes: LOAD_MINUTES }),
            "--minutes" => {
                let minutes = left.next().and_then(|minutes| minutes.parse().ok());
                long = Some(Long::Load { minutes: minutes.ok_or("--minutes takes a number")? });
            }
            other => return Err(format!("`{other}` is unknown; `cargo xtask` lists what `bench` takes")),
        }
    }
    if cfg!(debug_assertions) {
        return again_for_release(words);
    }
    tools::ensure_peers()?;
    let binary = daemon::build()?;
    let folder = binary.with_file_name("").join("../bench");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    disk::refuse_memory(&folder)?;
    let root =
        tempfile::Builder::new().prefix("run-").tempdir_in(&folder).map_err(|error| error.to_string())?;
    let machine = Machine::ask()?;
    match long {
        Some(Long::Servers) => return servers::run(root.path(), &binary, &machine, writes),
        Some(Long::Growth) => return growth::run(root.path(), &binary, &machine, writes),
        Some(Long::Load { minutes }) => {
            return load::run(root.path(), &binary, &machine, minutes, writes);
        }
        None => {}
    }
    let begun = Instant::now();
    let (figures, durability) = measure(root.path(), &binary, extent)?;
    let took = begun.elapsed();
    report(&folder, &machine, &figures, durability, writes)?;
    if took > extent.limit {
        return Err(format!("the bench took {took:.0?}; it may take {:?}", extent.limit));
    }
    let missed: Vec<&str> =
        figures.iter().filter(|figure| figure.is_missed()).map(|figure| figure.name).collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("MISSED: {}", missed.join(", "))) }
}

/// The peers live in this program, so it must be as fast as the product.
fn again_for_release(words: &[&str]) -> Result<(), String> {
    eprintln!("bench: building this program for release");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench"])
        .args(words)
        .current_dir(repository::root())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    // The release has said what was missed.
    if status.success() { Ok(()) } else { Err(format!("bench: {status}")) }
}

/// Every row, in the order of the table, and how durable the commits were.
fn measure(root: &Path, binary: &Path, extent: &Extent) -> Result<(Vec<Figure>, &'static str), String> {
    let begun = Instant::now();
    let in_time = || {
        let is_late = begun.elapsed() > extent.limit;
        if is_late { Err(format!("the bench gave up after {:.0?}", begun.elapsed())) } else { Ok(()) }
    };
    let agents = Agents::draw()?;
    let [places, slow] = prepare(root, &agents)?;
    let durability = claims::settings(&places.played)?.durability()?;
    in_time()?;
    let (start, daemon) = start::measure(&places, binary, extent)?;
    in_time()?;
    let ready = reads::ready(&places, &agents, binary, extent)?;
    let mut rivals = peers::start(root)?;
    in_time()?;
    let mut figures = claims::measure(&places, &agents, extent, &mut rivals)?;
    drop(rivals);
    in_time()?;
    figures.push(authority::measure(root, binary, &agents, extent)?);
    figures.push(slow::measure(&slow, extent)?);
    in_time()?;
    figures.extend(commands::measure(&places, binary, extent)?);
    figures.push(ready);
    figures.push(wakes::measure(&places, &agents, extent)?);
    figures.push(start);
    daemon.stop()?;
    Ok((figures, durability))
}

/// Fills one store and copies it for everybody who changes it.
fn prepare(root: &Path, agents: &Agents) -> Result<[Places; 2], String> {
    let places = Places::at(root);
    let slow = Places::at(&root.join("slow"));
    fleet::fill(&places.daemon, agents, TASKS)?;
    let flush = |folder: &Path| fs::File::open(folder.join(DATABASE)).and_then(|file| file.sync_all());
    flush(&places.daemon).map_err(|error| format!("{}: {error}", places.daemon.display()))?;
    for copy in [&places.recorded, &places.played, &slow.daemon, &slow.recorded, &slow.played] {
        let copied = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(copy)
            .and_then(|()| fs::copy(places.daemon.join(DATABASE), copy.join(DATABASE)))
            .and_then(|_| flush(copy));
        copied.map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    Ok([places, slow])
}

impl Places {
    /// Those below a folder.
    fn at(root: &Path) -> Self {
        let folder = |name: &str| root.join(name);
        Self {
            root: root.to_owned(),
            daemon: folder("daemon"),
            recorded: folder("recorded"),
            played: folder("played"),
        }
    }
}

fn report(
    folder: &Path,
    machine: &Machine,
    figures: &[Figure],
    durability: &str,
    writes: bool,
) -> Result<(), String> {
    let rows = table(figures);
    println!("{}\n{durability}; {CLIENTS} clients; {TASKS} tasks\n\n{rows}", machine.line());
    let document = json!({
        "date": machine.date,
        "machine": machine.to_json(),
        "versions": machine.versions,
        "durability": durability,
        "clients": CLIENTS,
        "tasks": TASKS,
        "figures": figures.iter().map(Figure::to_json).collect::<Vec<_>>(),
    });
    let write = |path: &Path, text: String| {
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write(&folder.join("figures.json"), format!("{document:#}\n"))?;
    if writes {
        write(&repository::root().join(PAGE), page(machine, figures, durability))?;
    }
    Ok(())
}

/// The page of the book.
fn page(machine: &Machine, figures: &[Figure], durability: &str) -> String {
    format!(
        "<!-- Written by `cargo xtask bench --write`. Run that, do not edit this. -->\n\n\
         # Figures\n\n\
         Each row was measured beside its peer or limit in the same run, in short slices that take turns; the median \
         counts. A ratio says something on any machine, an absolute number only on this one. `fsync` is what the disk \
         took to overwrite a page and flush it while the row was measured.\n\n\
         Measured on {}. Commits: {durability}. {CLIENTS} clients, {TASKS} tasks.\n\n{}\n\
         The bare loop is the database alone in one process: the statements, keys and groups of the product, recorded \
         from the engine and played again without HTTP, JSON and rules. `cargo xtask bench` repeats all of this.\n",
        machine.line(),
        table(figures)
    )
}
