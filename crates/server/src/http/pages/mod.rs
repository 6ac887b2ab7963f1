//! What a person's browser is shown: a page to log in, and one that tells who one is and what one may do. Both work without
//! a script, and ask for nothing that does not come from here.

mod form;
mod html;

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use tenure_core::model::ids::PrincipalName;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::server_route::ServerRoute;
use tenure_engine::Failure;

use super::app::App;
use super::door::Peer;
use super::logins::{self, Login, LoginSecret, Look};
use super::people;
use super::problem::{RETRY_AFTER, Refused};
use form::Form;

/// What a page may do: show itself, in the style of this server, and send its forms here.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Tells who one is and what one may do, or asks to log in.
pub(super) async fn home(State(app): State<Arc<App>>, request: Request) -> Response {
    let headers = request.headers();
    match known(&app, headers).await {
        Ok(Some((secret, login))) => {
            let own = app.logins.of(&login.name, Instant::now());
            page(StatusCode::OK, html::home(&secret, &login, &own, Instant::now()))
        }
        Ok(None) => to(ServerRoute::LoginPage),
        Err(refusal) => refused_page(&refusal, ""),
    }
}

/// Asks for a name and a password.
pub(super) async fn login_page() -> Response {
    page(StatusCode::OK, html::login("", None))
}

/// The style of both.
pub(super) async fn style() -> Response {
    answer(StatusCode::OK, "text/css; charset=utf-8", html::STYLE.to_owned())
}

/// Compares what was typed, and gives the browser a login.
pub(super) async fn log_in(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let form = posted(request).await?;
    let name = form.get("name").trim().to_owned();
    let begun = begin(&app, &name, form.get("password")).await;
    let secret = match begun {
        Ok(secret) => secret,
        Err(refusal) => return Ok(refused_page(&refusal, &name)),
    };
    // Whoever else was logged in with this browser is not any more.
    if let Some(before) = form.login {
        app.logins.end(&before.hash());
    }
    let mut response = to(ServerRoute::Home);
    response.headers_mut().insert(header::SET_COOKIE, secret.cookie());
    Ok(response)
}

async fn begin(app: &Arc<App>, name: &str, password: &str) -> Result<LoginSecret, Refusal> {
    // What is no name has no account, and hears the same.
    let name: PrincipalName = name.parse().map_err(|_| tenure_engine::not_proven())?;
    let proven = people::log_in(app, &name, password).await?;
    let asked = name.clone();
    let found = app.blocking(move |app| app.engine.account(&asked)).await?;
    let found = found.map_err(|error| app.refusal(Failure::CannotTell(error)))?;
    let account = found.filter(|account| !account.disabled && account.password.digest() == proven);
    let account = account.ok_or_else(tenure_engine::not_proven)?;
    let secret = LoginSecret::draw().map_err(|error| app.refusal(Failure::CannotTell(error)))?;
    let now = Instant::now();
    app.logins.begin(&secret, Login::new(&account, now), now);
    Ok(secret)
}

/// Ends the login of this browser.
pub(super) async fn log_out(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let form = posted(request).await?;
    if let Some(secret) = &form.login {
        logins::check_page_word(form.get("page").as_bytes(), secret)?;
        app.logins.end(&secret.hash());
    }
    let mut response = to(ServerRoute::LoginPage);
    response.headers_mut().insert(header::SET_COOKIE, logins::cleared());
    Ok(response)
}

/// Ends another login of the same person.
pub(super) async fn end(State(app): State<Arc<App>>, request: Request) -> Result<Response, Refused> {
    let headers = request.headers().clone();
    let form = posted(request).await?;
    let Some((secret, login)) = known(&app, &headers).await? else { return Ok(to(ServerRoute::LoginPage)) };
    logins::check_page_word(form.get("page").as_bytes(), &secret)?;
    for (hash, _) in app.logins.of(&login.name, Instant::now()) {
        if html::name_of(&hash) == form.get("login") {
            app.logins.end(&hash);
        }
    }
    Ok(to(ServerRoute::Home))
}

/// Who is logged in with the browser that asks.
async fn known(app: &Arc<App>, headers: &HeaderMap) -> Result<Option<(LoginSecret, Login)>, Refusal> {
    let Some(secret) = LoginSecret::read(headers) else { return Ok(None) };
    Ok(logins::judge(app, secret.hash(), Look::Use).await?.map(|login| (secret, login)))
}

/// A form that a page of this server has sent, by the network.
async fn posted(request: Request) -> Result<Form, Refused> {
    let (parts, body) = request.into_parts();
    if parts.extensions.get::<Peer>().is_none() {
        return Err(
            Refusal::new(Code::InvalidInput, "browsers come by the network, and not by the socket").into()
        );
    }
    logins::own_pages_only(&parts)?;
    Form::read(&parts.headers, body).await
}

fn refused_page(refusal: &Refusal, name: &str) -> Response {
    let status = StatusCode::from_u16(refusal.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = page(status, html::login(name, Some(refusal)));
    if let Some(seconds) = refusal.facts.get(RETRY_AFTER).and_then(serde_json::Value::as_u64) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn page(status: StatusCode, text: String) -> Response {
    answer(status, "text/html; charset=utf-8", text)
}

/// The way to another page, which is asked for by `GET`.
fn to(route: ServerRoute) -> Response {
    let mut response = page(StatusCode::SEE_OTHER, String::new());
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(route.path()));
    response
}

fn answer(status: StatusCode, media_type: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // A page that told nobody from where it comes could not send a form either: its origin would be none.
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        response.headers_mut().insert(name, HeaderValue::from_static("same-origin"));
    }
    response
}
