//! Refusals as HTTP answers: RFC 9457 problem details, and nothing from inside.

use axum::body::Body;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tenure_core::model::limits::excerpt;
use tenure_core::model::refusal::{Code, Problem, Refusal};
use tenure_core::operation::catalog;

use super::routes::method_name;
use tenure_core::wire;

/// Most routes that an unknown path is answered with.
const SUGGESTIONS: usize = 12;

/// A refusal on its way out. HTTP sometimes has a more exact status than the code's own.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    pub(super) status: Option<StatusCode>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, status: None }
    }
}

impl Refused {
    /// A request that HTTP itself has a status for.
    pub(super) fn with_status(status: StatusCode, detail: impl Into<String>, next: &str) -> Self {
        Self { refusal: Refusal::new(Code::InvalidInput, detail).next(next), status: Some(status) }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut problem = Problem::from(&self.refusal);
        if let Some(status) = self.status {
            problem.status = status.as_u16();
        }
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&problem).expect("a problem is plain data and always serialises");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(wire::PROBLEM_JSON));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Tenure-Session"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The answer to everybody who runs as another user than the store's owner.
pub fn peer_refused() -> Response {
    Refused::from(Refusal::new(Code::PeerRefused, Code::PeerRefused.means())).into_response()
}

/// The answer to a path that means nothing: what the caller may have meant.
pub(super) fn no_such_route(path: &str) -> Response {
    let refusal = Refusal::new(Code::NotFound, format!("there is no route {}", excerpt(path)));
    Refused::from(suggestions(path).into_iter().fold(refusal, Refusal::next)).into_response()
}

/// The answer to a known path with a method that it does not have. The router adds `Allow`.
pub(super) fn wrong_method(method: &Method) -> Response {
    let detail = format!("this route has no method {}", excerpt(method.as_str()));
    Refused::with_status(
        StatusCode::METHOD_NOT_ALLOWED,
        detail,
        "use a method that the Allow header names; /openapi.json describes every route",
    )
    .into_response()
}

/// The routes of the noun that the path seems to mean, or the nouns that there are.
fn suggestions(path: &str) -> Vec<String> {
    let wanted = path.strip_prefix(wire::API).unwrap_or(path).trim_start_matches('/');
    let wanted = wanted.split('/').next().unwrap_or_default();
    let entries = catalog::entries();
    let mut routes: Vec<String> = entries
        .iter()
        .filter(|entry| alike(noun(entry.spec.path), wanted))
        .map(|entry| format!("{} {}{}", method_name(entry.spec.method), wire::API, entry.spec.path))
        .take(SUGGESTIONS)
        .collect();
    if routes.is_empty() {
        let mut nouns: Vec<&str> = entries.iter().map(|entry| noun(entry.spec.path)).collect();
        nouns.sort_unstable();
        nouns.dedup();
        routes.push(format!("look below {}/ for {}", wire::API, nouns.join(", ")));
        routes.push("read /openapi.json, which describes every route".to_owned());
    }
    routes
}

fn noun(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

/// Whether a word is a noun of ours but for its plural, an ending or its capitals.
fn alike(noun: &str, wanted: &str) -> bool {
    let stem = |word: &str| word.to_ascii_lowercase().trim_end_matches('s').to_owned();
    let (noun, wanted) = (stem(noun), stem(wanted));
    wanted.len() >= 3 && (noun.starts_with(&wanted) || wanted.starts_with(&noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_path_is_answered_with_the_routes_of_its_noun() {
        assert!(suggestions("/api/v1/task/a-1").iter().any(|route| route == "GET /api/v1/tasks/{task}"));
        assert!(suggestions("/tasks").iter().all(|route| route.contains("/api/v1/tasks")));
        assert!(suggestions("/").iter().any(|route| route.contains("sessions")));
    }
}
