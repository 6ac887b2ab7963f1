//! The fence: every write of a holder names attempt, generation and lease token, and is checked here.

use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptState};
use crate::model::ids::TaskId;
use crate::model::refusal::{Code, Refusal};
use crate::model::time::{duration, duration_left};
use crate::mutant::Mutant;
use crate::working_set::{Need, Step, WorkingSet};

/// What a fence will surely need.
#[must_use]
pub fn scope(call: &Call) -> Vec<Need> {
    call.envelope.fence.iter().map(|fence| Need::Attempt(fence.attempt.clone())).collect()
}

/// The caller's attempt, if the fence is the caller's own: the task, the session and the token fit. Says nothing
/// about whether it still has authority.
pub fn own_attempt(set: &WorkingSet, call: &Call, task: &TaskId) -> Step<Option<Attempt>> {
    let Some(fence) = &call.envelope.fence else { return Ok(None) };
    if fence.attempt.task != *task {
        let detail = format!("the fence is of {}, the request is about {task}", fence.attempt);
        return Err(Refusal::new(Code::NotHolder, detail).into());
    }
    let Some(attempt) = set.attempt(&fence.attempt)? else {
        return Err(Refusal::not_found("attempt", &fence.attempt).into());
    };
    let session = super::caller(call)?;
    if attempt.session != session.id || attempt.token_hash != fence.token.hash() {
        let detail = format!("{} belongs to another session, or the lease token is wrong", attempt.id);
        return Err(Refusal::new(Code::NotHolder, detail).into());
    }
    Ok(Some(attempt))
}

/// The caller's attempt with authority at this moment, or the reason that there is none.
pub fn held(set: &WorkingSet, call: &Call, task: &TaskId) -> Step<Attempt> {
    let Some(attempt) = own_attempt(set, call, task)? else {
        return Err(unheld(set, task)?.into());
    };
    if attempt.is_live(call.now.fleet) || Mutant::NoFence.is_on() {
        return Ok(attempt);
    }
    Err(lost(&attempt, call).into())
}

/// Why a request without a fence cannot be a holder's.
fn unheld(set: &WorkingSet, id: &TaskId) -> Step<Refusal> {
    let task = set.existing_task(id)?;
    if let Some(resolution) = task.resolution {
        return Ok(Refusal::new(Code::StateConflict, format!("{id} is over already ({resolution})"))
            .next("take other work: `tenure claim`"));
    }
    Ok(Refusal::new(Code::NotHolder, format!("this session does not hold {id}"))
        .next(format!("claim it: `tenure claim {id}`")))
}

/// Why an attempt has no authority any more. The next step is the same for all reasons.
pub fn lost(attempt: &Attempt, call: &Call) -> Refusal {
    let reconcile = "stop, reconcile: keep your work, store what matters with `tenure note --recovery`, \
                     and claim the task anew";
    let code = match (attempt.current, attempt.state) {
        (_, AttemptState::Voided) => Code::EpochChanged,
        (true, _) | (false, AttemptState::Expired) => Code::LeaseExpired,
        (
            false,
            AttemptState::Active
            | AttemptState::Released
            | AttemptState::HandedOff
            | AttemptState::Closed
            | AttemptState::Cancelled
            | AttemptState::Imported,
        ) => Code::Superseded,
    };
    let since = call.now.fleet.since_ms(attempt.deadline).max(0);
    let detail = if code == Code::EpochChanged {
        format!("restored, reconcile: {} was granted before the fleet was restored", attempt.id)
    } else if code == Code::LeaseExpired {
        format!("the lease of {} ended {} ago", attempt.id, duration(since))
    } else {
        format!("{} is over ({})", attempt.id, attempt.state)
    };
    let refusal = Refusal::new(code, detail).next(reconcile).fact("attempt", attempt.id.to_string());
    if attempt.state == AttemptState::Cancelled {
        // Somebody else did, and said why.
        return refusal.next(format!("who ended it, and why: `tenure history {}`", attempt.id.task));
    }
    refusal
}

/// The refusal that tells a loser who holds the task and for how long.
pub fn lease_held(call: &Call, attempt: &Attempt) -> Refusal {
    let left = attempt.deadline.since_ms(call.now.fleet);
    let id = &attempt.id.task;
    let detail = format!("{id} is held by {} for another {}", attempt.principal, duration_left(left));
    Refusal::new(Code::LeaseHeld, detail)
        .next("take other work: `tenure claim`")
        .fact("task", id.to_string())
        .fact("holder", attempt.principal.as_str())
        .fact("attempt", attempt.id.to_string())
        .fact("expires_in_ms", left)
}
