//! One route per operation, from core's list: a request becomes an operation with its envelope, is asked of the
//! engine, and its outcome becomes a response.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use serde_json::{Map, Value};
use tenure_core::model::limits::{BODY_BYTES, IMPORT_BYTES};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::Effect;
use tenure_core::operation::catalog::{self, AnyOperation, Entry};
use tenure_core::wire;
use tenure_engine::{Command, Told};

use super::app::App;
use super::attend::Asked;
use super::fields::Fields;
use super::problem::Refused;
use super::{door, follow, headers, method, patience, people, request, response};

/// Everything that is known of a route before a request comes.
struct Route {
    entry: Entry,
    shape: OnceLock<Shape>,
}

/// What follows from the schemas of an operation. They are built when they are first asked for: those of all operations
/// together were most of what a start cost.
struct Shape {
    fields: Fields,
    /// Whether it answers with one record that has a revision.
    is_revised: bool,
}

/// Adds the routes of all operations.
pub(super) fn add_to(router: Router<Arc<App>>) -> Router<Arc<App>> {
    catalog::entries().into_iter().fold(router, |router, entry| {
        let path = format!("{}{}", wire::API, entry.spec.path);
        let filter = method::filter(entry.spec.method);
        let route = Arc::new(Route::new(entry));
        router.route(
            &path,
            on(filter, move |State(app): State<Arc<App>>, request: Request| handle(app, route, request)),
        )
    })
}

impl Route {
    fn new(entry: Entry) -> Self {
        Self { entry, shape: OnceLock::new() }
    }

    fn shape(&self) -> &Shape {
        let entry = &self.entry;
        self.shape.get_or_init(|| Shape { fields: Fields::of(entry), is_revised: Fields::revised(entry) })
    }

    fn bytes_max(&self) -> usize {
        // A file's text grows when it is written as a JSON string: every quote and line end becomes two bytes.
        if self.entry.spec.is_import() { 2 * IMPORT_BYTES } else { BODY_BYTES }
    }
}

async fn handle(app: Arc<App>, route: Arc<Route>, request: Request) -> Response {
    let mut asked =
        Asked { operation: route.entry.spec.name, effect: route.entry.spec.effect, operation_id: None };
    let mut response = match answer(&app, &route, request, &mut asked).await {
        Ok(response) => response,
        Err(refused) => refused.into_response(),
    };
    response.extensions_mut().insert(asked);
    response
}

async fn answer(
    app: &Arc<App>,
    route: &Arc<Route>,
    request: Request,
    asked: &mut Asked,
) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    door::check_reporter(&route.entry.spec, &parts.headers)?;
    door::check_login(&route.entry.spec, &parts)?;
    headers::require_session(&route.entry.spec, &parts.headers)?;
    people::require(&route.entry.spec, &parts)?;
    let mut envelope = headers::envelope(&route.entry.spec, &parts.headers)?;
    door::name_caller(&route.entry.spec, &parts, &mut envelope)?;
    asked.operation_id.clone_from(&envelope.operation_id);

    // Room is taken by texts that are here: a body that never arrives keeps nobody else's out.
    let room = route.entry.spec.is_import().then_some(&app.import_room);
    let (bytes, _room) = request::body(&parts.headers, body, route.bytes_max(), room).await?;
    let _turn = if route.entry.spec.is_import() { Some(app.import_turn().await) } else { None };
    let operation = if route.entry.spec.is_import() {
        let mut map = app.blocking(move |_| request::body_fields(&bytes)).await??;
        complete(&mut map, route, &mut parts).await?;
        let route = route.clone();
        app.blocking(move |_| (route.entry.read)(Value::Object(map))).await??
    } else {
        let mut map = request::body_fields(&bytes)?;
        complete(&mut map, route, &mut parts).await?;
        (route.entry.read)(Value::Object(map))?
    };

    if let AnyOperation::ListEvents(events) = &operation
        && follow::is_wanted(&parts.headers)
    {
        return follow::follow(app, events.clone(), envelope, &parts).await;
    }
    let outdated = people::prove(app, &operation, &parts, &mut envelope).await?;
    let Told { outcome, at } = patience::ask(app, Command { operation, envelope }).await;
    if let Some(outdated) = outdated {
        people::renew(app, outdated).await;
    }
    if let Some(login) = door::login_of(&parts).filter(|_| route.entry.spec.effect == Effect::Read) {
        // It may have waited for a while.
        door::check_login_counts(app, login).await?;
    }
    let json = outcome.map_err(|failure| Refused::at(app.refusal(failure), at))?;
    let answer = if route.shape().is_revised { response::tagged(json) } else { response::json(json) };
    Ok(response::true_at(answer, at))
}

/// Adds to the body's fields what path, query and `If-Match` say.
async fn complete(map: &mut Map<String, Value>, route: &Route, parts: &mut Parts) -> Result<(), Refusal> {
    let fields = &route.shape().fields;
    if route.entry.spec.path.contains('{') {
        let params = RawPathParams::from_request_parts(parts, &())
            .await
            .map_err(|_| Refusal::new(Code::InvalidInput, "the path is not valid UTF-8"))?;
        request::add_path(map, fields, params.iter())?;
    }
    request::add_query(map, fields, parts.uri.query().unwrap_or_default())?;
    request::add_revision(map, fields, headers::if_match(&parts.headers)?)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tenure_core::model::limits::IMPORTS_BYTES;
    use tenure_engine::{Engine, Options};

    use super::*;

    async fn preview(app: &Arc<App>) -> (u16, Option<String>) {
        let route = catalog::entries().into_iter().find(|entry| entry.spec.name == "import.preview");
        let route = Arc::new(Route::new(route.expect("an operation")));
        let body = r#"{"project":"afc","format":"beads","text":""}"#;
        let request = Request::post("/api/v1/imports/preview").header("content-type", wire::JSON);
        let response = handle(app.clone(), route, request.body(Body::from(body)).expect("a request")).await;
        let status = response.status().as_u16();
        let answer = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        (status, answer["code"].as_str().map(str::to_owned))
    }

    #[tokio::test]
    async fn an_import_beyond_the_room_for_texts_is_told_to_come_back() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let engine = Engine::open(folder.path(), Options::default()).expect("a store");
        let app = App::new(engine, folder.path().to_owned()).expect("a store that can be read");
        let all = u32::try_from(IMPORTS_BYTES).expect("a small number");
        let others = app.import_room.try_acquire_many(all).expect("nobody else is here");
        assert_eq!(preview(&app).await, (503, Some("overloaded".to_owned())));
        drop(others);
        assert_eq!(preview(&app).await, (404, Some("not_found".to_owned())), "there is no project");
        assert_eq!(app.import_room.available_permits(), IMPORTS_BYTES, "the room was given back");
    }
}
