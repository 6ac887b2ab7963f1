//! The routes that are no operations as the document describes them.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tenure_core::instructions::Instructions;
use tenure_core::model::backup::Written;
use tenure_core::model::ids::{Anchor, ProjectKey};
use tenure_core::model::limits::LIST_ITEMS;
use tenure_core::model::refusal::Code;
use tenure_core::wire;

use super::response::{by_status, done, refused};
use crate::http::backup::{self, Wish};
use crate::http::database::Checkup;
use crate::http::health::{
    AUDIT_REFUSALS, AuditReport, DaemonInfo, Liveness, Readiness, Shutdown, Stopping, Version,
};
use crate::http::{export, help};

/// The paths of the document that do not come from the list of operations.
pub(super) fn paths(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let api = |path: &str| format!("{}{path}", wire::API);
    let mut paths = Map::new();
    let mut get = |path: String, described: Value| paths.insert(path, json!({ "get": described }));
    get("/healthz".to_owned(), route::<Liveness>("health.alive", &[], generator));
    get("/readyz".to_owned(), route::<Readiness>("health.ready", &[Code::CannotTell], generator));
    get("/version".to_owned(), route::<Version>("version", &[], generator));
    get(
        "/openapi.json".to_owned(),
        described("openapi", "Describe every route: this document", &json!({ "type": "object" }), &[]),
    );
    get(api("/info"), route::<DaemonInfo>("info", &[], generator));
    get(api(wire::DATABASE), route::<Checkup>("database", &[Code::CannotTell], generator));
    get(api("/audit"), audit(generator));
    get(api(wire::INSTRUCTIONS), route::<Instructions>("instructions", &[], generator));
    paths.insert(api(wire::HELP), json!({ "get": text() }));
    paths.insert(api(wire::EXPORT), json!({ "get": lines(generator) }));
    paths.insert(api(wire::BACKUPS), json!({ "post": backup(generator) }));
    paths.insert(api(wire::SHUTDOWN), json!({ "post": shutdown(generator) }));
    paths
}

fn shutdown(generator: &mut SchemaGenerator) -> Value {
    let mut route = route::<Stopping>("shutdown", &[Code::InvalidInput, Code::StateConflict], generator);
    let wish = generator.subschema_for::<Shutdown>();
    route["requestBody"] = json!({ "required": false, "content": { wire::JSON: { "schema": wish } } });
    route
}

fn audit(generator: &mut SchemaGenerator) -> Value {
    let mut route = route::<AuditReport>("audit", AUDIT_REFUSALS, generator);
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
    let mut route = described("backup", backup::SUMMARY, &written, backup::REFUSALS);
    let wish = generator.subschema_for::<Wish>();
    route["requestBody"] = json!({ "required": true, "content": { wire::JSON: { "schema": wish } } });
    route
}

/// A text for people.
fn text() -> Value {
    let mut route = described("help", help::SUMMARY, &json!({ "type": "string" }), &[]);
    let content = &mut route["responses"]["200"]["content"];
    let text = content[wire::JSON].take();
    *content = json!({ help::TEXT: text });
    route
}

/// The one answer that is many JSON documents.
fn lines(generator: &mut SchemaGenerator) -> Value {
    let mut route = described("export", export::SUMMARY, &json!({ "type": "string" }), export::REFUSALS);
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
fn route<A: JsonSchema>(id: &str, refusals: &[Code], generator: &mut SchemaGenerator) -> Value {
    let schema = generator.subschema_for::<A>().to_value();
    let comment =
        generator.definitions().get(A::schema_name().as_ref()).and_then(|known| known.get("description"));
    let summary = comment.and_then(Value::as_str).unwrap_or_default().to_owned();
    described(id, &summary, &schema, refusals)
}

fn described(id: &str, summary: &str, answer: &Value, refusals: &[Code]) -> Value {
    let mut responses = Map::from_iter([("200".to_owned(), done(answer))]);
    for (status, codes) in by_status(refusals.iter().copied()) {
        responses.insert(status, refused(&codes));
    }
    json!({ "operationId": id, "tags": ["daemon"], "summary": summary, "responses": responses })
}
