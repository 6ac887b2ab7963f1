//! The HTTP surface: every route, and what happens to every request whatever it asks.

mod app;
mod fields;
mod fixed;
mod headers;
mod health;
mod openapi;
mod problem;
mod request;
mod routes;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use tenure_core::model::ids::OperationId;
use tenure_core::operation::Effect;

pub use app::App;
pub use openapi::openapi;
pub use problem::peer_refused;

use tenure_core::wire;

/// Every route of a fleet.
pub fn router(app: Arc<App>) -> Router {
    let fixed = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/version", get(health::version))
        .route("/openapi.json", get(openapi::serve))
        .route(&format!("{}/info", wire::API), get(health::info))
        .route(&format!("{}/audit", wire::API), get(health::audit))
        .route(&format!("{}/shutdown", wire::API), post(health::shutdown));
    routes::add_to(fixed)
        .fallback(|request: Request| async move { problem::no_such_route(request.uri().path()) })
        .method_not_allowed_fallback(|method: Method| async move { problem::wrong_method(&method) })
        .layer(from_fn_with_state(app.clone(), attend))
        .with_state(app)
}

/// What a handler tells the log about its request. It rides on the response; nothing else of a request is logged.
#[derive(Clone)]
struct Asked {
    operation: &'static str,
    effect: Effect,
    operation_id: Option<OperationId>,
}

/// Counts a request while it is in flight, and logs what became of it.
async fn attend(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let ticket = app.enter();
    let began = Instant::now();
    let mut response = next.run(request).await;
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
    headers.insert("tenure-protocol", HeaderValue::from(wire::PROTOCOL));
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert("tenure-request", value);
    }
    response
}
