//! The headers that stand beside an operation.

use serde_json::{Value, json};
use tenure_core::model::limits::PASSWORD_BYTES_MAX;
use tenure_core::operation::account::{BootstrapAccount, CreateAccount, SetPassword};
use tenure_core::operation::catalog::Entry;
use tenure_core::operation::ownership::Claim;
use tenure_core::operation::{Access, Effect, Fencing, Operation};
use tenure_core::wire;

use crate::http::follow;

/// The headers that mean something to an operation.
pub(super) fn of(entry: &Entry, has_revision: bool) -> Vec<Value> {
    let spec = entry.spec;
    let mut names = vec![wire::PROTOCOL_HEADER];
    match spec.access {
        Access::Session => names.extend([wire::SESSION, wire::PROOF]),
        Access::Person | Access::Operator | Access::Administrator => {
            names.extend([wire::PERSON, wire::PASSWORD]);
        }
        Access::Console => names.push(wire::CONSOLE),
        // A reporter's secret comes where a token would: the document's security scheme says so.
        Access::Anyone | Access::Reporter | Access::Coordinator => {}
    }
    if [BootstrapAccount::SPEC.name, CreateAccount::SPEC.name, SetPassword::SPEC.name].contains(&spec.name) {
        names.push(wire::NEW_PASSWORD);
    }
    match spec.effect {
        Effect::Read => names.push(wire::AT_LEAST),
        Effect::Write | Effect::Light => names.push(wire::IDEMPOTENCY_KEY),
    }
    if spec.fencing != Fencing::None {
        names.extend([wire::ATTEMPT, wire::LEASE, wire::EPOCH]);
    }
    if spec.name == Claim::SPEC.name {
        names.push(wire::TOKEN_HASH);
    }
    if spec.name == follow::OPERATION {
        names.push(wire::LAST_EVENT_ID);
    }
    if has_revision {
        names.push("If-Match");
    }
    names.iter().map(|name| json!({ "$ref": format!("#/components/parameters/{name}") })).collect()
}

/// What each header means, once.
pub(super) fn all() -> Value {
    let secret = json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" });
    let typed =
        json!({ "type": "string", "pattern": "^[0-9A-Za-z%._~-]+$", "maxLength": 3 * PASSWORD_BYTES_MAX });
    let cursor = json!({ "type": "string", "pattern": "^[0-9]+-[0-9]+$" });
    let name = json!({ "type": "string", "maxLength": 64 });
    let rows = [
        (wire::PROTOCOL_HEADER, false, "The protocol that the client speaks.", json!({ "type": "integer" })),
        (
            wire::SESSION,
            true,
            "The calling session.",
            json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" }),
        ),
        (wire::PROOF, true, "What proves the session; a secret.", secret.clone()),
        (wire::PERSON, true, "The person who asks.", name.clone()),
        (
            wire::PASSWORD,
            true,
            "That person's password, all but letters and digits as %XX; a secret.",
            typed.clone(),
        ),
        (
            wire::NEW_PASSWORD,
            true,
            "The password that the account is to have, in the same way; a secret.",
            typed.clone(),
        ),
        (wire::CONSOLE, true, "The one-time secret that the server printed on its console.", typed),
        (
            wire::IDEMPOTENCY_KEY,
            true,
            "The client's id of this mutation. Sent again with the same request, it gets the same answer.",
            name.clone(),
        ),
        (
            wire::ATTEMPT,
            false,
            "The attempt that the caller holds: task and generation, e.g. afc-12@3.",
            name,
        ),
        (wire::LEASE, false, "The lease token of that attempt; a secret.", secret.clone()),
        (
            wire::EPOCH,
            false,
            "The fleet's incarnation in which the attempt was granted.",
            json!({ "type": "integer" }),
        ),
        (
            wire::TOKEN_HASH,
            true,
            "The hash of the lease token that the client derived from this claim: SHA-256 over the text \"tenure proof hash \
             v1\" and the token's 32 bytes, each preceded by its length in 8 bytes, the highest first.",
            secret,
        ),
        (
            wire::AT_LEAST,
            false,
            "An event, as `Tenure-Event` of an earlier answer told it: the question is answered from a state that has it, or \
             refused as `behind` when the store does not come there in time.",
            cursor.clone(),
        ),
        (
            wire::LAST_EVENT_ID,
            false,
            "For a stream of events: the id of the last one that was seen. It counts before `after`.",
            cursor,
        ),
        (
            "If-Match",
            false,
            "The revision that was seen, in quotes: the ETag of an earlier answer.",
            json!({ "type": "string" }),
        ),
    ];
    Value::from_iter(rows.map(|(name, required, description, schema)| {
        let parameter = json!({
            "name": name, "in": "header", "required": required, "description": description, "schema": schema,
        });
        (name, parameter)
    }))
}
