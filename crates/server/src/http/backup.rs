//! A backup, written by the daemon into a file of its caller, who is the same user on the same machine.

use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tenure_core::model::backup::Written;
use tenure_core::model::limits::{BODY_BYTES, check_line};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::backup::BackupError;

use super::app::App;
use super::problem::Refused;
use super::{request, response};

/// The refusals of this route.
pub(super) const REFUSALS: &[Code] = &[
    Code::InvalidInput,
    Code::CannotTell,
    Code::NotFound,
    Code::AlreadyExists,
    Code::StateConflict,
    Code::InUse,
    Code::DiskFull,
];

/// What this route is for.
pub(super) const SUMMARY: &str = "Write a backup of the store into a file on the daemon's machine";

/// Where a backup is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wish {
    /// The file, as an absolute path.
    file: String,
    /// Replace an earlier backup in that place.
    #[serde(default)]
    replace: bool,
}

/// Writes a backup; one at a time, and not beside a walk along the record.
pub(super) async fn create(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let (bytes, _) = request::body(&parts.headers, body, BODY_BYTES, None).await?;
    let Wish { file, replace } = tenure_core::json::parse(Value::Object(request::body_fields(&bytes)?))?;
    check_line("file", &file)?;
    if !Path::new(&file).is_absolute() {
        let wrong = "is no absolute path";
        return Err(Refusal::field(
            "file",
            wrong,
            "name it from the root: the daemon has a folder of its own",
        )
        .into());
    }
    let path = file.clone();
    let written = app.in_turn(move |app| app.engine.backup(Path::new(&path), replace)).await?;
    let manifest = written.map_err(|error| {
        match &error {
            BackupError::Store(_, store) => app.store_failed(store),
            other => tracing::warn!(error = %other, "no backup"),
        }
        Refusal::from(error)
    })?;
    tracing::info!(event = manifest.event.0, bytes = manifest.bytes, "a backup was written");
    Ok(response::answer(&Written { file, manifest }))
}
