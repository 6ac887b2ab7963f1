//! What the store stands on, where that is a database that somebody else runs.
//!
//! The comments of the answer are product text: `/openapi.json` describes this route with them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use tenure_core::model::refusal::Refusal;
use tenure_engine::Failure;
use tenure_engine::store::postgres::checkup::Finding;

use super::app::App;
use super::problem::Refused;
use super::response;

/// Say whether the database is what a fleet can stand on
#[derive(Serialize, JsonSchema)]
pub(super) struct Checkup {
    /// Where the store is.
    place: String,
    /// Which database it is.
    database: String,
    /// What was looked at; nothing for a store in a file.
    findings: Vec<Looked>,
}

/// One thing that was looked at.
#[derive(Serialize, JsonSchema)]
struct Looked {
    /// What it is.
    name: &'static str,
    /// Whether it is as it must be; nothing where it is only told.
    ok: Option<bool>,
    /// What was found.
    found: String,
    /// What to do about it, where there is something.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'static str>,
}

/// Looks at the database, one look at a time.
pub(super) async fn look(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let looked = app.in_turn(|app| Ok((app.engine.info()?, app.engine.checkup()?))).await?;
    let (info, findings) = looked.map_err(|error| {
        app.store_failed(&error);
        Refusal::from(Failure::from(error))
    })?;
    let told = |Finding { name, is_good, found, next }| Looked { name, ok: is_good, found, next };
    let findings = findings.into_iter().map(told).collect();
    Ok(response::answer(&Checkup { place: info.place, database: info.database, findings }))
}
