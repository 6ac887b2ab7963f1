//! Answers and refusals as the document describes them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_core::model::refusal::Code;
use tenure_core::wire;

/// Where named schemas are.
pub(super) const COMPONENTS: &str = "/components/schemas";

/// An answer of this schema.
pub(super) fn done(schema: &Value) -> Value {
    json!({ "description": "Done.", "content": { wire::JSON: { "schema": schema } } })
}

/// Refusals by the status that carries them, each once.
pub(super) fn by_status(codes: impl IntoIterator<Item = Code>) -> BTreeMap<String, Vec<Code>> {
    let mut by_status: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    for code in codes {
        let known = by_status.entry(code.status().to_string()).or_default();
        if !known.contains(&code) {
            known.push(code);
        }
    }
    by_status
}

/// What a status means that carries these refusals.
pub(super) fn refused(codes: &[Code]) -> Value {
    let lines: Vec<String> = codes.iter().map(|code| format!("`{code}`: {}", code.means())).collect();
    problem(&lines.join("\n\n"), codes)
}

/// A problem whose code is one of these.
pub(super) fn problem(description: &str, codes: &[Code]) -> Value {
    let schema = json!({ "allOf": [
        { "$ref": format!("#{COMPONENTS}/Problem") },
        { "properties": { "code": { "enum": codes } } },
    ] });
    json!({ "description": description, "content": { wire::PROBLEM_JSON: { "schema": schema } } })
}
