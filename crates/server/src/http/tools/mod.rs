//! Tools for models by HTTP: `/mcp` offers those of the loop, `/mcp/full` all of them. A request passes the same door as
//! every other, its body the same bounds and the same strict reader, and its call the same way to the engine.

mod caller_key;
mod calls;
mod carrier;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::{Value, json};
use tenure_core::caller_key::CallerKey;
use tenure_core::json;
use tenure_core::model::ids::Digest;
use tenure_core::model::limits::BODY_BYTES;
use tenure_core::model::refusal::Refusal;
use tenure_core::operation::tools::Profile;
use tenure_core::wire;

use super::app::App;
use super::attend::Asked;
use super::door::{self, Door};
use super::problem::Refused;
use super::{request, response, token};
use crate::mcp::protocol::Served;
use calls::{Calls, Name};
use carrier::Here;

/// JSON-RPC's code for what is no JSON.
const NO_JSON: i32 = -32700;
/// JSON-RPC's code for what is no request.
const NO_REQUEST: i32 = -32600;
/// JSON-RPC's code for what ended before it had an answer.
const NO_ANSWER: i32 = -32603;

/// The greeting of the revisions that begin with one.
const GREETING: &str = "initialize";
/// What a client says that no longer waits for an answer.
const CANCELLED: &str = "notifications/cancelled";

/// The tools of one path, and the calls of all of them.
struct Offered {
    served: Served<Here>,
    calls: Arc<Calls>,
}

/// By what the server knows whoever calls a tool.
#[derive(Clone)]
pub(super) struct Guest {
    /// The hash of its token, to be judged with the operation.
    token: Option<Digest>,
    /// What the secrets of its sessions are derived from.
    key: CallerKey,
    /// What the log is told of its call.
    asked: Arc<OnceLock<Asked>>,
}

/// Adds the routes. Behind a door they are offered under its names; without one, to this machine alone.
pub(super) fn add_to(router: Router<Arc<App>>, app: &Arc<App>, door: Option<&Door>) -> Router<Arc<App>> {
    let (here, calls) = (Arc::new(Here(app.clone())), Arc::<Calls>::default());
    let (hosts, origins) = match door {
        Some(door) => door.allowed(),
        None => (vec!["localhost".to_owned()], Vec::new()),
    };
    [(wire::MCP.to_owned(), Profile::Default), (format!("{}/{}", wire::MCP, Profile::Full), Profile::Full)]
        .into_iter()
        .fold(router, |router, (path, profile)| {
            let served = Served::new(here.clone(), profile, hosts.clone(), origins.clone());
            let offered = Arc::new(Offered { served, calls: calls.clone() });
            let app = app.clone();
            router.route(&path, any(move |request: Request| handle(app, offered, request)))
        })
}

async fn handle(app: Arc<App>, offered: Arc<Offered>, request: Request) -> Response {
    answer(&app, &offered, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn answer(app: &Arc<App>, offered: &Offered, request: Request) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let (body, message) = if parts.method == Method::POST {
        let (bytes, _) = request::body(&parts.headers, body, BODY_BYTES, None).await?;
        match check(&bytes) {
            Ok(message) => (bytes, message),
            Err((code, wrong)) => return Ok(no_call(code, &wrong)),
        }
    } else {
        (Bytes::new(), Value::Null)
    };
    let guest = guest(app, &parts).await?;
    let (token, asked) = (guest.token, guest.asked.clone());
    parts.extensions.insert(guest);
    // From here on it is nobody's business.
    parts.headers.remove(header::AUTHORIZATION);
    if message["method"] == CANCELLED {
        let cancelled = Name::of(token, &parts.headers, message["params"].get("requestId"));
        cancelled.iter().for_each(|name| offered.calls.cancel(name));
    }
    let name = Name::of(token, &parts.headers, message.get("id"));
    let answering = offered.served.answer(parts, body);
    let mut response = match name.map(|name| offered.calls.begin(name)) {
        Some(call) => tokio::select! {
            response = answering => response,
            () = call.cancelled() => cancelled(&message["id"]),
        },
        None => answering.await,
    };
    if message["method"] == GREETING
        && response.status().is_success()
        && let Some(label) = calls::label()
    {
        response.headers_mut().insert(calls::LABEL, label);
    }
    if let Some(asked) = asked.get() {
        response.extensions_mut().insert(asked.clone());
    }
    Ok(response)
}

/// By what the caller of a request is known. The text of its token goes no further than this.
async fn guest(app: &Arc<App>, parts: &Parts) -> Result<Guest, Refusal> {
    let known = door::token_of(parts)?;
    let key = match token::text(&parts.headers).filter(|_| known.is_some()) {
        Some(token) => CallerKey::of_token(&app.store.fleet, &token),
        None => app.blocking(|app| caller_key::of_socket(&app.folder)).await??,
    };
    Ok(Guest { token: known, key, asked: Arc::default() })
}

/// Refuses what the protocol's own reader would let through, or not explain.
fn check(bytes: &[u8]) -> Result<Value, (i32, String)> {
    let message = json::read(bytes).map_err(|refusal| (NO_JSON, refusal.detail))?;
    if message.is_array() {
        return Err((
            NO_REQUEST,
            "batches are of no revision that is served: send one message at a time".to_owned(),
        ));
    }
    let is_message = message.get("jsonrpc").is_some_and(|version| version == "2.0")
        && ["method", "result", "error"].iter().any(|field| message.get(field).is_some());
    if is_message {
        Ok(message)
    } else {
        Err((NO_REQUEST, "the body is no message of JSON-RPC 2.0".to_owned()))
    }
}

fn no_call(code: i32, wrong: &str) -> Response {
    let mut response = failed(&Value::Null, code, wrong);
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// What is left to say to a client that no longer waits.
fn cancelled(id: &Value) -> Response {
    failed(id, NO_ANSWER, "the call was cancelled")
}

fn failed(id: &Value, code: i32, wrong: &str) -> Response {
    response::answer(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": wrong } }))
}
