//! The engine in a storm: fixed seeds and random ones, each played to its end.

use std::time::{Duration, Instant};

use tenure_core::mutant::Mutant;
use tenure_core::operation::Effect;
use tenure_core::operation::catalog::entries;
use tenure_sim::seed::Seed;
use tenure_sim::storm::check::Answered;
use tenure_sim::storm::{Figures, run, run_all};

/// The seeds that are always played.
const FIXED: std::ops::RangeInclusive<u64> = 1..=20;

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in [3, 8] {
        let traces = [(); 2].map(|()| run(seed).unwrap_or_else(|broken| panic!("{broken}")).1);
        assert!(traces[0] == traces[1], "seed {seed} has two traces");
    }
}

#[test]
fn in_the_storms_of_fixed_seeds_promises_hold_every_fault_bites_and_every_operation_is_played() {
    let figures = run_all(FIXED).unwrap_or_else(|broken| panic!("{broken}"));
    eprintln!("{figures}");
    figures.check_loud().unwrap_or_else(|quiet| panic!("{quiet}"));
}

#[test]
fn storms_that_never_carry_out_an_operation_prove_too_little() {
    let changing = || entries().into_iter().filter(|entry| entry.spec.effect != Effect::Read);
    let names: Vec<&str> = changing().map(|entry| entry.spec.name).collect();
    for missed in &names {
        let answered = names.iter().filter(|name| *name != missed);
        let answered = answered.map(|name| (*name, Answered { accepted: 1, refused: 1 })).collect();
        assert_eq!(Figures { answered, ..Figures::default() }.unplayed(), [*missed]);
    }
}

/// How long storms of random seeds are played: `TENURE_STORM_SECONDS`, or not long.
fn time() -> Duration {
    let given = std::env::var("TENURE_STORM_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(given.unwrap_or(20))
}

#[test]
fn promises_hold_in_the_storms_of_random_seeds() {
    let until = Instant::now() + time();
    let first = Seed::of_this_run();
    let figures = run_all((first..).take_while(|_| Instant::now() < until));
    eprintln!("{}", figures.unwrap_or_else(|broken| panic!("{broken}")));
}

#[test]
fn each_deliberate_mistake_breaks_a_promise_in_a_storm() {
    for mistake in Mutant::ALL {
        let found = mistake.while_on(|| FIXED.clone().find_map(|seed| run(seed).err()));
        let broken = found.unwrap_or_else(|| panic!("{mistake:?} was not found"));
        eprintln!("{mistake:?} shows in the storm of seed {}: {}", broken.seed, broken.why);
    }
}
