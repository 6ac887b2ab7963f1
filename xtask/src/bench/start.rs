//! How soon a daemon answers after it was started.

use std::path::Path;

use serde_json::json;

use super::daemon::Daemon;
use super::disk::fsync_ms;
use super::figure::{Figure, Target, Unit, median, parts};
use super::fleet::{Kind, TASKS};
use super::{Extent, Places};

/// Starts daemons one after the other on the full store. The last one goes on running.
pub fn measure(places: &Places, binary: &Path, extent: &Extent) -> Result<(Figure, Daemon), String> {
    let mut daemon = Daemon::start(binary, &places.daemon, Kind::Next.project())?;
    let (mut times, mut fsyncs) = (Vec::new(), Vec::new());
    for _ in 0..extent.starts {
        daemon.stop()?;
        fsyncs.push(fsync_ms(&places.root)?);
        daemon = Daemon::start(binary, &places.daemon, Kind::Next.project())?;
        times.push(daemon.ready_ms);
    }
    eprintln!("bench: {} starts of a daemon", times.len());
    let nothing = || "no start was measured".to_owned();
    let numbers = [
        ("starts", json!(times.len())),
        ("slowest_ms", json!(times.iter().copied().fold(0.0, f64::max))),
        ("memory_mib", json!(daemon.process.memory_mib())),
    ];
    let figure = Figure {
        name: "daemon_start",
        what: format!("daemon start with {TASKS} tasks, to the first answer to `ready`"),
        value: median(&times).ok_or_else(nothing)?,
        unit: Unit::Milliseconds,
        target: Target::AtMost(100.0),
        fsync_ms: median(&fsyncs).ok_or_else(nothing)?,
        parts: parts(numbers),
    };
    Ok((figure, daemon))
}
