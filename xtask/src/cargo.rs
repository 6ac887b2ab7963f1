//! Cargo, at the root of the workspace.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::repository;

/// Runs it with these arguments and environment variables.
pub fn run(arguments: &[&str], variables: &[(&str, String)]) -> Result<(), String> {
    // What was printed so far must stand before what the child prints.
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    let status = Command::new("cargo")
        .args(arguments)
        .current_dir(repository::root())
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} ended with {status}", arguments[0])) }
}
