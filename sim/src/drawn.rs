//! Requests drawn from the daemon's own OpenAPI document: every route, with values that fit its schemas, mostly, and some
//! that do not. Everything follows from a seed.
//!
//! The document says what every answer may be, too, and [`Route::describes`] compares.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::fuzz::TOKENS;
use crate::seed::Seed;

/// Routes that nothing is drawn for, and why.
const LEFT_OUT: [(&str, &str); 3] = [
    ("backup", "it writes a file wherever it is told to"),
    ("shutdown", "it ends the daemon"),
    ("session.close", "it ends the session in which everything else is asked"),
];
/// How deep a value of no schema may be.
const DEPTH_MAX: u32 = 4;

/// One route of the document.
#[derive(Debug)]
pub struct Route {
    /// The name of its operation.
    pub name: String,
    method: String,
    path: String,
    parameters: Vec<Parameter>,
    body: Option<Value>,
    /// The statuses that it may answer with, and the codes of refusals under each.
    answers: BTreeMap<u16, BTreeSet<String>>,
}

#[derive(Debug)]
struct Parameter {
    name: String,
    place: String,
    is_required: bool,
    schema: Value,
}

/// What a document says.
#[derive(Debug)]
pub struct Document {
    /// Its routes, but those that are left out.
    pub routes: Vec<Route>,
    schemas: Map<String, Value>,
    words: BTreeMap<&'static str, Vec<Value>>,
}

impl Document {
    /// Reads a document. `words` are values for its schemas by their names, and for plain texts by `""`.
    #[must_use]
    pub fn of(document: &Value, words: &[(&'static str, Value)]) -> Self {
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let mut routes = Vec::new();
        for (path, methods) in object(&document["paths"]) {
            for (method, described) in object(&methods) {
                let route = Route::of(document, &path, &method, &described);
                if LEFT_OUT.iter().all(|(name, _)| route.name != *name) {
                    routes.push(route);
                }
            }
        }
        let list = |words: &Value| words.as_array().cloned().unwrap_or_default();
        let words = words.iter().map(|(name, words)| (*name, list(words))).collect();
        Self { routes, schemas: object(&document["components"]["schemas"]), words }
    }

    /// A request to a route as it is written down: a line, headers, an empty line, a body.
    #[must_use]
    pub fn draw(&self, route: &Route, dice: &mut Seed) -> String {
        let (mut path, mut query, mut headers) = (route.path.clone(), Vec::new(), String::new());
        let density = Density::draw(dice);
        for parameter in &route.parameters {
            // How long a call waits is always said, or it would be long.
            let is_given = parameter.is_required || parameter.name == "wait_ms" || density.is_met(dice);
            // Each request that names none gets one of its own.
            let is_own = parameter.name == "Idempotency-Key" && dice.below(12) > 0;
            if is_own
                || !is_given
                || (parameter.is_required && parameter.place != "path" && dice.below(24) == 0)
            {
                continue;
            }
            let value = self.field(&parameter.name, &parameter.schema, dice);
            match &*parameter.place {
                "path" => {
                    let value = encoded(&plain(&value));
                    let value = if value.is_empty() { "0".to_owned() } else { value };
                    path = path.replace(&format!("{{{}}}", parameter.name), &value);
                }
                "query" => {
                    let each = value.as_array().cloned().unwrap_or_else(|| vec![value]);
                    query.extend(
                        each.iter().map(|value| format!("{}={}", parameter.name, encoded(&plain(value)))),
                    );
                }
                _ => {
                    let value: String = plain(&value).chars().filter(char::is_ascii_graphic).collect();
                    headers.push_str(&format!("{}: {value}\n", parameter.name));
                }
            }
        }
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let body = route.body.as_ref().map(|schema| self.value(schema, dice, 0).to_string());
        format!("{} {path}{query}\n{headers}\n{}", route.method, body.unwrap_or_default())
    }

    fn field(&self, name: &str, schema: &Value, dice: &mut Seed) -> Value {
        match self.words.get(name) {
            Some(words) => one(words, dice).clone(),
            None => self.value(schema, dice, 0),
        }
    }

    /// A value that fits a schema, mostly.
    fn value(&self, schema: &Value, dice: &mut Seed, depth: u32) -> Value {
        if dice.below(96) == 0 || depth > DEPTH_MAX {
            return misfit(dice);
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return match self.words.get(name) {
                Some(words) => one(words, dice).clone(),
                None => self.value(&self.schemas[name], dice, depth + 1),
            };
        }
        if let Some(said) = schema.get("const") {
            return said.clone();
        }
        if let Some(any) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            // The last one is often nothing, which says little.
            let chosen = if dice.below(4) > 0 { &any[0] } else { one(any, dice) };
            let chosen = if schema.get("oneOf").is_some() { one(any, dice) } else { chosen };
            return self.value(chosen, dice, depth);
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default();
        match kind {
            "boolean" => json!(dice.below(2) == 0),
            "integer" => number(dice),
            "array" => {
                let most = schema["maxItems"].as_u64().unwrap_or(2).min(3) + u64::from(dice.below(16) == 0);
                (0..dice.below(most + 1)).map(|_| self.value(&schema["items"], dice, depth + 1)).collect()
            }
            "object" => self.object(schema, dice, depth),
            _ if dice.below(12) == 0 => token(dice),
            _ => one(&self.words[""], dice).clone(),
        }
    }

    fn object(&self, schema: &Value, dice: &mut Seed, depth: u32) -> Value {
        let mut made = Map::new();
        let density = Density::draw(dice);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.contains(&&**name) || name == "wait_ms";
            if if is_required { dice.below(40) > 0 } else { density.is_met(dice) } {
                let value = match self.words.get(&**name) {
                    Some(words) => one(words, dice).clone(),
                    None => self.value(schema, dice, depth + 1),
                };
                made.insert(name.clone(), value);
            }
        }
        if schema["additionalProperties"].is_object() {
            for _ in 0..dice.below(3) {
                let name = plain(one(&self.words[""], dice));
                made.insert(name, self.value(&schema["additionalProperties"], dice, depth + 1));
            }
        }
        Value::Object(made)
    }
}

impl Route {
    fn of(document: &Value, path: &str, method: &str, described: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let parameter = |described: &Value| {
            let named = described["$ref"].as_str().and_then(|path| path.rsplit('/').next());
            let described = named.map_or(described, |name| &document["components"]["parameters"][name]);
            Parameter {
                name: text(&described["name"]),
                place: text(&described["in"]),
                is_required: described["required"] == true,
                schema: described["schema"].clone(),
            }
        };
        let answer = |(status, described): (&String, &Value)| {
            let schema = &described["content"]["application/problem+json"]["schema"];
            let parts = schema["allOf"].as_array().into_iter().flatten();
            let codes = parts.flat_map(|part| part["properties"]["code"]["enum"].as_array()).flatten();
            (status.parse().expect("a status"), codes.map(text).collect())
        };
        Self {
            name: text(&described["operationId"]),
            method: method.to_uppercase(),
            path: path.to_owned(),
            parameters: described["parameters"].as_array().into_iter().flatten().map(parameter).collect(),
            body: described["requestBody"]["content"]["application/json"].get("schema").cloned(),
            answers: described["responses"].as_object().into_iter().flatten().map(answer).collect(),
        }
    }

