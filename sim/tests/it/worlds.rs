//! Every small world keeps the promises, and every deliberate mistake is found.

use tenure_core::mutant::Mutant;
use tenure_sim::worlds::explore::explore;
use tenure_sim::worlds::step::{Ask, Bounds, Step};
use tenure_sim::worlds::{Flaw, Mistake};

#[test]
fn in_every_small_world_the_promises_hold() {
    let bounds = Bounds { ticks: 3, generations: 2, waits: 1, deaths: 1, restarts: 1, restores: 1 };
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
    let bounds = Bounds { ticks: 3, generations: 3, waits: 1, deaths: 1, restarts: 1, restores: 1 };
    for mistake in Mistake::all() {
        let explored = explore(&bounds, Some(mistake), 400_000, &mut |_, _| {});
        let trace = explored.trace();
        eprintln!("worlds: {mistake:?}, {} states\n{}", explored.states, trace.clone().unwrap_or_default());
        assert!(trace.is_some(), "{mistake:?} survives {} states", explored.states);
    }
}

#[test]
fn a_mistake_that_only_a_repetition_shows_is_found_by_one() {
    let bounds = Bounds { ticks: 3, generations: 3, waits: 1, deaths: 1, restarts: 1, restores: 1 };
    let rules = [Mutant::ReplayNeedsLease, Mutant::ReplayAnswersAnew].map(Mistake::Rule);
    for mistake in rules.into_iter().chain([Mistake::Store(Flaw::ReceiptOutside)]) {
        let explored = explore(&bounds, Some(mistake), 400_000, &mut |_, _| {});
        let (promise, steps) = explored.broken.unwrap_or_else(|| panic!("{mistake:?} survives"));
        let repeats = steps.iter().filter(|step| matches!(step, Step::Agent(_, Ask::Again, _)));
        assert_eq!(repeats.count(), 1, "{mistake:?}: {steps:?}");
        assert!(promise.starts_with("P4"), "{mistake:?}: {promise}");
    }
}
