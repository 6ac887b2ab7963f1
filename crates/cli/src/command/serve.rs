//! `tenure serve`: the daemon itself.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::context::Context;

/// Serve a store
///
/// The private daemon of the local store is started by the first command that needs it; this is seldom typed.
#[derive(clap::Args)]
pub struct Serve {
    /// Serve a private store on a socket in its folder
    #[arg(long)]
    private: bool,
    /// The folder of the private store
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Serves until it is told to stop.
pub fn run(_serve: Serve, _context: &Context) -> ExitCode {
    ExitCode::from(2)
}
