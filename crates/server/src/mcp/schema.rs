//! The schemas of operations as models need them: without what only costs words.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// What a schema says that a model has no use for.
const NOISE: [&str; 7] = ["$schema", "title", "format", "default", "minimum", "maximum", "examples"];
/// What texts say that only who types needs to know.
const TYPED: [&str; 3] = ["; `-` reads standard input", "; repeatable", " (up to 60000)"];

/// The schema that stands for itself, without references.
pub(super) fn of(schema: fn(&mut SchemaGenerator) -> Schema) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    schema(&mut settings.into_generator()).to_value()
}

/// A text without what only who types needs to know.
pub(super) fn called(text: &str) -> String {
    TYPED.iter().fold(text.to_owned(), |text, typed| text.replace(typed, ""))
}

/// The schema of a value that is given: what may be absent is left out rather than null.
pub(super) fn given(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut kept: Map<String, Value> = Map::new();
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        let options: Vec<&Value> = options.iter().filter(|option| !is_null(option)).collect();
        match words(&options) {
            Some(words) => {
                kept.extend([("type".to_owned(), json!("string")), ("enum".to_owned(), words)]);
            }
            None if options.len() == 1 => {
                if let Value::Object(only) = given(options[0]) {
                    kept.extend(only);
                }
            }
            None => drop(kept.insert("anyOf".to_owned(), options.into_iter().map(given).collect())),
        }
    }
    for (key, value) in schema {
        match (key.as_str(), value) {
            // An unknown field is refused with the names of the known ones.
            ("anyOf" | "oneOf", _) | ("additionalProperties", Value::Bool(_)) => {}
            (key, _) if NOISE.contains(&key) => {}
            ("description", Value::String(text)) => drop(kept.insert(key.clone(), called(text).into())),
            ("type", Value::Array(types)) => {
                let present: Vec<&Value> = types.iter().filter(|kind| **kind != "null").collect();
                let only = if let [only] = present[..] { only.clone() } else { json!(present) };
                kept.insert(key.clone(), only);
            }
            ("properties", Value::Object(fields)) => {
                let fields = fields.iter().map(|(name, field)| (name.clone(), given(field)));
                kept.insert(key.clone(), Value::Object(fields.collect()));
            }
            ("items" | "additionalProperties", _) => {
                let mut inner = given(value);
                if let Value::Object(inner) = &mut inner {
                    inner.remove("description");
                }
                kept.insert(key.clone(), inner);
            }
            // open set: the words of JSON Schema
            _ => drop(kept.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(kept)
}

/// The outline of an answer: its fields and of what type each is. A whole answer's schema is longer than most answers, and
/// /openapi.json has it.
pub(super) fn outline(schema: &Value) -> Value {
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten().map(|(name, field)| (name.clone(), typed(field)));
    json!({ "type": "object", "properties": fields.collect::<Map<_, _>>() })
}

/// A schema with the type alone.
fn typed(schema: &Value) -> Value {
    match types(schema) {
        Some(kind) => json!({ "type": kind }),
        None => json!({}),
    }
}

fn types(schema: &Value) -> Option<Value> {
    if let Some(kind) = schema.get("type") {
        return Some(kind.clone());
    }
    let options = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
    let mut kinds = Vec::new();
    for kind in options.iter().map(types) {
        match kind? {
            Value::Array(several) => kinds.extend(several),
            one => kinds.push(one),
        }
    }
    kinds.sort_by_key(ToString::to_string);
    kinds.dedup();
    Some(if let [one] = &kinds[..] { one.clone() } else { Value::Array(kinds) })
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// The words of a closed set, if all options are words.
fn words(options: &[&Value]) -> Option<Value> {
    let mut words = Vec::new();
    for option in options {
        match (option.get("const"), option.get("enum").and_then(Value::as_array)) {
            (Some(word), _) => words.push(word.clone()),
            (None, Some(several)) => words.extend(several.iter().cloned()),
            (None, None) => match option.get("oneOf").and_then(Value::as_array) {
                Some(inner) => {
                    words.extend(self::words(&inner.iter().collect::<Vec<_>>())?.as_array()?.clone());
                }
                None => return None,
            },
        }
    }
    (!words.is_empty()).then_some(Value::Array(words))
}
