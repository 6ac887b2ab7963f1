//! `tenure call`: any operation by its name. The commands with words of their own are for people and agents; this
//! one is for scripts, and has every operation as soon as it is in core's list.

use std::path::Path;

use serde_json::Value;
use tenure_core::json;
use tenure_core::model::limits::{IMPORT_BYTES, excerpt};
use tenure_core::operation::catalog;

use crate::context::Context;
use crate::long_text;
use crate::near;
use crate::stop::{Stop, usage};

/// Call an operation by its name, with its input and answer as JSON
///
/// For scripts: caller, session and lease are found as for every command, names are ids and never aliases, and the
/// answer is always JSON. The reference pages and /openapi.json describe every operation.
#[derive(clap::Args)]
pub struct Call {
    /// The operation's name, e.g. task.show
    operation: String,
    /// Its input, one JSON object; `-` reads standard input
    #[arg(default_value = "{}")]
    input: String,
}

/// Calls it.
pub fn run(call: &Call, context: &Context) -> Result<(), Stop> {
    let entries = catalog::entries();
    let entry = entries.iter().find(|entry| entry.spec.name == call.operation).ok_or_else(|| {
        let known: Vec<&str> = entries.iter().map(|entry| entry.spec.name).collect();
        let near = near::names(&call.operation, known.iter().copied());
        let next = if near.is_empty() {
            format!("choose from: {}", known.join(", "))
        } else {
            format!("did you mean `{}`?", near.join("` or `"))
        };
        usage(format!("there is no operation `{}`", excerpt(&call.operation)), next)
    })?;
    let text = match call.input.as_str() {
        "-" => long_text::read_file(Path::new("-"), 2 * IMPORT_BYTES, long_text::SHORTEN)?,
        text => text.to_owned(),
    };
    let input = json::read(text.as_bytes())?;
    if !input.is_object() {
        return Err(usage("the input is not a JSON object", "give the operation's fields as one object"));
    }
    // Read here as the daemon will read it, so that nothing is started for what cannot be right.
    let operation = (entry.read)(input)?;
    context.check_fields(entry.answer)?;
    let input: Value = json::read(operation.to_json().as_bytes())?;
    context.print_json(&context.ask(&entry.spec, &input)?, entry.answer)
}
