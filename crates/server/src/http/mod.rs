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
mod headers;
mod health;
mod help;
mod hosts;
mod logins;
mod lost;
mod method;
mod openapi;
mod pages;
mod patience;
mod people;
mod problem;
mod request;
mod response;
mod routes;
mod token;
mod tools;
mod turns;
mod waiters;
mod writes;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};
use tenure_core::server_route::ServerRoute;

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

/// What answers at a route of the server itself.
fn of_the_server(route: ServerRoute) -> MethodRouter<Arc<App>> {
    match route {
        ServerRoute::Alive => get(health::alive),
        ServerRoute::Ready => get(health::ready),
        ServerRoute::Version => get(health::version),
        ServerRoute::Help => get(help::tell),
        ServerRoute::Document => get(openapi::serve),
        ServerRoute::Info => get(health::info),
        ServerRoute::Audit => get(health::audit),
        ServerRoute::Instructions => get(health::instructions),
        ServerRoute::Export => get(export::lines),
        ServerRoute::Database => get(database::look),
        ServerRoute::Backup => post(backup::create),
        ServerRoute::Shutdown => post(health::shutdown),
        ServerRoute::Home => get(pages::home),
        ServerRoute::LoginPage => get(pages::login_page),
        ServerRoute::Style => get(pages::style),
        ServerRoute::Login => post(pages::log_in),
        ServerRoute::Logout => post(pages::log_out),
        ServerRoute::EndLogin => post(pages::end),
    }
}

fn routes(app: Arc<App>, door: Option<Arc<Door>>) -> Router {
    let fixed = ServerRoute::ALL
        .iter()
        .fold(Router::new(), |router, route| router.route(route.path(), of_the_server(*route)));
    let routes = tools::add_to(routes::add_to(fixed), &app, door.as_deref());
    let attended = Attended { app: app.clone(), door };
    let routes = routes
        .fallback(|request: Request| async move { lost::no_such_route(request.uri().path()) })
        .method_not_allowed_fallback(|method: Method| async move { lost::wrong_method(&method) })
        .with_state::<()>(app);
    // Around all of them and not on each: a route adds to its answers which methods it has.
    Router::new().fallback_service(routes).layer(from_fn_with_state(attended, attend::attend))
}
