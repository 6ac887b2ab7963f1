//! The HTTP surface: every route, and nothing but routes. Files here never need each other: what several of them use
//! (answers, refusals, the shared state) stands in one of its own below them.

mod app;
mod at_least;
mod attend;
mod backup;
mod bucket;
mod database;
mod door;
mod export;
mod fields;
mod finding;
mod follow;
mod forwarded;
mod guesses;
mod headers;
mod health;
mod help;
mod hosts;
mod lost;
mod method;
mod openapi;
mod patience;
mod people;
mod problem;
mod request;
mod response;
mod routes;
mod token;
mod waiters;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tenure_core::wire;

use attend::Attended;

pub use app::App;
pub use door::{Door, Peer};
pub use forwarded::{Block, Proxies, caller};
pub use hosts::{HostName, Origin};
pub use openapi::openapi;
pub use problem::peer_refused;

/// Every route of a fleet, for whoever the operating system vouches for.
pub fn router(app: Arc<App>) -> Router {
    routes(app, None)
}

/// The same routes behind a door. Every request must carry its [`Peer`].
pub fn router_behind(door: Arc<Door>, app: Arc<App>) -> Router {
    routes(app, Some(door))
}

fn routes(app: Arc<App>, door: Option<Arc<Door>>) -> Router {
    let fixed = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/version", get(health::version))
        .route("/openapi.json", get(openapi::serve))
        .route(&format!("{}/info", wire::API), get(health::info))
        .route(&format!("{}/audit", wire::API), get(health::audit))
        .route(&format!("{}{}", wire::API, wire::INSTRUCTIONS), get(health::instructions))
        .route(&format!("{}{}", wire::API, wire::HELP), get(help::tell))
        .route(&format!("{}{}", wire::API, wire::DATABASE), get(database::look))
        .route(&format!("{}{}", wire::API, wire::BACKUPS), post(backup::create))
        .route(&format!("{}{}", wire::API, wire::EXPORT), get(export::lines))
        .route(&format!("{}{}", wire::API, wire::SHUTDOWN), post(health::shutdown));
    let attended = Attended { app: app.clone(), door };
    let routes = routes::add_to(fixed)
        .fallback(|request: Request| async move { lost::no_such_route(request.uri().path()) })
        .method_not_allowed_fallback(|method: Method| async move { lost::wrong_method(&method) })
        .with_state::<()>(app);
    // Around all of them and not on each: a route adds to its answers which methods it has.
    Router::new().fallback_service(routes).layer(from_fn_with_state(attended, attend::attend))
}
