//! Labels.

use clap::Subcommand;
use tenure_core::operation::label::ListLabels;

use crate::context::Context;
use crate::on_task::InProject;
use crate::stop::Stop;

/// `tenure label …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    List(InProject<ListLabels>),
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::List(operation) => context.perform(&operation.resolve(context)?),
    }
}
