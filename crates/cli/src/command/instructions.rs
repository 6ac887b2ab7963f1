//! What agents are told about working here.

use tenure_client::failure::Failure;
use tenure_core::instructions::Instructions;
use tenure_core::server_route::ServerRoute;

use crate::context::Context;
use crate::stop::Stop;

/// Tell agents how to work here, step by step
///
/// The text comes from the coordinator, so that it fits what answers. `tenure onboard` tells agents to read it.
#[derive(clap::Args)]
pub struct Command {}

/// Prints them.
pub fn run(_command: &Command, context: &Context) -> Result<(), Stop> {
    context.check_own::<Instructions>()?;
    let json = context.client()?.get(ServerRoute::Instructions.path())?;
    let instructions: Instructions = serde_json::from_slice(&json).map_err(|error| {
        Failure::cannot_tell(format!("the instructions cannot be read: {error}"), "run `tenure doctor`")
    })?;
    context.print_own(&instructions, &instructions.text)
}
