//! The OpenAPI 3.1 document: the list of operations, written down for programs and people who do not read Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use axum::response::Response;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use tenure_core::model::refusal::{Code, Problem};
use tenure_core::operation::catalog::{self, Entry};
use tenure_core::operation::{Access, Effect, Fencing, Method};

use super::routes::{json_response, method_name};
use tenure_core::wire;

const COMPONENTS: &str = "/components/schemas";

pub(super) async fn serve() -> Response {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    json_response(DOCUMENT.get_or_init(|| openapi().to_string()).clone())
}

/// Describes every route.
#[must_use]
pub fn openapi() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = COMPONENTS.into())
        .into_generator();
    let _ = generator.subschema_for::<Problem>();
    let mut paths: Map<String, Value> = super::fixed::paths();
    for entry in catalog::entries() {
        let path = format!("{}{}", wire::API, entry.spec.path);
        let described = describe(&entry, &mut generator);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[method_name(entry.spec.method).to_ascii_lowercase()] = described;
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Coordinates fleets of coding agents. Every refusal is a problem with a stable `code`.",
            "license": { "name": env!("CARGO_PKG_LICENSE") },
        },
        "paths": paths,
        "components": { "parameters": parameters(), "schemas": {} },
    });
    document["components"]["schemas"] = used(&document["paths"], generator.take_definitions(true));
    document
}

/// Describes one operation.
fn describe(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
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

    let mut parameters = header_parameters(entry, properties.contains_key("revision"));
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
        parameters.push(json!({ "name": name, "in": place, "required": needed, "schema": schema }));
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
        // The revision may come as `If-Match` instead.
        let in_body = |name: &&str| body.contains_key(*name) && *name != "revision";
        let required: Vec<&str> = required.into_iter().filter(in_body).collect();
        described["requestBody"] = json!({
            "required": !required.is_empty(),
            "content": { wire::JSON: { "schema": {
                "type": "object", "properties": body, "required": required, "additionalProperties": false,
            } } },
        });
        for (status, what) in
            [("413", "The body is too large."), ("415", "The body is not declared as JSON.")]
        {
            described["responses"][status] = problem(what, &[Code::InvalidInput]);
        }
    }
    described
}

