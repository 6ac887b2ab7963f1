//! One operation as the document describes it.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use tenure_core::operation::Method;
use tenure_core::operation::catalog::Entry;
use tenure_core::operation::example::example;
use tenure_core::server_route::Reach;
use tenure_core::wire;

use super::door;
use super::parameters;
use super::response::{by_status, done, refused};
use crate::http::fields::Fields;
use crate::http::follow;

/// What an operation is for, in one line.
pub(in crate::http) fn summary(entry: &Entry) -> String {
    let mut generator = SchemaGenerator::default();
    let schema = (entry.input)(&mut generator).to_value();
    let input = resolved(schema, &generator);
    let text = input.get("description").and_then(Value::as_str).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Describes one operation.
pub(super) fn describe(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
    let spec = entry.spec;
    let input = resolved((entry.input)(generator).to_value(), generator);
    let answer = (entry.answer)(generator).to_value();
    let text = input.get("description").and_then(Value::as_str).unwrap_or_default();
    let (summary, description) = text.split_once("\n\n").unwrap_or((text, ""));

    let required: BTreeSet<&str> = input
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = input.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let in_path = |name: &str| spec.path.contains(&format!("{{{name}}}"));
    let in_query = matches!(spec.method, Method::Get | Method::Delete);

    let example = example(entry);
    let mut parameters = parameters::of(entry, properties.contains_key("revision"));
    let mut body = Map::new();
    for (name, schema) in properties {
        let place = match (in_path(&name), in_query) {
            (true, _) => "path",
            (false, true) => "query",
            (false, false) => {
                body.insert(name, schema);
                continue;
            }
        };
        let needed = place == "path" || required.contains(name.as_str());
        let mut parameter = json!({ "name": name, "in": place, "required": needed, "schema": schema });
        if let Some(value) = example.get(&name) {
            parameter["example"] = value.clone();
        }
        parameters.push(parameter);
    }
    let mut described = json!({
        "operationId": spec.name,
        "tags": [spec.name.split_once('.').map_or("loop", |(noun, _)| noun)],
        "summary": summary,
        "parameters": parameters,
        "responses": responses(entry, &answer),
    });
    if !description.is_empty() {
        described["description"] = json!(description);
    }
    if !body.is_empty() {
        add_body(&mut described, &body, &required, &example);
    }
    described
}

/// Describes the body.
fn add_body(described: &mut Value, fields: &Map<String, Value>, required: &BTreeSet<&str>, example: &Value) {
    // The revision may come as `If-Match` instead.
    let in_body = |name: &&&str| fields.contains_key(**name) && **name != "revision";
    let required: Vec<&str> = required.iter().filter(in_body).copied().collect();
    let example: Map<String, Value> =
        fields.keys().filter_map(|name| Some((name.clone(), example.get(name)?.clone()))).collect();
    described["requestBody"] = json!({
        "required": !required.is_empty(),
        "content": { wire::JSON: { "example": example, "schema": {
            "type": "object", "properties": fields, "required": required, "additionalProperties": false,
        } } },
    });
}

/// The answer, and every refusal that the operation can return, by status.
fn responses(entry: &Entry, answer: &Value) -> Value {
    let mut done = done(answer);
    done["headers"] = json!({ wire::EVENT: event() });
    if Fields::revised(entry) {
        done["headers"]["ETag"] = json!({
            "description": "The revision of the task or project, in quotes.", "schema": { "type": "string" },
        });
    }
    if entry.spec.name == follow::OPERATION {
        done["content"][wire::EVENT_STREAM] = json!({ "schema": {
            "type": "string",
            "description": "The same events as they happen, for who accepts this type: server-sent events without an \
                end, each with its cursor as `id`, its kind as `event` and itself as `data`.",
        } });
    }
    let mut responses = json!({ "200": done });
    let codes = entry.spec.all_refusals().into_iter().chain(door::refusals(Reach::Known));
    for (status, codes) in by_status(codes) {
        responses[status] = refused(&codes);
    }
    door::add_limits(&mut responses);
    door::add_limits_of_a_body(&mut responses);
    responses
}

/// The header that tells of which state an answer is.
fn event() -> Value {
    json!({
        "description": "The last event of the committed state that the answer is true of; of a change, of the commit that \
            holds it. Given to another question as `Tenure-At-Least`, on this server or another one of the fleet, that \
            question sees the same or what came after.",
        "schema": { "type": "string", "pattern": "^[0-9]+-[0-9]+$" },
    })
}

/// The schema that a reference names, or the schema itself.
fn resolved(schema: Value, generator: &SchemaGenerator) -> Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    name.and_then(|name| generator.definitions().get(name)).cloned().unwrap_or(schema)
}
