//! Answers that go well: JSON, and the revision of a single record as its ETag.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tenure_core::model::ids::EventCursor;
use tenure_core::wire;

/// An answer that is no operation's.
pub(super) fn answer(value: &impl Serialize) -> Response {
    json(serde_json::to_string(value).expect("an answer is plain data and always serialises"))
}

/// An answer as it was stored or read.
pub(super) fn json(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(wire::JSON));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An answer with the revision of its task or project as ETag.
pub(super) fn tagged(text: String) -> Response {
    let revision = revision_of(&text);
    let mut response = json(text);
    if let Some(Ok(tag)) = revision.map(|revision| HeaderValue::from_str(&format!("\"{revision}\""))) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The answer with the last event of the state that it is true of.
pub(super) fn true_at(mut response: Response, at: Option<EventCursor>) -> Response {
    let event = at.and_then(|at| HeaderValue::from_str(&at.to_string()).ok());
    if let (Some(event), Ok(name)) = (event, HeaderName::try_from(wire::EVENT)) {
        response.headers_mut().insert(name, event);
    }
    response
}

fn revision_of(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Revised {
        revision: u64,
    }
    #[derive(Deserialize)]
    struct Single {
        task: Option<Revised>,
        project: Option<Revised>,
    }
    let single: Single = serde_json::from_str(text).ok()?;
    single.task.or(single.project).map(|revised| revised.revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_task_or_project_has_a_revision() {
        assert_eq!(revision_of(r#"{"task":{"id":"a-1","revision":7},"entries":[]}"#), Some(7));
        assert_eq!(revision_of(r#"{"project":{"revision":3}}"#), Some(3));
        assert_eq!(revision_of(r#"{"tasks":[{"revision":7}]}"#), None);
    }
}
