//! Long storms: the simulation's own program, built with all optimisations.

use crate::ci;

/// Plays storms, or repeats one; the words go to the program as they are.
pub fn run(words: &[&str]) -> Result<(), String> {
    let program = ["run", "--quiet", "--release", "--package", "tenure-sim", "--bin", "storm", "--"];
    ci::cargo(&[&program, words].concat())
}
