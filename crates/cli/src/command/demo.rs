//! `tenure demo`: the story.

use crate::context::Context;
use crate::stop::Stop;

/// Play the story in a throw-away store: a race, a crash, recovery, a stale write refused
#[derive(clap::Args)]
pub struct Demo {}

/// Plays it.
pub fn run(_demo: &Demo, _context: &Context) -> Result<(), Stop> {
    Ok(())
}
