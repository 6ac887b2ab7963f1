//! A backup, written by the daemon into a file of its caller, who is the same user on the same machine.

use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::model::backup::Manifest;
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
    Code::RequirementsMissing,
];

/// Write a backup of the store into a file on the daemon's machine
#[derive(Serialize, JsonSchema)]
pub(super) struct Written {
    /// The file. Its manifest is beside it, under the same name with `.json`.
    file: String,
    /// What the manifest says.
    #[serde(flatten)]
    manifest: Manifest,
}

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
    let closing = |_| Refusal::new(Code::CannotTell, "the coordinator is closing");
    let turn = app.audits.clone().acquire_owned().await.map_err(closing)?;
    let path = file.clone();
    // The turn ends with the work, also when the caller has left before.
    let backup = move |app: &App| (app.engine.backup(Path::new(&path), replace), turn).0;
    let written = app.blocking(backup).await?;
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
