//! The OpenAPI 3.1 document: the list of operations, written down for programs and people who do not read Rust.

mod door;
mod fixed;
mod operation;
mod parameters;
mod response;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use axum::response::Response;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use tenure_core::model::refusal::Problem;
use tenure_core::operation::catalog;
use tenure_core::wire;

use super::response::json as json_response;
pub(super) use operation::summary;
use response::COMPONENTS;

/// Answers with the document.
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
    let mut paths: Map<String, Value> = fixed::paths(&mut generator);
    for entry in catalog::entries() {
        let path = format!("{}{}", wire::API, entry.spec.path);
        let described = operation::describe(&entry, &mut generator);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[entry.spec.method.as_str().to_ascii_lowercase()] = described;
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
        "security": [{ "token": [] }, {}],
        "components": {
            "parameters": parameters::all(),
            "schemas": {},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of an agent or a machine, by the network. On the socket the operating system \
                        vouches for the caller, and there is none.",
                },
            },
        },
    });
    document["components"]["schemas"] = used(&document["paths"], generator.take_definitions(true));
    document
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
            let described = &document["paths"][&path][entry.spec.method.as_str().to_ascii_lowercase()];
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
