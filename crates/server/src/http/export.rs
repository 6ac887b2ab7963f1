//! An export: one committed state as lines. They go into a file without a name on the store's disk first, so that no
//! transaction is open while somebody reads, however slowly; the file goes with the answer.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Map, Value};
use tenure_core::model::ids::ProjectKey;
use tenure_core::model::limits::{EXPORTS, LIST_ITEMS, check_count, counted};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::wire;
use tenure_engine::export::{ExportError, Exported};
use tokio::sync::OwnedSemaphorePermit;

use super::app::{App, Ticket};
use super::fields::Fields;
use super::problem::Refused;
use super::request;

/// The refusals of this route.
pub(super) const REFUSALS: &[Code] =
    &[Code::InvalidInput, Code::CannotTell, Code::NotFound, Code::Overloaded, Code::DiskFull];

/// What this route is for.
pub(super) const SUMMARY: &str =
    "Everything that is known about tasks, as JSON lines; the last one vouches for all";

/// How much is read from the file at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What is exported.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// Only these projects.
    #[serde(default)]
    project: Vec<ProjectKey>,
}

/// A spool that is sent, and what is kept until it is.
struct Sending {
    spool: File,
    _permit: OwnedSemaphorePermit,
    /// A daemon that still sends is not idle.
    _ticket: Ticket,
}

/// Answers with an export.
pub(super) async fn lines(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let mut fields = Map::new();
    let known = Fields::of_lists(&["project"]);
    request::add_query(&mut fields, &known, request.uri().query().unwrap_or_default())?;
    let Wish { project } = tenure_core::json::parse(Value::Object(fields))?;
    check_count("project", project.len(), LIST_ITEMS)?;
    let Ok(permit) = app.exports.clone().try_acquire_owned() else {
        let detail = format!("{} are on their way already", counted(EXPORTS as u64, "export"));
        return Err(Refusal::new(Code::Overloaded, detail).into());
    };
    let ticket = app.enter();
    let spooled = app.in_turn(move |app| spooled(app, &project)).await?;
    let (spool, exported) = spooled.map_err(|error| {
        match &error {
            ExportError::Store(store) => app.store_failed(store),
            other => tracing::warn!(error = %other, "no export"),
        }
        Refusal::from(error)
    })?;
    tracing::info!(lines = exported.lines, bytes = exported.bytes, "an export was written");
    let sending = Sending { spool, _permit: permit, _ticket: ticket };
    let chunks = stream::unfold(Some(sending), move |sending| next(app.clone(), sending));
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(wire::JSON_LINES));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(exported.bytes));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let anchor = HeaderValue::try_from(exported.anchor.to_string());
    headers.insert(wire::ANCHOR, anchor.expect("digits, letters and a colon are a header's value"));
    Ok(response)
}

/// Writes an export into a file without a name, and goes back to its beginning.
fn spooled(app: &App, projects: &[ProjectKey]) -> Result<(File, Exported), ExportError> {
    let spool = tempfile::tempfile_in(&app.folder).map_err(ExportError::Write)?;
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, spool);
    let exported = app.engine.export(projects, &mut out)?;
    out.flush().map_err(ExportError::Write)?;
    let mut spool = out.into_inner().map_err(|error| ExportError::Write(error.into_error()))?;
    spool.rewind().map_err(ExportError::Write)?;
    Ok((spool, exported))
}

/// The next piece of the file. One that cannot be read ends the connection before its end was sent.
async fn next(app: Arc<App>, sending: Option<Sending>) -> Option<(std::io::Result<Bytes>, Option<Sending>)> {
    let mut sending = sending?;
    let read = app.blocking(move |_| {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = sending.spool.read(&mut chunk).map(|bytes| {
            chunk.truncate(bytes);
            chunk
        });
        (read, sending)
    });
    match read.await {
        Ok((Ok(chunk), _)) if chunk.is_empty() => None,
        Ok((Ok(chunk), sending)) => Some((Ok(Bytes::from(chunk)), Some(sending))),
        Ok((Err(error), _)) => Some((Err(error), None)),
        Err(_) => Some((Err(std::io::ErrorKind::Interrupted.into()), None)),
    }
}
