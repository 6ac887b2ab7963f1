//! Where an operation travels: method, path, query and body, from its [`Spec`] and its own JSON.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use tenure_core::model::limits::TARGET_BYTES;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::{Effect, Method, Spec};
use tenure_core::server_route::ServerRoute;
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
    /// Whether it asks of the fleet's state, and changes nothing.
    pub is_question: bool,
}

/// The route of one request. One whose path and query are too long for the wire is refused before it is sent.
pub fn route(spec: &Spec, input: &Value) -> Result<Route, Refusal> {
    let mut fields = input.as_object().cloned().unwrap_or_default();
    let mut target = format!("{}{}", wire::API, fill_path(spec.path, &mut fields));
    let method = spec.method.as_str();
    let has_body = match spec.method {
        Method::Get | Method::Delete => false,
        Method::Post | Method::Patch => true,
    };
    let mut body = None;
    if has_body {
        check(&target, input, |name| !fields.contains_key(name))?;
        body = Some(Value::Object(fields).to_string());
    } else {
        target.push_str(&query(&fields));
        check(&target, input, |_| true)?;
    }
    Ok(Route { method, target, body, is_question: spec.effect == Effect::Read })
}

/// Refuses what is too long, and names the longest of the fields that are part of it.
fn check(target: &str, input: &Value, is_part: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    if target.len() <= TARGET_BYTES {
        return Ok(());
    }
    let fields = input.as_object().into_iter().flatten().filter(|(name, _)| is_part(name));
    let longest = fields.max_by_key(|(_, value)| value.to_string().len()).map(|(name, _)| name.as_str());
    let wrong = format!(
        "is too long: the path and query of the request would have {} bytes, the limit is {TARGET_BYTES}",
        target.len()
    );
    let remedy = "shorten it, or ask for less at once; nothing was sent";
    Err(match longest {
        Some(field) => Refusal::field(field, &wrong, remedy),
        None => Refusal::new(Code::InvalidInput, format!("the request {wrong}")).next(remedy),
    })
}

impl Route {
    /// What is asked of the server itself.
    pub fn of_the_server(route: ServerRoute, fields: &Value) -> Result<Self, Refusal> {
        let query = fields.as_object().map(query).unwrap_or_default();
        let target = format!("{}{query}", route.path());
        check(&target, fields, |_| true)?;
        Ok(Self { method: "GET", target, body: None, is_question: false })
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::operation::Operation;
    use tenure_core::operation::ownership::WriteNote;
    use tenure_core::operation::search::Search;
    use tenure_core::operation::session::ShowSession;

    use super::*;

    fn refused(spec: &Spec, input: &Value) -> (Option<String>, String) {
        let refusal = route(spec, input).expect_err("it is too long");
        assert_eq!(refusal.code, Code::InvalidInput);
        let field = refusal.facts.get("field").and_then(Value::as_str).map(str::to_owned);
        (field, refusal.detail)
    }

    #[test]
    fn what_is_too_long_for_the_wire_is_refused_by_the_field_that_makes_it_so() {
        let long = "x".repeat(TARGET_BYTES);
        let (field, detail) = refused(&Search::SPEC, &json!({ "query": long, "limit": 3 }));
        assert_eq!(field.as_deref(), Some("query"));
        assert!(detail.contains(&format!("the limit is {TARGET_BYTES}")) && detail.len() < 200, "{detail}");
        let (field, _) = refused(&ShowSession::SPEC, &json!({ "session": long }));
        assert_eq!(field.as_deref(), Some("session"), "what stands in the path counts too");
        let (field, _) = refused(&WriteNote::SPEC, &json!({ "task": long, "text": [long, long] }));
        assert_eq!(field.as_deref(), Some("task"), "what travels in the body does not count");
        let many: Vec<String> = (0..1_000).map(|n| format!("project-{n}")).collect();
        assert!(Route::of_the_server(ServerRoute::Export, &json!({ "project": many })).is_err());
        route(&WriteNote::SPEC, &json!({ "task": "afc-1", "text": long })).expect("a body may be long");
        let spare = TARGET_BYTES - 100;
        route(&Search::SPEC, &json!({ "query": "x".repeat(spare) })).expect("there is room");
    }
}