    /// Whether the document says that this route may answer so.
    #[must_use]
    pub fn describes(&self, status: u16, code: Option<&str>) -> bool {
        let codes = self.answers.get(&status);
        codes.is_some_and(|codes| code.is_none_or(|code| codes.contains(code)))
    }
}

/// How much of what may be left out is said.
#[derive(Clone, Copy)]
struct Density(u64);

impl Density {
    fn draw(dice: &mut Seed) -> Self {
        Self([0, 1, 5, 9][usize::try_from(dice.below(4)).expect("below 4")])
    }

    fn is_met(self, dice: &mut Seed) -> bool {
        dice.below(10) < self.0
    }
}

fn one<'a>(words: &'a [Value], dice: &mut Seed) -> &'a Value {
    &words[usize::try_from(dice.below(words.len() as u64)).expect("few")]
}

fn number(dice: &mut Seed) -> Value {
    let numbers = json!([-1, 0, 1, 2, 3, 4, 5, 7, 100, 1_000, 60_000, i64::MAX, i64::MIN, u64::MAX]);
    // Small ones are what most is about.
    let most = if dice.below(4) > 0 { 7 } else { 14 };
    numbers[usize::try_from(dice.below(most)).expect("few")].clone()
}

fn token(dice: &mut Seed) -> Value {
    let token = TOKENS[usize::try_from(dice.below(TOKENS.len() as u64)).expect("few")];
    let times = [1, 1, 1, 40, 400][usize::try_from(dice.below(5)).expect("below 5")];
    json!(token.repeat(times))
}

/// What fits hardly anywhere.
fn misfit(dice: &mut Seed) -> Value {
    match dice.below(6) {
        0 => Value::Null,
        1 => number(dice),
        2 => json!([[]]),
        3 => json!({ "unknown": {} }),
        4 => json!(true),
        _ => token(dice),
    }
}

/// A value as a path, a query and a header have it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let parameter =
            json!({ "name": "task", "in": "path", "required": true, "schema": { "type": "string" } });
        let code = json!({ "properties": { "code": { "enum": ["not_found"] } } });
        let refused =
            json!({ "content": { "application/problem+json": { "schema": { "allOf": [{}, code] } } } });
        let show = json!({
            "operationId": "task.show",
            "parameters": [parameter],
            "responses": { "200": {}, "404": refused },
        });
        let end = json!({ "operationId": "shutdown", "responses": {} });
        let paths = json!({ "/tasks/{task}": { "get": show }, "/shutdown": { "post": end } });
        Document::of(&json!({ "paths": paths }), &[("", json!(["a b"])), ("task", json!(["afc-1"]))])
    }

    #[test]
    fn what_is_drawn_follows_from_the_seed_and_names_the_route() {
        let document = document();
        let [route] = &*document.routes else { panic!("one route is left out") };
        let drawn = [7, 7].map(|seed| document.draw(route, &mut Seed::of(seed, 0)));
        assert_eq!(drawn[0], drawn[1]);
        assert_eq!(drawn[0], "GET /tasks/afc-1\n\n");
    }

    #[test]
    fn an_answer_of_another_status_or_code_is_not_described() {
        let document = document();
        let route = &document.routes[0];
        assert!(route.describes(200, None) && route.describes(404, Some("not_found")));
        assert!(!route.describes(404, Some("not_ready")) && !route.describes(500, Some("not_found")));
        assert!(!route.describes(204, None));
    }
}
