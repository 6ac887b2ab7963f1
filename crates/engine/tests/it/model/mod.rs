//! Random commands against a small reference model: after every step, what the engine answered and everything that
//! its questions tell equal what the model says. The model shares no code with rules or store.
//!
//! `TENURE_CASES` says how many sequences are played. What a failing run prints can be pasted into a named test.

mod deciding;
mod ending;
mod fleet;
mod graph;
mod played;
mod seen;
mod steps;

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};

pub use self::played::play;
pub use self::steps::steps;

/// How many sequences are played unless the environment asks for more.
const CASES: u32 = 192;
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
    let cases = std::env::var("TENURE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let seeds = FileFailurePersistence::Direct("tests/it/model/regressions.txt");
    let config = Config {
        cases,
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(seeds)),
        source_file: Some(file!()),
        ..Config::default()
    };
    let heard: RefCell<BTreeMap<String, u32>> = RefCell::default();
    let played = TestRunner::new(config).run(&steps(STEPS_MAX), |steps| {
        let (_, told) = play(&steps).map_err(TestCaseError::fail)?;
        told.into_iter().for_each(|word| *heard.borrow_mut().entry(word).or_default() += 1);
        Ok(())
    });
    let heard = heard.into_inner();
    match played {
        Ok(()) => eprintln!("{cases} sequences: {heard:?}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
        Err(TestError::Fail(reason, steps)) => {
            let steps: String = steps.iter().map(|step| format!("    {step:?},\n")).collect();
            panic!("{reason}\n[\n{steps}]");
        }
    }
    let missing: Vec<&str> = HEARD.into_iter().filter(|word| !heard.contains_key(*word)).collect();
    assert!(cases < CASES || missing.is_empty(), "never heard: {missing:?}");
}
