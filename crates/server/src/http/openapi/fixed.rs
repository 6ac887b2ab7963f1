//! The routes that are no operations as the document describes them.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tenure_core::instructions::Instructions;
use tenure_core::model::backup::Written;
use tenure_core::model::ids::{Anchor, ProjectKey};
use tenure_core::model::limits::LIST_ITEMS;
use tenure_core::model::refusal::Code;
use tenure_core::operation::Method;
use tenure_core::server_route::{Reach, ServerRoute};
use tenure_core::wire;

use super::door;
use super::response::{by_status, done, refused};
use crate::http::backup::{self, Wish};
use crate::http::database::Checkup;
use crate::http::health::{
    AUDIT_REFUSALS, AuditReport, DaemonInfo, Liveness, Readiness, Shutdown, Stopping, Version,
};
use crate::http::{export, help};

/// The paths of the document that do not come from the list of operations.
pub(super) fn paths(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut paths = Map::new();
    // Pages are for people, and no part of what programs are told.
    for route in ServerRoute::ALL.iter().filter(|route| route.reach() != Reach::Browser) {
        let method = route.method().as_str().to_ascii_lowercase();
        paths.insert(route.path().to_owned(), json!({ method: describe(*route, generator) }));
    }
    paths
}

fn describe(route: ServerRoute, generator: &mut SchemaGenerator) -> Value {
    match route {
        ServerRoute::Alive => answer::<Liveness>(route, &[], generator),
        ServerRoute::Ready => ready(generator),
        ServerRoute::Version => answer::<Version>(route, &[], generator),
        ServerRoute::Document => {
            let summary = "Describe every route: this document";
            described(route, summary, &json!({ "type": "object" }), &[])
        }
        ServerRoute::Info => answer::<DaemonInfo>(route, &[], generator),
        ServerRoute::Database => answer::<Checkup>(route, &[Code::CannotTell], generator),
        ServerRoute::Instructions => answer::<Instructions>(route, &[], generator),
        ServerRoute::Audit => audit(generator),
        ServerRoute::Help => text(),
        ServerRoute::Export => lines(generator),
        ServerRoute::Backup => backup(generator),
        ServerRoute::Shutdown => shutdown(generator),
        ServerRoute::Home
        | ServerRoute::LoginPage
        | ServerRoute::Style
        | ServerRoute::Login
        | ServerRoute::Logout
        | ServerRoute::EndLogin => Value::Null,
    }
}

/// By the network it tells no more than that it is so.
fn ready(generator: &mut SchemaGenerator) -> Value {
    let route = answer::<Readiness>(ServerRoute::Ready, &[Code::CannotTell], generator);
    let definitions = generator.definitions_mut();
    let readiness = definitions.get_mut(Readiness::schema_name().as_ref()).and_then(Value::as_object_mut);
    readiness.expect("it was described").insert("required".to_owned(), json!(["ready"]));
    route
}

fn shutdown(generator: &mut SchemaGenerator) -> Value {
    let mut route =
        answer::<Stopping>(ServerRoute::Shutdown, &[Code::InvalidInput, Code::StateConflict], generator);
    let wish = generator.subschema_for::<Shutdown>();
    route["requestBody"] = json!({ "required": false, "content": { wire::JSON: { "schema": wish } } });
    route
}

fn audit(generator: &mut SchemaGenerator) -> Value {
    let mut route = answer::<AuditReport>(ServerRoute::Audit, AUDIT_REFUSALS, generator);
    let anchor = generator.subschema_for::<Anchor>();
    route["parameters"] = json!([{
        "name": "expect",
        "in": "query",
        "required": false,
        "description": "An event and its hash that were noted elsewhere, as NUMBER:HASH: the record must have them",
        "schema": anchor,
    }]);
    route
}

fn backup(generator: &mut SchemaGenerator) -> Value {
    let written = generator.subschema_for::<Written>().to_value();
    let mut route = described(ServerRoute::Backup, backup::SUMMARY, &written, backup::REFUSALS);
    let wish = generator.subschema_for::<Wish>();
    route["requestBody"] = json!({ "required": true, "content": { wire::JSON: { "schema": wish } } });
    route
}

/// A text for people.
fn text() -> Value {
    let mut route = described(ServerRoute::Help, help::SUMMARY, &json!({ "type": "string" }), &[]);
    let content = &mut route["responses"]["200"]["content"];
    let text = content[wire::JSON].take();
    *content = json!({ help::TEXT: text });
    route
}

/// The one answer that is many JSON documents.
fn lines(generator: &mut SchemaGenerator) -> Value {
    let mut route =
        described(ServerRoute::Export, export::SUMMARY, &json!({ "type": "string" }), export::REFUSALS);
    let anchor = generator.subschema_for::<Anchor>();
    route["responses"]["200"]["headers"][wire::ANCHOR] = json!({
        "description": "The record's last event and its hash, as NUMBER:HASH",
        "schema": anchor,
    });
    let content = &mut route["responses"]["200"]["content"];
    let lines = content[wire::JSON].take();
    *content = json!({ wire::JSON_LINES: lines });
    let key = generator.subschema_for::<ProjectKey>();
    route["parameters"] = json!([{
        "name": "project",
        "in": "query",
        "required": false,
        "description": "Only this project; repeatable",
        "schema": { "type": "array", "maxItems": LIST_ITEMS, "items": key },
    }]);
    route
}

/// A route whose answer's own comment says what it is for.
fn answer<A: JsonSchema>(route: ServerRoute, refusals: &[Code], generator: &mut SchemaGenerator) -> Value {
    let schema = generator.subschema_for::<A>().to_value();
    let comment =
        generator.definitions().get(A::schema_name().as_ref()).and_then(|known| known.get("description"));
    let summary = comment.and_then(Value::as_str).unwrap_or_default().to_owned();
    described(route, &summary, &schema, refusals)
}

fn described(route: ServerRoute, summary: &str, answer: &Value, refusals: &[Code]) -> Value {
    let mut responses = json!({ "200": done(answer) });
    let reporters = match route.reach() {
        Reach::Everybody | Reach::Browser => None,
        Reach::Known | Reach::OwnMachine => Some(Code::ReporterLimited),
    };
    let codes = refusals.iter().copied().chain(reporters).chain(door::refusals(route.reach()));
    for (status, codes) in by_status(codes) {
        responses[status] = refused(&codes);
    }
    door::add_limits(&mut responses);
    match route.method() {
        Method::Post => door::add_limits_of_a_body(&mut responses),
        Method::Get | Method::Patch | Method::Delete => {}
    }
    json!({ "operationId": route, "tags": ["daemon"], "summary": summary, "responses": responses })
}
