//! The claims again where a flush takes 4 ms, as it does on many a disk: `interpose/slow.c` is loaded before libc into
//! the daemon and into the bare loop, which runs in a process of its own for that.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::daemon::Daemon;
use super::figure::{Figure, Target, Unit, median, parts};
use super::fleet::{Agents, Kind};
use super::{Extent, Places, claims};
use crate::repository;

/// How long a flush is held up.
const FLUSH_US: &str = "4000";
/// How many times as many claims ours must answer as a loop with a commit for each.
const AHEAD: f64 = 10.0;

/// Builds the library.
fn library(folder: &Path) -> Result<PathBuf, String> {
    let (source, library) = (repository::root().join("xtask/interpose/slow.c"), folder.join("slow.so"));
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).args([&library, &source]).status();
    let is_built = built.map_err(|error| format!("cc: {error}"))?.success();
    if is_built { Ok(library) } else { Err(format!("{} does not build", source.display())) }
}

/// Measures it on stores of its own below `places.root`.
pub fn measure(places: &Places, extent: &Extent) -> Result<Figure, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["bench", INSIDE, &extent.rounds.to_string()])
        .arg(&places.root)
        .env("LD_PRELOAD", library(&places.root)?)
        .env("TENURE_FLUSH_US", FLUSH_US)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    let told: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| "what was measured on the slow disk was not told".to_owned())?;
    let list = |name: &str| -> Vec<f64> {
        told[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let middle = |name: &str| median(&list(name)).ok_or("nothing was measured on the slow disk");
    let ratios: Vec<f64> =
        list("product").iter().zip(list("single")).map(|(ours, single)| ours / single).collect();
    let numbers = [
        ("claims_per_second", json!(middle("product")?.round())),
        ("peer_per_second", json!(middle("single")?.round())),
        ("peer_claims_per_commit", json!(1)),
    ];
    Ok(Figure {
        name: "claim_slow_disk",
        what: "claims of the next task where a flush takes 4 ms, to a bare loop with a commit for each"
            .to_owned(),
        value: median(&ratios).ok_or("nothing was measured on the slow disk")?,
        unit: Unit::Times,
        target: Target::AtLeast(AHEAD),
        fsync_ms: middle("fsync_ms")?,
        parts: parts(numbers),
    })
}

/// The word by which this program is started again with the library.
pub const INSIDE: &str = "on-a-slow-disk";

/// What runs there: prints what it measured.
pub fn inside(binary: &Path, rounds: &str, root: &str, extent: &Extent) -> Result<(), String> {
    let rounds = rounds.parse().map_err(|_| "how many rounds?".to_owned())?;
    let extent = Extent { rounds, ..*extent };
    let places = Places::at(Path::new(root));
    let agents = Agents::draw()?;
    let daemon = Daemon::start(binary, &places.daemon, Kind::Next.project())?;
    let (measured, _) = claims::of_kind(&places, &agents, &extent, Kind::Next, &mut [])?;
    daemon.stop()?;
    let told = json!({
        "product": measured.product,
        "single": measured.single,
        "fsync_ms": measured.fsync_ms,
    });
    println!("{told}");
    Ok(())
}
