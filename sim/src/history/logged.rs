//! Histories from the logs of real clients.

use std::collections::BTreeSet;

use serde_json::Value;
use tenure_core::model::ids::AttemptId;
use tenure_core::model::refusal::Code;

use super::{Call, Heard, Moment, Span, What};
use crate::log::{self, End};

/// What a lock knows of the operation of this name, under a generation.
#[must_use]
pub fn what(operation: &str, generation: Option<u64>) -> Option<What> {
    match operation {
        "claim" => Some(What::Claim),
        "heartbeat" => Some(What::Renew(generation)),
        "note" | "checkpoint" | "dispose" | "reconcile" => Some(What::Write(generation)),
        "release" | "handoff" => Some(What::Release(generation)),
        "close" | "task.cancel" => Some(What::Close(generation)),
        _ => None,
    }
}

/// What a lock knows of a refusal; nothing of one that does not tell about who holds it.
#[must_use]
pub fn refused(what: What, code: Code) -> Option<Heard> {
    match (what, code) {
        (What::Claim, Code::LeaseHeld) => Some(Heard::Held),
        (What::Claim, _) => None,
        (_, Code::NotHolder | Code::LeaseExpired | Code::Superseded) => Some(Heard::Stale),
        (_, _) => None,
    }
}

/// The calls as a lock knows them. `slack_ms` is how far the time of leases may have come apart from the clients' clock
/// in either direction: a stopped coordinator's time stands still, and a started one's may be a little ahead.
#[must_use]
pub fn calls(logged: &[log::Call], slack_ms: i64) -> Vec<Call> {
    let answers = logged.iter().filter_map(|call| call.answer().and_then(attempt_of));
    let tasks: BTreeSet<String> = answers.map(|attempt| attempt.task.to_string()).collect();
    logged.iter().flat_map(|call| one(call, slack_ms, &tasks)).collect()
}

fn one(call: &log::Call, slack_ms: i64, tasks: &BTreeSet<String>) -> Vec<Call> {
    let invoked = Moment { order: call.invoked, ms: call.invoked / 1000 - slack_ms };
    let returned = call.returned.map(|at| Moment { order: at, ms: at / 1000 + 1 + slack_ms });
    let attempt = call.answer().and_then(attempt_of);
    let generation = attempt.as_ref().map(|attempt| attempt.generation.0);
    let Some(what) = what(&call.operation, generation) else { return Vec::new() };
    let (heard, returned) = match (&call.end, returned) {
        (End::Ok { answer }, Some(returned)) => (answered(what, answer, invoked, returned), Some(returned)),
        (End::Refused { code, .. }, returned) => match refused(what, *code) {
            Some(heard) => (heard, returned),
            None => return Vec::new(),
        },
        (End::Ok { .. } | End::Unknown { .. }, _) => (Heard::Unknown, None),
    };
    let named = match (attempt, call.asked("task")) {
        (Some(attempt), _) => vec![attempt.task.to_string()],
        // A claim that named no task may have got any.
        (None, "") => tasks.iter().cloned().collect(),
        (None, task) => vec![task.to_owned()],
    };
    let client = &call.agent;
    named
        .into_iter()
        .map(|task| Call { client: client.clone(), task, what, invoked, returned, heard })
        .collect()
}

/// What an answer tells. The lease that it names counts from some moment between the call's two.
fn answered(what: What, answer: &Value, invoked: Moment, returned: Moment) -> Heard {
    let lasts = answer["expires_in_ms"].as_i64().unwrap_or_default();
    let until = Span { from: invoked.ms + lasts, to: returned.ms + lasts };
    match what {
        What::Claim => {
            let generation = attempt_of(answer).expect("a claim names its attempt").generation.0;
            if answer["resumed"] == true {
                Heard::Resumed(generation)
            } else {
                Heard::Granted(generation, until)
            }
        }
        What::Renew(_) => Heard::Renewed(until),
        What::Write(_) | What::Release(_) | What::Close(_) => Heard::Done,
    }
}

fn attempt_of(answer: &Value) -> Option<AttemptId> {
    answer["attempt"].as_str()?.parse().ok()
}
