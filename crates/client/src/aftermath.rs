//! What an answer changes in the session's file: a claim's lease is kept, an ended one goes.

use serde::Deserialize;
use serde_json::Value;
use tenure_core::model::ids::{AttemptId, OperationId, TaskId};
use tenure_core::model::refusal::Code;
use tenure_core::operation::Operation;
use tenure_core::operation::ownership::{Claim, Close, HandOff, Heartbeat, Release};
use tenure_core::operation::task::CancelTask;

use crate::clock;
use crate::session_file::{Lease, Record};

const CLAIM: &str = Claim::SPEC.name;
const HEARTBEAT: &str = Heartbeat::SPEC.name;
const RELEASE: &str = Release::SPEC.name;
const HAND_OFF: &str = HandOff::SPEC.name;
const CLOSE: &str = Close::SPEC.name;
const CANCEL: &str = CancelTask::SPEC.name;

/// The parts of a claim's answer that its holder keeps.
#[derive(Deserialize)]
struct Claimed {
    attempt: AttemptId,
    claim_operation: OperationId,
    expires_in_ms: i64,
}

/// The parts of a heartbeat's answer that its holder keeps.
#[derive(Deserialize)]
struct Alive {
    attempt: AttemptId,
    expires_in_ms: i64,
}

/// How many leases that are over are kept for recovery notes.
const OVER_MAX: usize = 16;

/// Takes an answer into account. `sent_at` was read from [`clock::boot_ms`] before the request was sent.
pub fn answered(record: &mut Record, operation: &str, input: &Value, answer: &[u8], sent_at: i64) {
    match operation {
        CLAIM => {
            let Ok(claimed) = serde_json::from_slice::<Claimed>(answer) else { return };
            let lease = Lease {
                claim_operation: claimed.claim_operation,
                ends_at_boot_ms: sent_at + claimed.expires_in_ms,
                boot: clock::boot_id(),
                over: false,
                attempt: claimed.attempt.clone(),
            };
            record.leases.insert(claimed.attempt.task, lease);
        }
        HEARTBEAT => {
            let Ok(alive) = serde_json::from_slice::<Alive>(answer) else { return };
            let Some(lease) = record.leases.get_mut(&alive.attempt.task) else { return };
            if lease.attempt == alive.attempt {
                lease.ends_at_boot_ms = sent_at + alive.expires_in_ms;
                lease.boot = clock::boot_id();
            }
        }
        RELEASE | HAND_OFF | CLOSE => {
            if let Some(task) = task_of(input) {
                record.leases.remove(&task);
            }
        }
        CANCEL => {
            let asked = serde_json::from_slice::<Value>(answer)
                .is_ok_and(|answer| answer.get("asked_to_stop").is_some());
            if let Some(task) = task_of(input).filter(|_| !asked) {
                record.leases.remove(&task);
            }
        }
        _ => {}
    }
}

/// Takes a refusal of a fenced request into account: the lease that it named is over.
pub fn refused(record: &mut Record, attempt: Option<&AttemptId>, code: Code) {
    if !matches!(code, Code::NotHolder | Code::LeaseExpired | Code::Superseded) {
        return;
    }
    let Some(attempt) = attempt else { return };
    if let Some(lease) = record.leases.get_mut(&attempt.task).filter(|lease| lease.attempt == *attempt) {
        lease.over = true;
    }
    while record.leases.values().filter(|lease| lease.over).count() > OVER_MAX {
        let oldest = record.leases.iter().filter(|(_, lease)| lease.over);
        let oldest = oldest.min_by_key(|(_, lease)| lease.ends_at_boot_ms).map(|(task, _)| task.clone());
        if let Some(task) = oldest {
            record.leases.remove(&task);
        }
    }
}

/// The task that a request names.
#[must_use]
pub fn task_of(input: &Value) -> Option<TaskId> {
    input.get("task")?.as_str()?.parse().ok()
}
