//! Programs that come to an end by themselves.

use std::process::Command;

/// Runs a program to its end and returns what it prints.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
    }
}
