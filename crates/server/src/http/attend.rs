//! What happens to every request whatever it asks: it is counted while it is in flight, and what became of it is
//! logged. Nothing of a request reaches the log but what its handler says in [`Asked`].

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tenure_core::model::ids::OperationId;
use tenure_core::model::limits::TARGET_BYTES;
use tenure_core::operation::Effect;
use tenure_core::wire;

use super::app::App;
use super::door::{Admitted, Door, View};
use super::problem::Refused;

/// What a handler tells the log about its request. It rides on the response.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) operation: &'static str,
    pub(super) effect: Effect,
    pub(super) operation_id: Option<OperationId>,
}

/// What every request goes through.
#[derive(Clone)]
pub(super) struct Attended {
    pub(super) app: Arc<App>,
    /// What stands between the network and the routes.
    pub(super) door: Option<Arc<Door>>,
}

/// Counts a request while it is in flight, and logs what became of it.
pub(super) async fn attend(
    State(Attended { app, door }): State<Attended>,
    request: Request,
    next: Next,
) -> Response {
    let ticket = app.enter();
    let began = Instant::now();
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let (mut parts, body) = request.into_parts();
    let admitted = match door {
        Some(door) => door.admit(&app, &parts).await,
        None => Ok(Admitted { view: View::Whole, bearer: None, login: None }),
    };
    let mut response = match admitted {
        Err(refused) => refused.into_response(),
        Ok(_) if target > TARGET_BYTES => too_long(target).into_response(),
        Ok(Admitted { view, bearer, login }) => {
            if let Some(login) = login {
                parts.extensions.insert(login);
            }
            if let Some(bearer) = bearer {
                parts.extensions.insert(bearer);
            }
            view.of(next.run(Request::from_parts(parts, body)).await)
        }
    };
    let (status, us) = (response.status().as_u16(), began.elapsed().as_micros());
    let id = &ticket.id;
    match response.extensions().get::<Asked>() {
        Some(asked) => {
            let operation_id = asked.operation_id.as_ref().map_or("", OperationId::as_str);
            if status >= 500 {
                tracing::warn!(request = %id, operation = asked.operation, operation_id, status, us);
            } else if asked.effect == Effect::Write {
                tracing::info!(request = %id, operation = asked.operation, operation_id, status, us);
            } else {
                tracing::debug!(request = %id, operation = asked.operation, operation_id, status, us);
            }
        }
        None => tracing::debug!(request = %id, status, us),
    }
    let headers = response.headers_mut();
    let mut tell = |name: &str, value: HeaderValue| {
        if let Ok(name) = HeaderName::try_from(name) {
            headers.insert(name, value);
        }
    };
    tell(wire::PROTOCOL_HEADER, HeaderValue::from(wire::PROTOCOL));
    if let Ok(value) = HeaderValue::from_str(id) {
        tell(wire::REQUEST, value);
    }
    response
}

/// What no client of this version sends.
fn too_long(target: usize) -> Refused {
    Refused::with_status(
        StatusCode::URI_TOO_LONG,
        format!("the path and query have {target} bytes, the limit is {TARGET_BYTES}"),
        "shorten the longest parameter, or ask for less at once",
    )
}
