//! What a tool answers: an object and the same as compact text. A refusal of ours is an answer too, because a model can act
//! on it; only what is no call at all is an error of the protocol.

use serde_json::{Map, Value, json};
use tenure_core::model::ids::OperationId;
use tenure_core::model::refusal::Refusal;
use tenure_core::operation::Operation;
use tenure_core::operation::ownership::Claim;

use super::asked::{Asked, Lease};
use super::bound::bound;
use super::tool::{LEASE, OPERATION_ID};

/// What a tool answers.
#[derive(Debug, Clone)]
pub struct Told {
    /// The answer.
    pub structured: Value,
    /// Whether it is a refusal.
    pub is_error: bool,
}

impl Told {
    /// An operation's answer, with the handles that later calls name.
    pub(super) fn answered(asked: &Asked, json: &str) -> Self {
        let mut answer = match serde_json::from_str(json) {
            Ok(Value::Object(answer)) => answer,
            Ok(other) => Map::from_iter([("answer".to_owned(), other)]),
            Err(_) => Map::new(),
        };
        bound(&mut answer, asked.texts_from);
        if asked.tool.spec.name == Claim::SPEC.name
            && let Some(lease) = lease(&answer)
        {
            answer.insert(LEASE.to_owned(), lease.to_string().into());
        }
        if let Some(id) = &asked.operation_id {
            answer.insert(OPERATION_ID.to_owned(), id.as_str().into());
        }
        Self { structured: Value::Object(answer), is_error: false }
    }

    /// A refusal: its code, what is wrong, what to do next, and the facts.
    pub(super) fn refused(refusal: &Refusal, operation_id: Option<&OperationId>) -> Self {
        let mut told = Map::from_iter([
            ("code".to_owned(), json!(refusal.code)),
            ("detail".to_owned(), refusal.detail.as_str().into()),
            ("next_actions".to_owned(), refusal.steps().into()),
            ("retryable".to_owned(), refusal.code.retryable().into()),
        ]);
        if !refusal.facts.is_empty() {
            told.insert("facts".to_owned(), json!(refusal.facts));
        }
        if let Some(id) = operation_id {
            told.insert(OPERATION_ID.to_owned(), id.as_str().into());
        }
        bound(&mut told, 0);
        Self { structured: Value::Object(told), is_error: true }
    }
}

/// The lease that a claim's answer gives.
fn lease(answer: &Map<String, Value>) -> Option<Lease> {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    Some(Lease { attempt: text("attempt")?.parse().ok()?, claim: text("claim_operation")?.parse().ok()? })
}
