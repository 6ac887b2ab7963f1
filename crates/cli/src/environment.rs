//! What the process was started with.

use std::path::{Path, PathBuf};

use tenure_client::failure::Failure;

/// Reads the environment. A value that is not UTF-8 is refused where it is used, and never taken for none.
pub fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The executable that runs.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::file("find", Path::new("the tenure executable"), &error))
}
