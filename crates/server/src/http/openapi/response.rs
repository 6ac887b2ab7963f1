//! Answers and refusals as the document describes them.

use serde_json::{Value, json};
use tenure_core::model::refusal::Code;
use tenure_core::wire;

/// Where named schemas are.
pub(super) const COMPONENTS: &str = "/components/schemas";

/// An answer of this schema.
pub(super) fn done(schema: &Value) -> Value {
    json!({ "description": "Done.", "content": { wire::JSON: { "schema": schema } } })
}

/// A problem whose code is one of these.
pub(super) fn problem(description: &str, codes: &[Code]) -> Value {
    let schema = json!({ "allOf": [
        { "$ref": format!("#{COMPONENTS}/Problem") },
        { "properties": { "code": { "enum": codes } } },
    ] });
    json!({ "description": description, "content": { wire::PROBLEM_JSON: { "schema": schema } } })
}
