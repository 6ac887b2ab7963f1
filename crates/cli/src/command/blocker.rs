//! Typed blockers.

use clap::Subcommand;
use tenure_core::operation::graph::{RaiseBlocker, ResolveBlocker};

use crate::context::Context;
use crate::on_task::OnTask;
use crate::stop::Stop;

/// `tenure blocker …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Raise(OnTask<RaiseBlocker, false>),
    Resolve(OnTask<ResolveBlocker, false>),
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Raise(operation) => context.perform_on(operation.resolve(context)?),
        Command::Resolve(operation) => context.perform_on(operation.resolve(context)?),
    }
}
