//! Edges between tasks.

use clap::Subcommand;
use tenure_core::operation::graph::{AddDependency, ListDependencies, RemoveDependency};

use crate::context::Context;
use crate::on_task::OnTask;
use crate::stop::Stop;

/// `tenure dependency …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Add(OnTask<AddDependency, false>),
    Remove(OnTask<RemoveDependency, false>),
    List(OnTask<ListDependencies, false>),
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Add(operation) => context.perform_on(operation.resolve(context)?),
        Command::Remove(operation) => context.perform_on(operation.resolve(context)?),
        Command::List(operation) => context.perform_on(operation.resolve(context)?),
    }
}
