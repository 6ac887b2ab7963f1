//! Which version this is.

use serde_json::json;
use tenure_core::wire::PROTOCOL;

use crate::context::Context;
use crate::stop::Stop;

/// Say which version this is
#[derive(clap::Args)]
pub struct Version {}

/// Says it, without asking anybody.
pub fn run(_version: &Version, context: &Context) -> Result<(), Stop> {
    let version = env!("CARGO_PKG_VERSION");
    let value = json!({"name": "tenure", "version": version, "protocol": PROTOCOL});
    context.print_value(&value, &format!("tenure {version} (protocol {PROTOCOL})"))
}
