//! Checking the record.

use clap::Subcommand;
use serde_json::Value;
use tenure_client::failure::Failure;
use tenure_core::wire;

use crate::context::Context;
use crate::render::plain;
use crate::stop::Stop;

/// `tenure audit …`.
#[derive(Subcommand)]
pub enum Command {
    /// Verify the chain of events, and name the first that was altered, lost or moved
    Verify,
}

/// Where the daemon verifies it.
pub fn target() -> String {
    format!("{}/audit", wire::API)
}

/// Verifies the chain. A broken one is a failed check.
pub fn verify(context: &Context) -> Result<(), Stop> {
    let json = context.client()?.get(&target())?;
    let report: Value = serde_json::from_slice(&json).map_err(|error| {
        Failure::cannot_tell(format!("the report cannot be read: {error}"), "run `tenure doctor`")
    })?;
    if context.screen.json.is_some() {
        context.screen.json(&String::from_utf8_lossy(&json));
    } else {
        context.screen.data(&shown(&report));
    }
    if is_sound(&report) { Ok(()) } else { Err(Stop::CheckFailed) }
}

/// Whether a report says that everything is as it was written.
pub fn is_sound(report: &Value) -> bool {
    report.get("intact") == Some(&Value::Bool(true))
}

fn shown(report: &Value) -> String {
    let mut text =
        String::from(if is_sound(report) { "the record is whole\n" } else { "the record is BROKEN\n" });
    for (name, value) in report.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if name != "intact" && !value.is_empty() && value != "null" {
            text.push_str(&plain::line(&format!("{:<12} {value}", format!("{name}:"))));
            text.push('\n');
        }
    }
    text
}
