//! What is asked about the daemon itself: is it alive, can it write, which version is it, may it go.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tenure_core::model::limits::BODY_BYTES;
use tenure_core::model::refusal::{Code, Refusal};

use tenure_engine::Failure;

use super::app::App;
use super::problem::Refused;
use super::request;
use super::routes::json_response;
use tenure_core::wire;

/// The process runs and answers. It says nothing about the store.
pub(super) async fn alive() -> Response {
    json_response(json!({ "alive": true }).to_string())
}

/// Whether a write works now, and what else decides whether it will soon.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let asked = |app: &App| (app.probe().and_then(|()| app.engine.info()), disk_free_bytes(app));
    let (store, free) = app.blocking(asked).await?;
    let store = store.map_err(|error| {
        app.store_failed(&error);
        Refusal::new(Code::CannotTell, "a write probe of the store failed")
            .next("look at the daemon's log and the room left on its disk")
            .fact("disk_free_bytes", free)
    })?;
    let answer = json!({
        "ready": true,
        "schema": store.schema,
        "database": store.database,
        "event": store.event,
        "fleet_time": store.fleet_time,
        "disk_free_bytes": free,
    });
    Ok(json_response(answer.to_string()))
}

fn disk_free_bytes(app: &App) -> Option<u64> {
    let found = rustix::fs::statvfs(&app.folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Which program this is.
pub(super) async fn version() -> Response {
    json_response(Value::from_iter(identity()).to_string())
}

/// Which program, fleet and process this is, and whether it could be replaced now.
pub(super) async fn info(State(app): State<Arc<App>>) -> Response {
    let store = &app.store;
    let more = [
        ("fleet", json!(store.fleet)),
        ("epoch", json!(store.epoch)),
        ("schema", json!(store.schema)),
        ("pid", json!(std::process::id())),
        ("busy", json!(app.is_busy())),
        ("queued", json!(app.queued())),
        ("started_at", json!(app.started_at)),
    ];
    json_response(Value::from_iter(identity().into_iter().chain(more)).to_string())
}

fn identity() -> [(&'static str, Value); 4] {
    [
        ("name", json!("tenure")),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("protocol", json!(wire::PROTOCOL)),
        ("protocol_min", json!(wire::PROTOCOL_MIN)),
    ]
}

/// Walks the whole event chain; one walk at a time.
pub(super) async fn audit(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let _turn = app.audits.acquire().await.map_err(|_| closing())?;
    let report = app.blocking(|app| app.engine.verify_chain(&mut |_| {})).await?;
    let report = report.map_err(|error| {
        app.store_failed(&error);
        Refusal::from(Failure::from(error))
    })?;
    let flaw = report.flaw.map(|flaw| json!({ "event": flaw.event, "detail": flaw.to_string() }));
    let answer = json!({
        "intact": flaw.is_none(),
        "events": report.events,
        "receipts": report.receipts,
        "head": report.head,
        "flaw": flaw,
    });
    Ok(json_response(answer.to_string()))
}

/// How a daemon is asked to go.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Shutdown {
    /// Go although others are being served: their requests are finished, later ones are not taken.
    force: bool,
}

/// Stops an idle daemon, so that another version can take its place.
pub(super) async fn shutdown(State(app): State<Arc<App>>, request: Request) -> Response {
    match stop(&app, request).await {
        Ok(answer) => json_response(answer.to_string()),
        Err(refused) => refused.into_response(),
    }
}

async fn stop(app: &App, request: Request) -> Result<Value, Refused> {
    let (parts, body) = request.into_parts();
    let bytes = request::body(&parts.headers, body, BODY_BYTES).await?;
    let wish: Shutdown = tenure_core::json::parse(Value::Object(request::body_fields(&bytes)?))?;
    if app.is_busy() && !wish.force {
        return Err(Refusal::new(Code::StateConflict, "the daemon is serving other requests")
            .next("ask again when they are done, or send {\"force\":true} to stop after them")
            .into());
    }
    app.stop().send_replace(true);
    Ok(json!({ "stopping": true, "pid": std::process::id() }))
}

fn closing() -> Refusal {
    Refusal::new(Code::CannotTell, "the coordinator is closing")
}
