//! Refusals as HTTP answers: RFC 9457 problem details, and nothing from inside.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tenure_core::model::ids::EventCursor;
use tenure_core::model::refusal::{Code, Problem, Refusal};
use tenure_core::wire;

use super::response;

/// The fact that tells after how many seconds a request may be sent again.
pub(super) const RETRY_AFTER: &str = "retry_after_s";

/// A refusal on its way out. HTTP sometimes has a more exact status than the code's own.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    pub(super) status: Option<StatusCode>,
    /// The last event of the state that it is true of, if one was looked at.
    pub(super) at: Option<EventCursor>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::at(refusal, None)
    }
}

impl Refused {
    /// A refusal, with the last event of the state that was looked at.
    pub(super) fn at(refusal: Refusal, at: Option<EventCursor>) -> Self {
        Self { refusal, status: None, at }
    }

    /// A request that HTTP itself has a status for.
    pub(super) fn with_status(status: StatusCode, detail: impl Into<String>, next: &str) -> Self {
        let refusal = Refusal::new(Code::InvalidInput, detail).next(next);
        Self { refusal, status: Some(status), at: None }
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
            let scheme = if problem.code == Code::Unauthenticated { "Bearer" } else { "Tenure-Session" };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
        }
        let usual = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        let stated = problem.facts.get(RETRY_AFTER).and_then(Value::as_u64);
        if let Some(seconds) = stated.or(usual) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response::true_at(response, self.at)
    }
}

/// The answer to everybody who runs as another user than the store's owner.
pub fn peer_refused() -> Response {
    Refused::from(Refusal::new(Code::PeerRefused, Code::PeerRefused.means())).into_response()
}
