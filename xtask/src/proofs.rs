//! Proofs that take their time: programs of the simulation's crate, built with all optimisations.

use crate::cargo;

/// Runs one of them; the words go to the program as they are.
pub fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let run = ["run", "--quiet", "--release", "--package", "tenure-sim", "--bin", program, "--"];
    cargo::run(&[&run, words].concat(), &[])
}

/// Finds every deliberate mistake, and visits as many small worlds as CI does.
pub fn worlds() -> Result<(), String> {
    run("worlds", &[])
}
