//! What kind of value each field of an operation takes. Paths and queries carry text only; the schema of the
//! operation's input says what the text means.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use serde_json::Value;
use tenure_core::model::limits::excerpt;
use tenure_core::model::refusal::Refusal;
use tenure_core::operation::catalog::Entry;

/// What text in a path or query means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Boolean,
    /// Given by repetition.
    List(Box<Kind>),
    /// Only a body can carry it.
    Structure,
}

/// The fields of an operation's input.
#[derive(Debug)]
pub(super) struct Fields(BTreeMap<String, Kind>);

impl Fields {
    /// The fields of an operation, from the schema of its input.
    pub(super) fn of(entry: &Entry) -> Self {
        let schema = (entry.input)(&mut inlined().into_generator());
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten().map(|(name, schema)| (name.clone(), kind(schema)));
        Self(fields.collect())
    }

    /// The fields of a route that is no operation: texts.
    pub(super) fn of_texts(names: &[&str]) -> Self {
        Self(names.iter().map(|name| ((*name).to_owned(), Kind::Text)).collect())
    }

    /// The fields of a route that is no operation: lists of texts, given by repetition.
    pub(super) fn of_lists(names: &[&str]) -> Self {
        let list = || Kind::List(Box::new(Kind::Text));
        Self(names.iter().map(|name| ((*name).to_owned(), list())).collect())
    }

    /// Whether an operation answers with one record that has a revision.
    pub(super) fn revised(entry: &Entry) -> bool {
        let schema = (entry.answer)(&mut inlined().into_generator());
        let record = |name| schema.pointer(&format!("/properties/{name}/properties/revision"));
        record("task").or_else(|| record("project")).is_some()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The kind of a field that a query names.
    pub(super) fn kind(&self, name: &str) -> Result<&Kind, Refusal> {
        match self.0.get(name) {
            Some(Kind::Structure) => Err(Refusal::field(name, "is no text", "give it in the JSON body")),
            Some(kind) => Ok(kind),
            None => {
                let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
                let remedy = match known.as_slice() {
                    [] => "leave it out; this operation takes no fields".to_owned(),
                    known => format!("the fields are {}", known.join(", ")),
                };
                Err(Refusal::field(&excerpt(name), "is no field of this operation", &remedy))
            }
        }
    }
}

impl Kind {
    /// The value that a text means.
    pub(super) fn read(&self, field: &str, text: &str) -> Result<Value, Refusal> {
        if text.contains('\0') {
            return Err(Refusal::field(field, "contains a NUL character", "remove it"));
        }
        match self {
            Self::Text | Self::Structure => Ok(Value::from(text)),
            Self::Integer => integer(text)
                .ok_or_else(|| Refusal::field(field, "is not an integer", "write plain decimal digits")),
            Self::Boolean => match text {
                "true" => Ok(Value::from(true)),
                "false" => Ok(Value::from(false)),
                _ => Err(Refusal::field(field, "is neither true nor false", "write true or false")),
            },
            Self::List(item) => item.read(field, text),
        }
    }
}

/// A number has one spelling: no sign that adds nothing, no leading zero.
fn integer(text: &str) -> Option<Value> {
    let value =
        text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok()?;
    let spelled = value.to_string();
    (spelled == text).then_some(value)
}

/// Schemas with everything in its place, for looking at single fields.
fn inlined() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true)
}

/// The kind that a schema describes, leaving aside that it may be null.
fn kind(schema: &Value) -> Kind {
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        let present = |option: &&Value| option.get("type").and_then(Value::as_str) != Some("null");
        let mut kinds: Vec<Kind> = options.iter().filter(present).map(kind).collect();
        kinds.dedup();
        return match kinds.len() {
            1 => kinds.remove(0),
            _ => Kind::Structure,
        };
    }
    let named = match schema.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    };
    match named {
        Some("string") => Kind::Text,
        Some("integer") => Kind::Integer,
        Some("boolean") => Kind::Boolean,
        Some("array") => match schema.get("items").map(kind) {
            Some(Kind::Structure | Kind::List(_)) | None => Kind::Structure,
            Some(item) => Kind::List(Box::new(item)),
        },
        _ if schema.get("enum").is_some() || schema.get("const").is_some() => Kind::Text,
        _ => Kind::Structure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::operation::catalog;

    fn field(operation: &str, name: &str) -> Kind {
        let entries = catalog::entries();
        let entry = entries.iter().find(|entry| entry.spec.name == operation).expect("an operation");
        Fields::of(entry).kind(name).cloned().unwrap_or(Kind::Structure)
    }

    #[test]
    fn kinds_follow_from_the_schema() {
        assert_eq!(field("task.show", "task"), Kind::Text);
        assert_eq!(field("task.show", "entries"), Kind::Integer);
        assert_eq!(field("task.list", "archived"), Kind::Boolean);
        assert_eq!(field("task.list", "lifecycle"), Kind::Text);
        assert_eq!(field("task.create", "priority"), Kind::Integer);
        assert_eq!(field("task.create", "labels"), Kind::List(Box::new(Kind::Text)));
        assert_eq!(field("task.edit", "labels"), Kind::List(Box::new(Kind::Text)));
        assert_eq!(field("project.create", "policy"), Kind::Structure);
    }

    #[test]
    fn a_single_record_has_a_revision() {
        let revised = |name| catalog::entries().iter().any(|e| e.spec.name == name && Fields::revised(e));
        assert!(revised("task.show") && revised("task.create") && revised("project.edit"));
        assert!(!revised("task.list") && !revised("session.show") && !revised("note"));
    }

    #[test]
    fn an_integer_has_one_spelling() {
        assert_eq!(integer("18446744073709551615"), Some(Value::from(u64::MAX)));
        assert_eq!(integer("-3"), Some(Value::from(-3)));
        for text in ["", "+1", "01", "1.0", "1e3", " 1", "0x1", "-0"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }
}
