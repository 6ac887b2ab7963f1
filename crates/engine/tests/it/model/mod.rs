//! Random commands against a small reference model: after every step, what the engine answered and everything that
//! its questions tell equal what the model says. The model shares no code with rules or store.
//!
//! They are played on a store in memory and on PostgreSQL. `TENURE_CASES` says how many sequences are played. What a
//! failing run prints can be pasted into a named test.

mod deciding;
mod ending;
mod fleet;
mod graph;
mod played;
mod seen;
mod steps;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};
use tenure_cluster::Cluster;

pub use self::played::play;
use self::steps::Step;
pub use self::steps::steps;
use crate::world::{World, unflushed};

/// How many sequences are played unless the environment asks for more.
const CASES: u32 = 192;
/// The same on PostgreSQL, where each question is a way to another process and back.
const CASES_ON_POSTGRES: u32 = 64;
/// How often a sequence that differs there is tried again with less.
const SHRINKS_ON_POSTGRES: u32 = 400;
const STEPS_MAX: usize = 60;
/// What must have been heard, or the sequences were too dull to prove anything.
const HEARD: [&str; 16] = [
    "accepted",
    "fresh",
    "recovery",
    "resumed",
    "lease_held",
    "lease_expired",
    "superseded",
    "not_holder",
    "not_ready",
    "nothing_eligible",
    "dependency_cycle",
    "state_conflict",
    "operation_conflict",
    "session_unknown",
    "session_closed",
    "not_found",
];

#[test]
fn random_commands_do_what_the_model_says() {
    check(CASES, 20_000, World::in_memory);
}

#[test]
fn random_commands_do_what_the_model_says_on_postgresql() {
    let cluster = unflushed();
    check(CASES_ON_POSTGRES, SHRINKS_ON_POSTGRES, schemas(&cluster));
}

/// An empty store in another schema each time.
fn schemas(cluster: &Cluster) -> impl Fn() -> World {
    let number = Cell::new(0);
    move || {
        number.set(number.get() + 1);
        World::in_schema(cluster, &format!("played_{}", number.get()))
    }
}

/// Plays so many sequences, unless the environment asks for more, each on a store of its own, and panics with the shortest
/// one that differs.
fn check(usual: u32, max_shrink_iters: u32, store: impl Fn() -> World) {
    let cases = std::env::var("TENURE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let seeds = FileFailurePersistence::Direct("tests/it/model/regressions.txt");
    let config = Config {
        cases,
        max_shrink_iters,
        failure_persistence: Some(Box::new(seeds)),
        source_file: Some(file!()),
        ..Config::default()
    };
    let heard: RefCell<BTreeMap<String, u32>> = RefCell::default();
    let played = TestRunner::new(config).run(&steps(STEPS_MAX), |steps| {
        let (_, told) = play(store(), &steps).map_err(TestCaseError::fail)?;
        told.into_iter().for_each(|word| *heard.borrow_mut().entry(word).or_default() += 1);
        Ok(())
    });
    let heard = heard.into_inner();
    match played {
        Ok(()) => eprintln!("{cases} sequences: {heard:?}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
        Err(TestError::Fail(reason, steps)) => panic!("{reason}\n{}", told(&steps)),
    }
    let missing: Vec<&str> = HEARD.into_iter().filter(|word| !heard.contains_key(*word)).collect();
    assert!(cases < usual || missing.is_empty(), "never heard: {missing:?}");
}

/// Steps as they can be pasted into a test.
fn told(steps: &[Step]) -> String {
    let steps: String = steps.iter().map(|step| format!("    {step:?},\n")).collect();
    format!("[\n{steps}]")
}

/// Deliberate mistakes of the rules are noticed, whatever the store. The sequences are always the same.
#[cfg(feature = "mutants")]
#[test]
fn a_deliberate_mistake_differs_from_the_model_in_memory_and_on_postgresql() {
    use tenure_core::mutant::Mutant;

    let cluster = unflushed();
    let on_postgres = schemas(&cluster);
    let stores: [&dyn Fn() -> World; 2] = [&World::in_memory, &on_postgres];
    for mistake in [Mutant::NoFence, Mutant::AliveAtDeadline, Mutant::ClaimUnready] {
        for store in stores {
            let config =
                Config { max_shrink_iters: 0, failure_persistence: None, ..Config::with_cases(CASES) };
            let always = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            let mut runner = TestRunner::new_with_rng(config, always);
            let played = mistake.while_on(|| {
                runner.run(&steps(STEPS_MAX), |steps| {
                    play(store(), &steps).map(drop).map_err(TestCaseError::fail)
                })
            });
            let Err(TestError::Fail(reason, _)) = played else { panic!("{mistake:?} was not found") };
            assert!(reason.message().contains("the model says"), "{mistake:?}: {reason}");
            eprintln!("{mistake:?}: {reason}");
        }
    }
}
