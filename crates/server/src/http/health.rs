//! What is asked about the daemon itself: is it alive, can it write, which version is it, may it go.
//!
//! The comments of the answers are product text: `/openapi.json` describes these routes with them.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenure_core::instructions::Instructions;
use tenure_core::model::ids::{Anchor, Digest, Epoch, EventNumber};
use tenure_core::model::limits::BODY_BYTES;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::{FleetTime, WallTime};
use tenure_core::wire;
use tenure_engine::Failure;
use tenure_engine::clock::{Clocks, MachineClocks};
use tenure_engine::store::driver::{Class, StoreError};
use tenure_engine::store::postgres::checkup::Finding;

use super::app::App;
use super::fields::Fields;
use super::finding::Looked;
use super::problem::Refused;
use super::{request, response};

/// Say whether the process answers
#[derive(Serialize, JsonSchema)]
pub(super) struct Liveness {
    /// Always true: it says nothing about the store.
    alive: bool,
}

/// Say whether a write works now
#[derive(Serialize, JsonSchema)]
pub(super) struct Readiness {
    /// Always true: a store that cannot write is told as a refusal.
    ready: bool,
    /// The number of the store's last migration.
    schema: u32,
    /// Which database it is.
    database: String,
    /// The number of the last event.
    event: EventNumber,
    /// The committed fleet time.
    fleet_time: FleetTime,
    /// How much room is left where the store is.
    disk_free_bytes: Option<u64>,
    /// Whether what is acknowledged survives the loss of the database's primary; nothing for a store in a file.
    standby: Option<Looked>,
}

/// Say which program this is
#[derive(Serialize, JsonSchema)]
pub(super) struct Version {
    /// Always `tenure`.
    name: &'static str,
    /// Its version.
    version: &'static str,
    /// The protocol that it speaks.
    protocol: u32,
    /// The oldest protocol that it still serves.
    protocol_min: u32,
}

/// Say which program, fleet and process this is
#[derive(Serialize, JsonSchema)]
pub(super) struct DaemonInfo {
    #[serde(flatten)]
    program: Version,
    /// The fleet's id.
    fleet: String,
    /// The fleet's incarnation.
    epoch: Epoch,
    /// The number of the store's last migration.
    schema: u32,
    /// The process.
    pid: u32,
    /// Whether requests other than this one are in flight or commands wait for their commit. A busy daemon is not
    /// replaced by another version's; leases that live do not make it busy, because they outlive it, nor do requests
    /// that only wait or follow, because they are made again.
    busy: bool,
    /// How many requests wait for something to happen.
    waiting: usize,
    /// How many commands wait for their commit, also those whose callers have gone away.
    queued: usize,
    /// When the process started, in milliseconds since 1970.
    started_at: WallTime,
    /// What the daemon's wall clock shows, in milliseconds since 1970.
    wall_time: WallTime,
}

/// The refusals of the route that verifies the chain.
pub(super) const AUDIT_REFUSALS: &[Code] = &[Code::InvalidInput, Code::CannotTell];

/// What is expected of the chain.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    /// An event that was noted elsewhere.
    expect: Option<Anchor>,
}

/// Verify the chain of all events
#[derive(Serialize, JsonSchema)]
pub(super) struct AuditReport {
    /// Whether everything is as it was written.
    intact: bool,
    /// How many events were verified.
    events: u64,
    /// How many stored answers were verified with them.
    receipts: u64,
    /// The hash of the last event.
    head: Digest,
    /// The last event with its hash, if the record is intact: noted where nobody can edit it, it shows later whether the
    /// record was rewritten or cut.
    anchor: Option<Anchor>,
    /// The first event that was altered, lost, added or moved, or that is not as it was expected.
    flaw: Option<Flaw>,
}

/// Where the record is broken.
#[derive(Serialize, JsonSchema)]
struct Flaw {
    /// The number of the event.
    event: EventNumber,
    /// What is wrong with it: missing, inserted, broken, misplaced, not_the_head, receipt or founded_again; of what it tells
    /// principal, account, token or reporter, and untold_principal, untold_account, untold_token or untold_reporter of what
    /// none tells; and of an event that was expected cut, left_behind or rewritten.
    kind: &'static str,
    /// The same as a sentence.
    detail: String,
}

/// Stop an idle private daemon
#[derive(Serialize, JsonSchema)]
pub(super) struct Stopping {
    /// Always true: a daemon that goes on is told as a refusal.
    stopping: bool,
    /// The process that is about to end.
    pid: u32,
}

