//! Where an operation travels: method, path, query and body, from its [`Spec`] and its own JSON.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use tenure_core::operation::{Method, Spec};
use tenure_core::wire;

/// Everything but the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request line and its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// The path with its query.
    pub target: String,
    /// The JSON body, where the method has one.
    pub body: Option<String>,
}

/// The route of one request.
#[must_use]
pub fn route(spec: &Spec, input: &Value) -> Route {
    let mut fields = input.as_object().cloned().unwrap_or_default();
    let mut target = format!("{}{}", wire::API, fill_path(spec.path, &mut fields));
    let method = spec.method.as_str();
    let has_body = match spec.method {
        Method::Get | Method::Delete => false,
        Method::Post | Method::Patch => true,
    };
    if has_body {
        return Route { method, target, body: Some(Value::Object(fields).to_string()) };
    }
    target.push_str(&query(&fields));
    Route { method, target, body: None }
}

impl Route {
    /// A question that is no operation, below the API's path.
    #[must_use]
    pub fn get(path: &str, fields: &Value) -> Self {
        let query = fields.as_object().map(query).unwrap_or_default();
        Self { method: "GET", target: format!("{}{path}{query}", wire::API), body: None }
    }
}

/// Fields as a query. A list is given by repetition.
fn query(fields: &Map<String, Value>) -> String {
    let mut target = String::new();
    let mut separator = '?';
    for (name, value) in fields {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values.iter().filter(|value| !value.is_null()) {
            target.push(separator);
            target.push_str(&format!("{}={}", escape(name), escape(&plain(value))));
            separator = '&';
        }
    }
    target
}

/// Puts fields into the braces of a path and takes them out of the rest.
fn fill_path(path: &str, fields: &mut Map<String, Value>) -> String {
    path.split('/')
        .map(|segment| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(field) => escape(&plain(&fields.remove(field).unwrap_or_default())),
            None => segment.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("/")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
