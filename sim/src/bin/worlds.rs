//! Visits every small world, and says how many there are: `cargo xtask worlds`.

use std::process::ExitCode;

use tenure_sim::worlds::Mistake;
use tenure_sim::worlds::explore::explore;
use tenure_sim::worlds::step::Bounds;

/// What may happen in the worlds that are visited to the last.
const BOUNDS: Bounds = Bounds { ticks: 3, generations: 2, waits: 1, deaths: 1, restarts: 1 };
/// Fewer would prove too little.
const STATES_MIN: usize = 1_000_000;

#[expect(clippy::print_stdout, reason = "this is a command")]
fn main() -> ExitCode {
    let states_max = std::env::args().nth(1).and_then(|most| most.parse().ok()).unwrap_or(usize::MAX);
    let explored = explore(&BOUNDS, None, states_max, &mut |states, depth| {
        println!("worlds: {states} states, {depth} steps deep");
    });
    let all = if explored.complete { "all" } else { "the first" };
    println!(
        "worlds: {all} {} states, {} steps between them, at most {} from the first",
        explored.states, explored.steps, explored.depth
    );
    if let Some(trace) = explored.trace() {
        println!("worlds: a promise is broken:\n{trace}");
    }
    let is_enough = explored.states >= STATES_MIN.min(states_max);
    if explored.broken.is_some() || !is_enough {
        return ExitCode::FAILURE;
    }
    for mistake in Mistake::all() {
        let found = explore(&BOUNDS, Some(mistake), states_max, &mut |_, _| {});
        let Some(trace) = found.trace() else {
            println!("worlds: {mistake:?} was made on purpose and not found in {} states", found.states);
            return ExitCode::FAILURE;
        };
        println!("worlds: {mistake:?}, found in {} states:\n{trace}", found.states);
    }
    ExitCode::SUCCESS
}