/// How a daemon is asked to go.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Shutdown {
    /// Go although others are being served: their requests are finished, later ones are not taken.
    force: bool,
}

/// The process runs and answers.
pub(super) async fn alive() -> Response {
    response::answer(&Liveness { alive: true })
}

/// Whether a write works now, and what else decides whether it will soon.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let asked = |app: &App| {
        let found = || Ok((app.engine.info()?, app.engine.standby()?));
        (app.probe().and_then(|()| found()).map_err(|error| unready(app, &error)), disk_free_bytes(app))
    };
    let (found, disk_free_bytes) = app.blocking(asked).await?;
    let (store, standby) = found.map_err(|refusal| refusal.fact("disk_free_bytes", disk_free_bytes))?;
    Ok(response::answer(&Readiness {
        ready: true,
        schema: store.schema,
        database: store.database,
        event: store.event,
        fleet_time: store.fleet_time,
        disk_free_bytes,
        standby: standby.map(Looked::from),
    }))
}

/// Why a write does not work, as far as the store itself or its database tells.
fn unready(app: &App, error: &StoreError) -> Refusal {
    app.store_failed(error);
    let refusal = Refusal::new(Code::CannotTell, "a write probe of the store failed");
    if error.class == Class::Corrupt {
        return refusal.next(StoreError::DAMAGED);
    }
    let found = app.engine.checkup().unwrap_or_default();
    let hinders = |finding: &Finding| matches!(finding.name, "writing" | "rights" | "standby");
    let amiss = found.into_iter().filter(|finding| finding.is_good == Some(false) && hinders(finding));
    let told = amiss.fold(refusal, |mut refusal, finding| {
        refusal.detail += &format!("; {}: {}", finding.name, finding.found);
        match finding.next {
            Some(next) => refusal.next(next),
            None => refusal,
        }
    });
    told.next("look at the daemon's log and the room left on its disk")
}

fn disk_free_bytes(app: &App) -> Option<u64> {
    let found = rustix::fs::statvfs(&app.folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Which program this is.
pub(super) async fn version() -> Response {
    response::answer(&program())
}

fn program() -> Version {
    Version {
        name: "tenure",
        version: env!("CARGO_PKG_VERSION"),
        protocol: wire::PROTOCOL,
        protocol_min: wire::PROTOCOL_MIN,
    }
}

/// Which program, fleet and process this is, and whether it could be replaced now.
pub(super) async fn info(State(app): State<Arc<App>>) -> Response {
    response::answer(&DaemonInfo {
        program: program(),
        fleet: app.store.fleet.clone(),
        epoch: app.store.epoch,
        schema: app.store.schema,
        pid: std::process::id(),
        busy: app.is_busy(),
        waiting: app.waiters.count(),
        queued: app.queued(),
        started_at: app.started_at,
        wall_time: WallTime(MachineClocks.wall_ms()),
    })
}

/// Walks the whole event chain; one walk at a time.
pub(super) async fn audit(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let mut fields = Map::new();
    let query = request.uri().query().unwrap_or_default();
    request::add_query(&mut fields, &Fields::of_texts(&["expect"]), query)?;
    let Expectation { expect } = tenure_core::json::parse(Value::Object(fields))?;
    let report = app.in_turn(move |app| app.engine.verify_chain(expect, &mut |_| {})).await?;
    let report = report.map_err(|error| {
        app.store_failed(&error);
        Refusal::from(Failure::from(error))
    })?;
    let flaw = report.flaw.map(|flaw| Flaw {
        event: flaw.event,
        kind: flaw.kind.as_str(),
        detail: flaw.to_string(),
    });
    Ok(response::answer(&AuditReport {
        intact: flaw.is_none(),
        events: report.events,
        receipts: report.receipts,
        head: report.head,
        anchor: flaw.is_none().then_some(Anchor { event: report.last, hash: report.head }),
        flaw,
    }))
}

/// What agents are told about working here.
pub(super) async fn instructions() -> Response {
    response::answer(&Instructions::current())
}

/// Stops an idle daemon, so that another version can take its place.
pub(super) async fn shutdown(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let (bytes, _) = request::body(&parts.headers, body, BODY_BYTES, None).await?;
    let wish: Shutdown = tenure_core::json::parse(Value::Object(request::body_fields(&bytes)?))?;
    if app.is_busy() && !wish.force {
        return Err(Refusal::new(Code::StateConflict, "the daemon is serving other requests")
            .next("ask again when they are done, or send {\"force\":true} to stop after them")
            .into());
    }
    app.stop().send_replace(true);
    Ok(response::answer(&Stopping { stopping: true, pid: std::process::id() }))
}
