//! Tools for models by HTTP: `/mcp` offers those of the loop, `/mcp/full` all of them. A request passes the same door as
//! every other, its body the same bounds and the same strict reader, and its call the same way to the engine.

mod caller_key;
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
use carrier::Here;

/// JSON-RPC's code for what is no JSON.
const NO_JSON: i32 = -32700;
/// JSON-RPC's code for what is no request.
const NO_REQUEST: i32 = -32600;

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
    let here = Arc::new(Here(app.clone()));
    let (hosts, origins) = match door {
        Some(door) => door.allowed(),
        None => (vec!["localhost".to_owned()], Vec::new()),
    };
    [(wire::MCP.to_owned(), Profile::Default), (format!("{}/{}", wire::MCP, Profile::Full), Profile::Full)]
        .into_iter()
        .fold(router, |router, (path, profile)| {
            let served = Arc::new(Served::new(here.clone(), profile, hosts.clone(), origins.clone()));
            let app = app.clone();
            router.route(&path, any(move |request: Request| handle(app, served, request)))
        })
}

async fn handle(app: Arc<App>, served: Arc<Served<Here>>, request: Request) -> Response {
    answer(&app, &served, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn answer(app: &Arc<App>, served: &Served<Here>, request: Request) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let body = if parts.method == Method::POST {
        let (bytes, _) = request::body(&parts.headers, body, BODY_BYTES, None).await?;
        if let Err((code, wrong)) = check(&bytes) {
            return Ok(no_call(code, &wrong));
        }
        bytes
    } else {
        Bytes::new()
    };
    let guest = guest(app, &parts).await?;
    let asked = guest.asked.clone();
    parts.extensions.insert(guest);
    // From here on it is nobody's business.
    parts.headers.remove(header::AUTHORIZATION);
    let mut response = served.answer(parts, body).await;
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
fn check(bytes: &[u8]) -> Result<(), (i32, String)> {
    let message = json::read(bytes).map_err(|refusal| (NO_JSON, refusal.detail))?;
    if message.is_array() {
        return Err((
            NO_REQUEST,
            "batches are of no revision that is served: send one message at a time".to_owned(),
        ));
    }
    let is_message = message.get("jsonrpc").is_some_and(|version| version == "2.0")
        && ["method", "result", "error"].iter().any(|field| message.get(field).is_some());
    if is_message { Ok(()) } else { Err((NO_REQUEST, "the body is no message of JSON-RPC 2.0".to_owned())) }
}

fn no_call(code: i32, wrong: &str) -> Response {
    let error = json!({ "jsonrpc": "2.0", "id": Value::Null, "error": { "code": code, "message": wrong } });
    let mut response = response::answer(&error);
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}
