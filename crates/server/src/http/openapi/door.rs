//! What any route can answer before it is asked: the door's refusals, and those of HTTP itself.

use serde_json::{Value, json};
use tenure_core::model::limits::{TARGET_BYTES, counted};
use tenure_core::model::refusal::Code;
use tenure_core::server_route::Reach;

use super::response::problem;

/// What is refused by the network whatever the route, and by the socket to another user of the machine.
pub(super) fn refusals(reach: Reach) -> Vec<Code> {
    let mut codes = vec![Code::InvalidInput, Code::HostRefused, Code::OriginRefused, Code::PeerRefused];
    match reach {
        Reach::Everybody | Reach::Browser => {}
        // Secrets that must not come so are refused wherever they come.
        Reach::Known | Reach::OwnMachine => codes.extend([
            Code::Unauthenticated,
            Code::RateLimited,
            Code::LocalOnly,
            Code::EncryptionRequired,
        ]),
    }
    codes
}

/// Adds what HTTP itself refuses of any request.
pub(super) fn add_limits(responses: &mut Value) {
    responses["414"] = problem(
        &format!("The path and query have more than {}.", counted(TARGET_BYTES as u64, "byte")),
        &[Code::InvalidInput],
    );
    responses["431"] = json!({ "description": "The head of the request is too large. There is no body." });
}

/// Adds what is refused of a request's body, where one is read.
pub(super) fn add_limits_of_a_body(responses: &mut Value) {
    for (status, what) in [
        ("408", "The body did not arrive in time."),
        ("413", "The body is too large."),
        ("415", "The body is not declared as JSON."),
    ] {
        responses[status] = problem(what, &[Code::InvalidInput]);
    }
}
