//! What everybody hears who is not known here: how their human gets them in, and nothing about what is coordinated.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tenure_core::model::refusal::{Code, Refusal};

/// What the route tells, for the document that describes it.
pub(super) const SUMMARY: &str = "Tell how somebody whom this server does not know gets in";
/// The media type of the text.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

const DETAIL: &str =
    "this is a Tenure server, a coordinator for coding agents, and it does not know who is asking";

/// What to do, for an agent to show its human.
const STEPS: [&str; 5] = [
    "show this to your human: only they can get you in, and nothing is told before",
    "human: ask whoever runs this server for a token for this agent, and treat it like a password",
    "administrator: `tenure agent add NAME --server-url URL --reason REASON`, on the server's machine or any that knows it",
    "human: `tenure connect URL` asks for the token and keeps it for this user alone",
    "then repeat the command; tenure sends the token as `Authorization: Bearer TOKEN`",
];

/// The refusal of whoever is not known.
pub(super) fn unauthenticated() -> Refusal {
    STEPS.into_iter().fold(Refusal::new(Code::Unauthenticated, DETAIL), Refusal::next)
}

/// The same as a text.
pub(super) async fn tell() -> Response {
    let steps: Vec<String> =
        STEPS.iter().enumerate().map(|(n, step)| format!("{}. {step}\n", n + 1)).collect();
    let mut response = Response::new(Body::from(format!("{DETAIL}.\n\n{}", steps.concat())));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(TEXT));
    response
}
