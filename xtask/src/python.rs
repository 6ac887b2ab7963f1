//! Python with the packages that the checks need, in a folder of its own below the target folder.
//!
//! Their versions and hashes stand in `xtask/python/requirements.txt`, which `pip-compile --generate-hashes` makes of
//! `requirements.in` beside it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{cargo, repository};

/// What is installed, relative to the root.
const REQUIREMENTS: &str = "xtask/python/requirements.txt";

/// The folder of Python and its packages.
fn folder() -> Result<PathBuf, String> {
    Ok(repository::target()?.join("python"))
}

/// A program of these packages, or Python itself.
pub fn program(name: &str) -> Result<PathBuf, String> {
    Ok(folder()?.join("bin").join(name))
}

/// Makes sure that Python is there with exactly these packages.
pub fn ensure() -> Result<(), String> {
    let folder = folder()?;
    let wanted =
        fs::read_to_string(repository::root().join(REQUIREMENTS)).map_err(|error| error.to_string())?;
    let installed = folder.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|known| known == wanted) && runs(&program("python")?) {
        return Ok(());
    }
    println!("installing: {REQUIREMENTS} into {}", folder.display());
    let python = program("python")?.display().to_string();
    for step in [
        vec!["python3", "-m", "venv", "--clear", folder.to_str().ok_or("the target folder is no text")?],
        vec![
            &python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            REQUIREMENTS,
        ],
    ] {
        let status = Command::new(step[0])
            .args(&step[1..])
            .current_dir(repository::root())
            .stdin(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("install what is missing, then repeat:\n  {}", step.join(" ")));
        }
    }
    fs::write(installed, wanted).map_err(|error| error.to_string())
}

/// Asks every route of a real server with requests that are drawn from its own description, so many for each.
pub fn schemathesis(examples: &str) -> Result<(), String> {
    ensure()?;
    let arguments = [
        "nextest",
        "run",
        "-p",
        "tenure",
        "--all-features",
        "--profile",
        "long",
        "--no-capture",
        "schemathesis",
    ];
    cargo::run(&arguments, &[("TENURE_EXAMPLES", examples.to_owned())])
}

fn runs(python: &PathBuf) -> bool {
    let status = Command::new(python).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_by_its_hashes() {
        let text = fs::read_to_string(repository::root().join(REQUIREMENTS)).expect("there");
        let pinned = text.lines().filter(|line| line.contains("==")).count();
        let packages = text.lines().filter(|line| !line.starts_with([' ', '#']) && !line.is_empty()).count();
        assert!(pinned > 20 && pinned == packages, "{pinned} of {packages}");
        assert!(text.lines().filter(|line| line.starts_with("    --hash=sha256:")).count() >= pinned);
    }
}
