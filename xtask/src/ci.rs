//! Everything that must hold before a change is merged, in the order in which a mistake is cheapest to hear of.
//!
//! The first failure stops the run and names the command to repeat. The tests come last, so that the output ends
//! with the test runner's own summary.

use std::time::Instant;

use crate::{cargo, docs, proofs, tidy, tools};

/// How much is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything. What CI runs.
    Full,
    /// What answers within a minute or two. Says what it leaves out.
    Quick,
}

/// What a step does.
enum Action {
    /// Calls a function of this program.
    Call(fn() -> Result<(), String>),
    /// Runs Cargo with these arguments.
    Cargo(&'static [&'static str]),
}

struct Step {
    /// What holds when the step succeeds.
    heading: &'static str,
    /// The command that repeats it.
    repeat: &'static str,
    action: Action,
    /// Whether `--quick` leaves it out.
    slow: bool,
}

/// How long the tests play storms of random seeds, unless somebody wants another time.
fn storm_seconds() -> (&'static str, String) {
    let name = "TENURE_STORM_SECONDS";
    (name, std::env::var(name).unwrap_or_else(|_| "60".to_owned()))
}

const STEPS: &[Step] = &[
    Step {
        heading: "the tools are there",
        repeat: "cargo xtask ci",
        action: Action::Call(tools::ensure),
        slow: false,
    },
    Step {
        heading: "the source is formatted",
        repeat: "cargo fmt --all",
        action: Action::Cargo(&["fmt", "--all", "--check"]),
        slow: false,
    },
    Step {
        heading: "the house rules hold",
        repeat: "cargo xtask tidy",
        action: Action::Call(tidy::run),
        slow: false,
    },
    Step {
        heading: "the lints are silent",
        repeat: "cargo clippy --workspace --all-targets --all-features -- -D warnings",
        action: Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ]),
        slow: false,
    },
    Step {
        heading: "the examples in the documentation run",
        repeat: "cargo test --doc --workspace",
        action: Action::Cargo(&["test", "--doc", "--workspace"]),
        slow: true,
    },
    Step {
        heading: "the reference pages say what the code says",
        repeat: "cargo xtask docs",
        action: Action::Call(check_docs),
        slow: false,
    },
    Step {
        heading: "every small world keeps the promises, and every deliberate mistake is found",
        repeat: "cargo xtask worlds",
        action: Action::Call(proofs::worlds),
        slow: true,
    },
    Step {
        heading: "the tests pass",
        repeat: "cargo nextest run --workspace --all-features",
        action: Action::Cargo(&["nextest", "run", "--workspace", "--all-features"]),
        slow: false,
    },
];

fn check_docs() -> Result<(), String> {
    docs::run(docs::Mode::Check)
}

/// Runs the steps; the first failure ends the run.
pub fn run(extent: Extent) -> Result<(), String> {
    for (index, step) in STEPS.iter().enumerate() {
        let place = format!("[{}/{}]", index + 1, STEPS.len());
        if extent == Extent::Quick && step.slow {
            println!("\n{place} SKIPPED by --quick: {} (run `{}`)", step.heading, step.repeat);
            continue;
        }
        println!("\n{place} {}", step.heading);
        let took = timed(|| act(&step.action)).map_err(|error| {
            format!("\n{place} FAILED: {}\n{error}\nrepeat with: {}", step.heading, step.repeat)
        })?;
        if index + 1 < STEPS.len() {
            println!("{place} done in {took:.1} s");
        }
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

fn act(action: &Action) -> Result<(), String> {
    match action {
        Action::Call(function) => function(),
        Action::Cargo(arguments) => cargo::run(arguments, &[storm_seconds()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_come_last_and_are_never_left_out() {
        let last = STEPS.last().expect("there are steps");
        assert!(last.repeat.starts_with("cargo nextest run"));
        assert!(!last.slow);
    }
}
