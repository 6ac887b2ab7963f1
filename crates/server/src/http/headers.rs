//! Headers into the envelope. Values of proofs and leases are never quoted, neither in answers nor in the log.

use std::str::FromStr;

use axum::http::{HeaderMap, header};
use tenure_core::envelope::{Caller, Envelope, Fence};
use tenure_core::model::ids::{Epoch, counter};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::{Access, Effect, Spec};
use tenure_core::secret::Proof;
use tenure_core::wire;

/// Refuses a call that needs a session and names none. Nothing else of the request has been looked at by then.
pub(super) fn require_session(spec: &Spec, headers: &HeaderMap) -> Result<(), Refusal> {
    let named = headers.contains_key(wire::SESSION) && headers.contains_key(wire::PROOF);
    match spec.access {
        Access::Session if !named => Err(Refusal::new(
            Code::SessionRequired,
            format!("{} needs a session: send {} and {}", spec.name, wire::SESSION, wire::PROOF),
        )),
        Access::Anyone
        | Access::Session
        | Access::Person
        | Access::Operator
        | Access::Administrator
        | Access::Reporter
        | Access::Console
        | Access::Coordinator => Ok(()),
    }
}

/// Everything that travels beside an operation.
pub(super) fn envelope(spec: &Spec, headers: &HeaderMap) -> Result<Envelope, Refusal> {
    check_protocol(headers)?;
    let session = value(headers, wire::SESSION)?;
    let proof = secret(headers, wire::PROOF)?;
    let caller = match (session, proof) {
        (Some(session), Some(proof)) => Some(Caller { session, proof }),
        (None, None) => None,
        _ => return Err(incomplete(wire::SESSION, wire::PROOF)),
    };
    let attempt = value(headers, wire::ATTEMPT)?;
    let token = secret(headers, wire::LEASE)?;
    let fence = match (attempt, token) {
        (Some(attempt), Some(token)) => Some(Fence { attempt, token }),
        (None, None) => None,
        _ => return Err(incomplete(wire::ATTEMPT, wire::LEASE)),
    };
    let operation_id = match spec.effect {
        Effect::Read => None,
        Effect::Write | Effect::Light => Some(value(headers, wire::IDEMPOTENCY_KEY)?.ok_or_else(|| {
            Refusal::field(
                wire::IDEMPOTENCY_KEY,
                &format!("is missing, and {} changes something", spec.name),
                "send an id of your own with every mutation, and the same id when you send it again",
            )
        })?),
    };
    let epoch = value::<u64>(headers, wire::EPOCH)?.map(Epoch);
    // A write is decided on the newest state anyway.
    let at_least = if spec.effect == Effect::Read { value(headers, wire::AT_LEAST)? } else { None };
    let token_hash = value(headers, wire::TOKEN_HASH)?;
    Ok(Envelope { caller, operation_id, fence, token_hash, epoch, at_least, ..Envelope::default() })
}

/// The revision that `If-Match` names.
pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(text) = text(headers, header::IF_MATCH.as_str())? else {
        return Ok(None);
    };
    let number = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    number.and_then(counter).map(Some).ok_or_else(|| {
        Refusal::field("If-Match", "is not a quoted revision", "send the ETag that came with the record")
    })
}

/// A caller that says nothing (curl, for example) is taken to know what it does.
fn check_protocol(headers: &HeaderMap) -> Result<(), Refusal> {
    match value::<u32>(headers, wire::PROTOCOL_HEADER)? {
        Some(spoken) if !(wire::PROTOCOL_MIN..=wire::PROTOCOL).contains(&spoken) => Err(Refusal::new(
            Code::ProtocolMismatch,
            format!(
                "the client speaks protocol {spoken}, this daemon ({}) speaks {} (and no less than {})",
                env!("CARGO_PKG_VERSION"),
                wire::PROTOCOL,
                wire::PROTOCOL_MIN
            ),
        )
        .fact("client_protocol", spoken)
        .fact("protocol", wire::PROTOCOL)
        .fact("protocol_min", wire::PROTOCOL_MIN)
        .fact("version", env!("CARGO_PKG_VERSION"))),
        Some(_) | None => Ok(()),
    }
}

fn incomplete(one: &str, other: &str) -> Refusal {
    Refusal::field(one, &format!("and {other} belong together and only one came"), "send both or neither")
}

/// A header's text. It may come once.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Refusal::field(name, "is given twice", "send it once"));
    }
    let visible = first.to_str().map_err(|_| {
        Refusal::field(name, "contains more than visible ASCII", "send it as it was given to you")
    })?;
    Ok(Some(visible))
}

fn value<T: FromStr<Err: std::fmt::Display>>(headers: &HeaderMap, name: &str) -> Result<Option<T>, Refusal> {
    let Some(text) = text(headers, name)? else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|error: T::Err| {
        let wrong = format!("is malformed: {error}");
        Refusal::field(name, &wrong, "correct the header; /openapi.json describes it")
    })
}

/// A header whose value must not come back to anybody.
fn secret(headers: &HeaderMap, name: &str) -> Result<Option<Proof>, Refusal> {
    let Some(text) = text(headers, name)? else {
        return Ok(None);
    };
    Proof::from_wire(text)
        .map(Some)
        .map_err(|rule| Refusal::field(name, &format!("is {rule}"), "send what the session file gives"))
}
