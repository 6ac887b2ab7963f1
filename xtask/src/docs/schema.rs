//! JSON Schema as a reader needs it: fields with a type in words, sets of words with their meanings.

use serde_json::{Map, Value};

/// A field of an input or an answer.
pub struct Field {
    /// Its name as it travels.
    pub name: String,
    /// Its type in words, with links.
    pub kind: String,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub meaning: String,
}

/// The named schemas.
pub struct Definitions(Map<String, Value>);

impl Definitions {
    /// Takes the definitions of a generator.
    pub fn new(definitions: Map<String, Value>) -> Self {
        Self(definitions)
    }

    /// Their names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The name that a schema refers to, if it is a reference.
    pub fn name(schema: &Value) -> Option<&str> {
        schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
    }

    /// A definition's own words.
    pub fn describe(&self, name: &str) -> String {
        self.0.get(name).map(description).unwrap_or_default()
    }

    /// The fields of a definition, in the order of their names, those that must be there first.
    pub fn fields(&self, name: &str) -> Vec<Field> {
        let Some(schema) = self.0.get(name) else { return Vec::new() };
        let required = |field: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == field))
        };
        let mut fields: Vec<Field> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| Field {
                name: name.clone(),
                kind: self.link(schema),
                required: required(name),
                meaning: description(schema).replace('\n', " "),
            })
            .collect();
        fields.sort_by_key(|field| !field.required);
        fields
    }

    /// The words of a definition that is a closed set of words.
    pub fn words(&self, name: &str) -> Vec<(String, String)> {
        let schema = self.0.get(name).unwrap_or(&Value::Null);
        let described = schema["oneOf"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|word| word["const"].as_str().map(|text| (text.to_owned(), description(word))));
        let plain = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        described.chain(plain.map(|word| (word.to_owned(), String::new()))).collect()
    }

    /// A schema's type in words; a named type is a link to its section of the page of types.
    pub fn link(&self, schema: &Value) -> String {
        if let Some(name) = Self::name(schema) {
            return format!("[{name}](types.md#{})", name.to_lowercase());
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let kinds: Vec<String> = choices
                .iter()
                .filter(|choice| choice["type"] != "null")
                .map(|choice| self.link(choice))
                .collect();
            return kinds.join(" or ");
        }
        match &schema["type"] {
            Value::Array(kinds) => {
                let mut one = schema.clone();
                one["type"] = kinds.iter().find(|kind| *kind != "null").cloned().unwrap_or(Value::Null);
                self.link(&one)
            }
            Value::String(kind) => match kind.as_str() {
                "array" => format!("list of {}", self.link(&schema["items"])),
                "object" if schema["additionalProperties"].is_object() => {
                    format!("map of {}", self.link(&schema["additionalProperties"]))
                }
                "boolean" => "true or false".to_owned(),
                "integer" => "whole number".to_owned(),
                "string" => "text".to_owned(),
                other => other.to_owned(),
            },
            _ => "any JSON".to_owned(),
        }
    }
}

fn description(schema: &Value) -> String {
    let text = |field: &str| schema[field].as_str().unwrap_or_default().trim().to_owned();
    match (text("title"), text("description")) {
        (title, description) if title.is_empty() => description,
        (title, description) if description.is_empty() => title,
        (title, description) => format!("{title}\n\n{description}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definitions() -> Definitions {
        let value = json!({
            "A": {
                "description": "An A.",
                "type": "object",
                "properties": {
                    "list": { "type": ["array", "null"], "items": { "$ref": "#/$defs/B" } },
                    "one": { "anyOf": [{ "$ref": "#/$defs/B" }, { "type": "null" }], "description": "The B." },
                    "text": { "type": "string" },
                },
                "required": ["text"],
            },
            "B": { "oneOf": [{ "const": "x", "description": "An x." }] },
        });
        Definitions::new(value.as_object().expect("an object").clone())
    }

    #[test]
    fn fields_are_shown_with_types_in_words() {
        let fields = definitions().fields("A");
        let shown: Vec<(&str, &str, bool)> =
            fields.iter().map(|field| (field.name.as_str(), field.kind.as_str(), field.required)).collect();
        assert_eq!(
            shown,
            [
                ("text", "text", true),
                ("list", "list of [B](types.md#b)", false),
                ("one", "[B](types.md#b)", false)
            ]
        );
    }

    #[test]
    fn a_closed_set_shows_its_words() {
        assert_eq!(definitions().words("B"), [("x".to_owned(), "An x.".to_owned())]);
        assert_eq!(definitions().describe("A"), "An A.");
    }
}
