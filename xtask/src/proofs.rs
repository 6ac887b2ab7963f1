//! Proofs that take their time: programs of the simulation's crate.

use crate::{cargo, tools};

/// Runs one of them, built with all optimisations; the words go to the program as they are.
pub fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let run = ["run", "--quiet", "--release", "--package", "tenure-sim", "--bin", program, "--"];
    cargo::run(&[&run, words].concat(), &[])
}

/// Finds every deliberate mistake, and visits as many small worlds as CI does.
pub fn worlds() -> Result<(), String> {
    run("worlds", &[])
}

/// Kills the leader of a cluster under real servers, again and again. What takes its time there is not the program.
pub fn failovers(words: &[&str]) -> Result<(), String> {
    tools::ensure_cluster()?;
    cargo::run(&["build", "--quiet", "--package", "tenure"], &[])?;
    let run = ["run", "--quiet", "--package", "tenure-sim", "--bin", "failovers", "--"];
    cargo::run(&[&run, words].concat(), &[])
}
