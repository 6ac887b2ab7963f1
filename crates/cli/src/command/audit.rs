//! Checking the record.

use clap::Subcommand;
use serde_json::Value;
use tenure_client::failure::Failure;
use tenure_core::wire;

use crate::context::Context;
use crate::progress::Progress;
use crate::render::Page;
use crate::stop::Stop;

/// `tenure audit …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Verify the chain of events, and name the first that was altered, lost or moved
    Verify,
}

/// What the daemon says of the chain after it walked along it.
pub fn walked(context: &Context) -> Result<Vec<u8>, Stop> {
    let client = context.client()?;
    let _progress = Progress::of(&context.screen, "the daemon walks along the record");
    Ok(client.get(&format!("{}/audit", wire::API))?)
}

/// Verifies the chain. A broken one is a failed check.
pub fn verify(context: &Context) -> Result<(), Stop> {
    let json = walked(context)?;
    let report: Value = serde_json::from_slice(&json).map_err(|error| {
        Failure::cannot_tell(format!("the report cannot be read: {error}"), "run `tenure doctor`")
    })?;
    context.print_value(&report, &shown(&report))?;
    if is_sound(&report) { Ok(()) } else { Err(Stop::CheckFailed) }
}

/// Whether a report says that everything is as it was written.
pub fn is_sound(report: &Value) -> bool {
    report.get("intact") == Some(&Value::Bool(true))
}

fn shown(report: &Value) -> String {
    let mut page = Page::new();
    page.line(if is_sound(report) { "the record is whole" } else { "the record is BROKEN" });
    if let Some(flaw) = report.pointer("/flaw/detail").and_then(Value::as_str) {
        page.field("flaw", flaw);
        page.field("next", "keep the store's files as they are; what follows the flaw cannot be vouched for");
    }
    for name in ["events", "receipts", "head"] {
        let value = report.get(name).unwrap_or(&Value::Null);
        page.field(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    page.finish()
}
