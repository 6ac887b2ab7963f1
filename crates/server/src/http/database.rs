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

use super::app::App;
use super::finding::Looked;
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

/// Looks at the database, one look at a time. Also at one that no question can be asked of any more.
pub(super) async fn look(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let looked = app.in_turn(|app| app.engine.checkup()).await?;
    let findings = looked.map_err(|error| {
        app.store_failed(&error);
        Refusal::from(Failure::from(error))
    })?;
    let findings = findings.into_iter().map(Looked::from).collect();
    let (place, database) = (app.store.place.clone(), app.store.database.clone());
    Ok(response::answer(&Checkup { place, database, findings }))
}
