//! Whether a question costs more where there is more: `ready` on the full store beside a small one.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::daemon::Daemon;
use super::disk::fsync_ms;
use super::figure::{Figure, Target, Unit, median, parts};
use super::fleet::{self, Agents, Kind, TASKS};
use super::wire::{self, Request};
use super::{Extent, Places};

/// The small store's tasks.
const FEW: u64 = 1_000;
/// What the answer from the full store may cost, in answers from the small one.
const GROWTH: f64 = 1.3;
/// How many questions are asked of each in a round.
const QUESTIONS: usize = 200;

/// Measures it. The daemon of `places.daemon` runs, and nobody else asks it anything.
pub fn ready(places: &Places, agents: &Agents, binary: &Path, extent: &Extent) -> Result<Figure, String> {
    let folder = places.root.join("small");
    fleet::fill(&folder, agents, FEW)?;
    let small = Daemon::start(binary, &folder, Kind::Next.project())?;
    let path = format!("/ready?project={}", Kind::Next.project());
    let streams = [&folder, &places.daemon].map(|folder| wire::connect(folder));
    let [few, many] = streams.map(|stream| stream.map_err(|error| error.to_string()));
    let streams = [few?, many?];
    let (mut ratios, mut times_ms) = (Vec::new(), [Vec::new(), Vec::new()]);
    // The first round warms both and is not counted.
    for round in 0..=extent.rounds {
        let mut slice = [Vec::new(), Vec::new()];
        for _ in 0..QUESTIONS {
            for (stream, times) in streams.iter().zip(&mut slice) {
                let begun = Instant::now();
                wire::ask(stream, Request::get(&path))?;
                times.push(begun.elapsed().as_secs_f64() * 1000.0);
            }
        }
        if round > 0 {
            let [few, many] = [middle(&slice[0])?, middle(&slice[1])?];
            ratios.push(many / few);
            times_ms[0].push(few);
            times_ms[1].push(many);
        }
    }
    small.stop()?;
    let numbers = [
        ("questions", json!(ratios.len() * QUESTIONS)),
        ("few_ms", json!(middle(&times_ms[0])?)),
        ("many_ms", json!(middle(&times_ms[1])?)),
    ];
    Ok(Figure {
        name: "ready_growth",
        what: format!("`ready` over the socket at {TASKS} tasks, to the same at {FEW}"),
        value: middle(&ratios)?,
        unit: Unit::Times,
        target: Target::AtMost(GROWTH),
        fsync_ms: fsync_ms(&places.root)?,
        parts: parts(numbers),
    })
}

fn middle(times: &[f64]) -> Result<f64, String> {
    median(times).ok_or_else(|| "no question was asked".to_owned())
}
