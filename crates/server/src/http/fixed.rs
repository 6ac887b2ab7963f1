//! How the routes that are no operations describe themselves.

use serde_json::{Map, Value, json};
use tenure_core::model::refusal::Code;

use super::openapi::problem;
use tenure_core::wire;

/// The paths of the document that do not come from the list of operations.
pub(super) fn paths() -> Map<String, Value> {
    let api = |path: &str| format!("{}{path}", wire::API);
    let cannot_tell = [(Code::CannotTell, "503")];
    Map::from_iter([
        (
            "/healthz".to_owned(),
            json!({ "get": route("health.alive", "Say whether the process answers", &[]) }),
        ),
        (
            "/readyz".to_owned(),
            json!({ "get": route("health.ready", "Say whether a write works now", &cannot_tell) }),
        ),
        ("/version".to_owned(), json!({ "get": route("version", "Say which program this is", &[]) })),
        (
            "/openapi.json".to_owned(),
            json!({ "get": route("openapi", "Describe every route: this document", &[]) }),
        ),
        (api("/info"), json!({ "get": route("info", "Say which program, fleet and process this is", &[]) })),
        (api("/audit"), json!({ "get": route("audit", "Verify the chain of all events", &cannot_tell) })),
        (api("/shutdown"), json!({ "post": shutdown() })),
    ])
}

fn shutdown() -> Value {
    let summary = "Stop an idle private daemon";
    let mut described =
        route("shutdown", summary, &[(Code::InvalidInput, "400"), (Code::StateConflict, "409")]);
    let force = json!({
        "type": "boolean", "default": false,
        "description": "Stop although other requests are being served, when they are finished",
    });
    described["requestBody"] = json!({ "required": false, "content": { wire::JSON: { "schema": {
        "type": "object", "properties": { "force": force }, "additionalProperties": false,
    } } } });
    described
}

fn route(id: &str, summary: &str, refusals: &[(Code, &str)]) -> Value {
    let answer =
        json!({ "description": "Done.", "content": { wire::JSON: { "schema": { "type": "object" } } } });
    let mut responses = Map::from_iter([("200".to_owned(), answer)]);
    for (code, status) in refusals {
        let text = format!("`{code}`: {}", code.means());
        responses.insert((*status).to_owned(), problem(&text, &[*code]));
    }
    json!({ "operationId": id, "tags": ["daemon"], "summary": summary, "responses": responses })
}
