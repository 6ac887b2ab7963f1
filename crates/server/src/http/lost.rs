//! Requests for routes that there are not: what the caller may have meant.

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use tenure_core::model::limits::excerpt;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::catalog;
use tenure_core::wire;

use super::problem::Refused;

/// Most routes that an unknown path is answered with.
const SUGGESTIONS: usize = 12;

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
        .map(|entry| format!("{} {}{}", entry.spec.method.as_str(), wire::API, entry.spec.path))
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