/// The answer, and every refusal that the operation can return, by status.
fn responses(entry: &Entry, answer: &Value) -> Value {
    let mut done = json!({ "description": "Done.", "content": { wire::JSON: { "schema": answer } } });
    if super::fields::Fields::revised(entry) {
        done["headers"] = json!({ "ETag": {
            "description": "The revision of the task or project, in quotes.", "schema": { "type": "string" },
        } });
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in entry.spec.all_refusals() {
        by_status.entry(code.status()).or_default().push(code);
    }
    let mut responses = Map::from_iter([("200".to_owned(), done)]);
    for (status, codes) in by_status {
        let lines: Vec<String> = codes.iter().map(|code| format!("`{code}`: {}", code.means())).collect();
        responses.insert(status.to_string(), problem(&lines.join("\n\n"), &codes));
    }
    Value::Object(responses)
}

/// A problem whose code is one of these.
pub(super) fn problem(description: &str, codes: &[Code]) -> Value {
    let schema = json!({ "allOf": [
        { "$ref": format!("#{COMPONENTS}/Problem") },
        { "properties": { "code": { "enum": codes } } },
    ] });
    json!({ "description": description, "content": { wire::PROBLEM_JSON: { "schema": schema } } })
}

/// The headers that mean something to an operation.
fn header_parameters(entry: &Entry, has_revision: bool) -> Vec<Value> {
    let spec = entry.spec;
    let mut names = vec![wire::PROTOCOL_HEADER];
    if spec.access != Access::Anyone {
        names.extend([wire::SESSION, wire::PROOF]);
    }
    if spec.effect != Effect::Read {
        names.push(wire::IDEMPOTENCY_KEY);
    }
    if spec.fencing != Fencing::None {
        names.extend([wire::ATTEMPT, wire::LEASE, wire::EPOCH]);
    }
    if spec.name == "claim" {
        names.push(wire::TOKEN_HASH);
    }
    if has_revision {
        names.push("If-Match");
    }
    names.iter().map(|name| json!({ "$ref": format!("#/components/parameters/{name}") })).collect()
}

/// What each header means, once.
fn parameters() -> Value {
    let secret = json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" });
    let name = json!({ "type": "string", "maxLength": 64 });
    let rows = [
        (wire::PROTOCOL_HEADER, false, "The protocol that the client speaks.", json!({ "type": "integer" })),
        (
            wire::SESSION,
            true,
            "The calling session.",
            json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" }),
        ),
        (wire::PROOF, true, "What proves the session; a secret.", secret.clone()),
        (
            wire::IDEMPOTENCY_KEY,
            true,
            "The client's id of this mutation. Sent again with the same request, it gets the same answer.",
            name.clone(),
        ),
        (
            wire::ATTEMPT,
            false,
            "The attempt that the caller holds: task and generation, e.g. afc-12@3.",
            name,
        ),
        (wire::LEASE, false, "The lease token of that attempt; a secret.", secret.clone()),
        (
            wire::EPOCH,
            false,
            "The fleet's incarnation in which the attempt was granted.",
            json!({ "type": "integer" }),
        ),
        (
            wire::TOKEN_HASH,
            true,
            "SHA-256 of the lease token that the client derived from this claim.",
            secret,
        ),
        (
            "If-Match",
            false,
            "The revision that was seen, in quotes: the ETag of an earlier answer.",
            json!({ "type": "string" }),
        ),
    ];
    Value::from_iter(rows.map(|(name, required, description, schema)| {
        let parameter = json!({
            "name": name, "in": "header", "required": required, "description": description, "schema": schema,
        });
        (name, parameter)
    }))
}

/// The schema that a reference names, or the schema itself.
fn resolved(schema: Value, generator: &SchemaGenerator) -> Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    name.and_then(|name| generator.definitions().get(name)).cloned().unwrap_or(schema)
}

/// The definitions that something refers to, directly or through another one.
fn used(paths: &Value, definitions: Map<String, Value>) -> Value {
    let mut wanted = BTreeSet::new();
    collect(paths, &mut wanted);
    let mut open: Vec<String> = wanted.iter().cloned().collect();
    while let Some(name) = open.pop() {
        let mut more = BTreeSet::new();
        collect(definitions.get(&name).unwrap_or(&Value::Null), &mut more);
        open.extend(more.into_iter().filter(|name| wanted.insert(name.clone())));
    }
    definitions.into_iter().filter(|(name, _)| wanted.contains(name)).collect()
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(path)) = map.get("$ref")
                && let Some(name) = path.strip_prefix(&format!("#{COMPONENTS}/"))
            {
                names.insert(name.to_owned());
            }
            map.values().for_each(|value| collect(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_and_every_refusal_is_described_and_every_reference_resolves() {
        let document = openapi();
        for entry in catalog::entries() {
            let path = format!("{}{}", wire::API, entry.spec.path);
            let described = &document["paths"][&path][method_name(entry.spec.method).to_ascii_lowercase()];
            assert_eq!(described["operationId"], entry.spec.name);
            assert!(
                described["summary"].as_str().is_some_and(|text| !text.is_empty()),
                "{}",
                entry.spec.name
            );
            for code in entry.spec.all_refusals() {
                let response = &described["responses"][code.status().to_string()];
                let text = response["description"].as_str().unwrap_or_default();
                assert!(text.contains(&format!("`{code}`")), "{} {code}", entry.spec.name);
            }
            for field in entry.spec.path.split('/').filter_map(|part| part.strip_prefix('{')) {
                let field = field.trim_end_matches('}');
                let parameters = described["parameters"].as_array().expect("parameters");
                assert!(parameters.iter().any(|p| p["name"] == field && p["in"] == "path"), "{path}");
            }
        }
        let mut names = BTreeSet::new();
        collect(&document, &mut names);
        for name in names {
            assert!(document["components"]["schemas"].get(&name).is_some(), "{name}");
        }
    }
}
