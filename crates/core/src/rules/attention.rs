//! What calls for a holder's attention: told at every heartbeat, when a claim gives work back, and by `next`.

use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptMode};
use crate::model::limits::PROGRESS_OVERDUE_MS;
use crate::model::task::task_digest;
use crate::working_set::{Step, WorkingSet};

/// Something that a holder should do before it works on.
pub struct Attention {
    /// What to do, and why.
    pub do_now: String,
    /// The command for it.
    pub command: String,
}

impl Attention {
    /// Both in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: `{}`", self.do_now, self.command)
    }
}

/// Whether the task is not any more what this attempt agreed to do.
pub fn is_changed(set: &WorkingSet, attempt: &Attempt) -> Step<bool> {
    let id = &attempt.id.task;
    Ok(task_digest(set.existing_task(id)?.kind, &set.body(id)?) != attempt.task_digest)
}

/// Whether an attempt has shown no progress for too long.
#[must_use]
pub fn is_overdue(call: &Call, attempt: &Attempt) -> bool {
    call.now.fleet.since_ms(attempt.progress_at) >= PROGRESS_OVERDUE_MS
}

/// The most urgent thing that calls for the holder's attention.
pub fn calls_for(set: &WorkingSet, call: &Call, attempt: &Attempt) -> Step<Option<Attention>> {
    let id = &attempt.id.task;
    let task = set.existing_task(id)?;
    let (do_now, command) = if attempt.cancel_requested {
        (format!("stop work on {id}: its cancellation was asked for"), format!("tenure release {id}"))
    } else if attempt.mode == AttemptMode::Recovery && attempt.disposition.is_none() {
        (
            format!("decide about what the expired attempt at {id} left (resume, restart …)"),
            format!("tenure dispose {id} --disposition resume"),
        )
    } else if is_changed(set, attempt)? {
        let digest = task_digest(task.kind, &set.body(id)?);
        (format!("read {id} again: it changed"), format!("tenure reconcile {id} --digest {digest}"))
    } else if task.is_blocked() {
        (
            format!("{id} became blocked: see by what, and hand it off unless that ends soon"),
            format!("tenure explain {id}"),
        )
    } else if is_overdue(call, attempt) {
        (format!("record progress on {id}"), format!("tenure checkpoint {id} …"))
    } else {
        return Ok(None);
    };
    Ok(Some(Attention { do_now, command }))
}
