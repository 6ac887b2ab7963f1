//! As whom the server knows the caller, and what they may do.

use serde_json::to_value;
use tenure_client::ask::Answered;
use tenure_core::operation::Operation;
use tenure_core::operation::whoami::{Identity, WhoAmI};

use crate::context::Context;
use crate::stop::Stop;

/// Runs it. It tells of the session that there is, and opens none.
pub fn run(operation: &WhoAmI, context: &Context) -> Result<(), Stop> {
    context.check_fields(schemars::SchemaGenerator::subschema_for::<Identity>)?;
    // Whoever has no name here yet is somebody all the same.
    let session = context.known_session().ok().flatten();
    let input = to_value(operation).expect("inputs are plain data and always serialise");
    let json = context.client()?.ask(&WhoAmI::SPEC, &input, session.as_ref())?;
    context.print(&Answered::<Identity>::read(json)?)
}
