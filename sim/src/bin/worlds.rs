//! Finds every deliberate mistake, then visits the small worlds: `worlds [STATES]`.

#![expect(clippy::print_stdout, reason = "developers read what it prints")]

use std::process::ExitCode;

use tenure_sim::worlds::Mistake;
use tenure_sim::worlds::explore::explore;
use tenure_sim::worlds::step::Bounds;

const USAGE: &str = "usage: worlds [STATES]";
/// What may happen in the worlds.
const BOUNDS: Bounds = Bounds { ticks: 3, generations: 3, waits: 1, deaths: 1, restarts: 1, restores: 1 };
/// How many states are visited when nobody says otherwise.
const STATES: usize = 1_000_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let states = match words.as_slice() {
        [] => Ok(STATES),
        [states] => states.parse().map_err(|_| USAGE.to_owned()),
        _ => Err(USAGE.to_owned()),
    };
    match states.and_then(|states| find().and_then(|()| visit(states))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Visits so many states, the nearest first.
fn visit(states_max: usize) -> Result<(), String> {
    let explored = explore(&BOUNDS, None, states_max, &mut |states, depth| {
        println!("worlds: {states} states, {depth} steps from the first");
    });
    if let Some(trace) = explored.trace() {
        return Err(format!("worlds: a promise is broken:\n{trace}"));
    }
    println!(
        "worlds: every promise holds in {} states, {} steps between them: all within {} steps from the first",
        explored.states,
        explored.steps,
        if explored.complete { explored.depth } else { explored.depth - 1 }
    );
    Ok(())
}

/// Makes every deliberate mistake.
fn find() -> Result<(), String> {
    for mistake in Mistake::all() {
        let found = explore(&BOUNDS, Some(mistake), STATES, &mut |_, _| {});
        let Some(trace) = found.trace() else {
            return Err(format!("worlds: {mistake:?} is not found in {} states", found.states));
        };
        println!("worlds: {mistake:?}, found in {} states:\n{trace}", found.states);
    }
    Ok(())
}
