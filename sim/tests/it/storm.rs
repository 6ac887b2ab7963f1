//! The engine in a storm: fixed seeds and random ones, each played to its end.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use tenure_core::mutant::Mutant;
use tenure_core::operation::catalog::entries;
use tenure_sim::seed::Seed;
use tenure_sim::storm::check::Answered;
use tenure_sim::storm::ground::Database;
use tenure_sim::storm::{Broken, Figures, is_played, run, run_all};

/// The seeds that are always played.
const FIXED: RangeInclusive<u64> = 1..=20;
/// Those of them that are played on PostgreSQL too, where a storm takes several times as long.
const ON_POSTGRES: RangeInclusive<u64> = 15..=18;

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in [3, 8] {
        let traces =
            [(); 2].map(|()| run(&Database::Sqlite, seed).unwrap_or_else(|broken| panic!("{broken}")).1);
        assert!(traces[0] == traces[1], "seed {seed} has two traces");
    }
}

#[test]
fn in_the_storms_of_fixed_seeds_promises_hold_every_fault_bites_and_every_operation_is_played() {
    let figures = run_all(&Database::Sqlite, FIXED).unwrap_or_else(|broken| panic!("{broken}"));
    eprintln!("{figures}");
    figures.check_loud().unwrap_or_else(|quiet| panic!("{quiet}"));
}

#[test]
fn storms_that_never_carry_out_an_operation_prove_too_little() {
    let changing = || entries().into_iter().filter(is_played);
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
    let figures = run_all(&Database::Sqlite, (first..).take_while(|_| Instant::now() < until));
    eprintln!("{}", figures.unwrap_or_else(|broken| panic!("{broken}")));
}

/// The first of some seeds in whose storm a mistake breaks a promise.
fn found(database: &Database, mut seeds: RangeInclusive<u64>, mistake: Mutant) -> Box<Broken> {
    let broken = mistake.while_on(|| seeds.find_map(|seed| run(database, seed).err()));
    let broken = broken.unwrap_or_else(|| panic!("{mistake:?} was not found"));
    eprintln!("{mistake:?} shows in the storm of seed {}: {}", broken.seed, broken.why);
    broken
}

#[test]
fn each_deliberate_mistake_breaks_a_promise_in_a_storm() {
    let elsewhere = [&Mutant::OF_ACCOUNTS[..], &Mutant::OF_TOKENS, &Mutant::OF_REPORTERS].concat();
    for mistake in Mutant::ALL.into_iter().filter(|mistake| !elsewhere.contains(mistake)) {
        found(&Database::Sqlite, FIXED, mistake);
    }
}

#[test]
fn in_the_storms_of_fixed_seeds_on_postgresql_promises_hold_and_every_fault_bites() {
    let database = Database::postgres().expect("PostgreSQL");
    let (mut all, mut traces) = (Figures::default(), Vec::new());
    for seed in ON_POSTGRES.chain([*ON_POSTGRES.start()]) {
        let (figures, trace) = run(&database, seed).unwrap_or_else(|broken| panic!("{broken}"));
        all.add(&figures);
        traces.push(trace);
    }
    eprintln!("{all}");
    assert!(traces.first() == traces.last(), "the same seed has two traces");
    let quiet = all.bites.quieter_than(1);
    assert!(quiet.is_empty(), "too quiet to prove anything: {quiet:?}");
    assert!(all.restored_refused > 0, "nobody asked in an epoch that was over");
}

#[test]
fn promises_hold_in_the_storms_of_random_seeds_on_postgresql() {
    let database = Database::postgres().expect("PostgreSQL");
    let until = Instant::now() + time() / 2;
    let first = Seed::of_this_run();
    let figures = run_all(&database, (first..).take_while(|_| Instant::now() < until));
    eprintln!("{}", figures.unwrap_or_else(|broken| panic!("{broken}")));
}

#[test]
fn deliberate_mistakes_break_a_promise_in_a_storm_on_postgresql() {
    let database = Database::postgres().expect("PostgreSQL");
    for mistake in [Mutant::NoFence, Mutant::ReplayAnswersAnew, Mutant::RestoreKeepsEpoch] {
        let broken = found(&database, ON_POSTGRES, mistake).to_string();
        assert!(broken.contains("cargo xtask storm --postgresql --seed"), "{broken}");
    }
}
