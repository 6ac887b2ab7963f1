//! What a holder does while it works: heartbeat, note, checkpoint, disposition, reconciliation.

use serde_json::json;

use super::attention::{calls_for, is_changed, is_overdue};
use super::fence::{held, lost, own_attempt, scope};
use super::view::{attempt_view, recovery_packet};
use super::{Rule, caller};
use crate::envelope::Call;
use crate::model::attempt::{
    Attempt, AttemptMode, AttemptState, Disposition, Entry, EntryData, EntryKind, Evidence,
};
use crate::model::event::EventKind;
use crate::model::ids::{AttemptId, EventNumber, TaskId};
use crate::model::limits::{ATTEMPTS_SHOWN, TEXT_BYTES, check_line, check_text, heartbeat_ms};
use crate::model::refusal::{Code, Refusal};
use crate::model::task::task_digest;
use crate::operation::ownership::{
    Alive, Attempts, Dispose, Heartbeat, Reconcile, Recorded, ShowRecovery, WriteCheckpoint, WriteNote,
};
use crate::working_set::{About, Need, Step, WorkingSet, together};

/// An entry to be recorded: what it is, its text and its structured part.
pub struct Words<'a> {
    /// What it is.
    pub kind: EntryKind,
    /// The text.
    pub text: &'a str,
    /// The structured part.
    pub data: EntryData,
}

/// Records an entry together with its event. The text itself stays out of the event, which names its digest.
pub fn write_entry(
    set: &mut WorkingSet,
    call: &Call,
    event: EventKind,
    task: &TaskId,
    attempt: Option<&AttemptId>,
    words: Words<'_>,
) -> Step<EventNumber> {
    let digest = crate::secret::digest("tenure entry v1", &[words.text.as_bytes()]);
    let data = json!({ "entry": words.kind, "text_sha256": digest, "data": words.data });
    let about = About { attempt: attempt.cloned(), ..About::task(task, data) };
    let number = set.record(event, about);
    keep_entry(set, call, number, task, attempt, words)?;
    Ok(number)
}

/// Keeps an entry that an event has recorded.
pub fn keep_entry(
    set: &mut WorkingSet,
    call: &Call,
    number: EventNumber,
    task: &TaskId,
    attempt: Option<&AttemptId>,
    words: Words<'_>,
) -> Step<()> {
    let principal = match &call.account {
        Some(account) => account.name.clone(),
        None => caller(call)?.principal.clone(),
    };
    set.entries.load_absent(number);
    set.entries.put(Entry {
        number,
        task: task.clone(),
        attempt: attempt.cloned(),
        kind: words.kind,
        principal,
        at: call.now.wall,
        text: words.text.to_owned(),
        data: words.data,
    });
    Ok(())
}

/// Refuses evidence that is no plain line.
pub fn check_evidence(evidence: &Evidence) -> Result<(), Refusal> {
    let fields = [
        ("branch", &evidence.branch),
        ("commit", &evidence.commit),
        ("merge_commit", &evidence.merge_commit),
        ("pull_request", &evidence.pull_request),
    ];
    for (field, text) in fields {
        if let Some(text) = text {
            check_line(field, text)?;
        }
    }
    Ok(())
}

/// A holder's recorded progress also shows that it is alive, but renews no lease.
fn progressed(set: &mut WorkingSet, call: &Call, attempt: Attempt) {
    set.attempts.put(Attempt { progress_at: call.now.fleet, ..attempt });
}

impl Rule for Heartbeat {
    fn scope(&self, call: &Call) -> Vec<Need> {
        let mut needs = scope(call);
        needs.extend([Need::Task(self.task.clone()), Need::Body(self.task.clone())]);
        needs
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Alive> {
        let attempt = held(set, call, &self.task)?;
        let operation_id = &call.envelope.operation_id;
        let repeated = operation_id.is_some() && attempt.heartbeat_operation == *operation_id;
        let now = call.now.fleet;
        let renewed = if repeated {
            attempt
        } else {
            let deadline = now.plus_ms(attempt.lease_ms).max(attempt.deadline);
            let heartbeat_operation = operation_id.clone();
            let renewed = Attempt { deadline, heartbeat_at: now, heartbeat_operation, ..attempt };
            set.attempts.put(renewed.clone());
            renewed
        };
        Ok(Alive {
            deadline: renewed.deadline,
            expires_in_ms: renewed.deadline.since_ms(now),
            heartbeat_ms: heartbeat_ms(renewed.lease_ms),
            cancel_requested: renewed.cancel_requested,
            task_changed: is_changed(set, &renewed)?,
            blocked: set.existing_task(&self.task)?.is_blocked(),
            progress_overdue: is_overdue(call, &renewed),
            next: calls_for(set, call, &renewed)?.map(|attention| attention.sentence()),
            attempt: renewed.id,
        })
    }
}

impl Rule for WriteNote {
    fn scope(&self, call: &Call) -> Vec<Need> {
        let mut needs = scope(call);
        needs.push(Need::Task(self.task.clone()));
        needs
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Recorded> {
        check_text("text", &self.text, TEXT_BYTES, false)?;
        set.existing_task(&self.task)?;
        let own = own_attempt(set, call, &self.task)?;
        let kind = match &own {
            Some(attempt) if attempt.is_live(call.now.fleet) => EntryKind::Note,
            Some(_) if self.recovery => EntryKind::RecoveryNote,
            Some(attempt) => return Err(lost(attempt, call).into()),
            None => EntryKind::Note,
        };
        let words = Words { kind, text: &self.text, data: EntryData::default() };
        let id = own.as_ref().map(|attempt| &attempt.id);
        let number = write_entry(set, call, EventKind::NoteRecorded, &self.task, id, words)?;
        if let Some(attempt) = own.filter(|attempt| attempt.is_live(call.now.fleet)) {
            progressed(set, call, attempt);
        }
        Ok(Recorded { number, task: self.task.clone(), next: None })
    }
}

impl Rule for WriteCheckpoint {
    fn scope(&self, call: &Call) -> Vec<Need> {
        scope(call)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Recorded> {
        check_text("text", &self.text, TEXT_BYTES, false)?;
        check_evidence(&self.evidence)?;
        let attempt = held(set, call, &self.task)?;
        let data = EntryData { evidence: self.evidence.clone(), tree: self.tree, ..EntryData::default() };
        let words = Words { kind: EntryKind::Checkpoint, text: &self.text, data };
        let number =
            write_entry(set, call, EventKind::CheckpointRecorded, &self.task, Some(&attempt.id), words)?;
        progressed(set, call, attempt);
        Ok(Recorded { number, task: self.task.clone(), next: None })
    }
}

impl Rule for Dispose {
    fn scope(&self, call: &Call) -> Vec<Need> {
        scope(call)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Recorded> {
        let attempt = held(set, call, &self.task)?;
        if attempt.mode != AttemptMode::Recovery {
            let detail = format!("{} took over nothing, so there is nothing to decide about", attempt.id);
            return Err(Refusal::new(Code::StateConflict, detail).next("work on").into());
        }
        let needs_reason = matches!(self.disposition, Disposition::Restart | Disposition::Blocked);
        let reason = self.reason.as_deref().unwrap_or("");
        check_text("reason", reason, TEXT_BYTES, !needs_reason)?;
        let data = EntryData { disposition: Some(self.disposition), ..EntryData::default() };
        let words = Words { kind: EntryKind::Disposition, text: reason, data };
        let number =
            write_entry(set, call, EventKind::DispositionRecorded, &self.task, Some(&attempt.id), words)?;
        set.attempts.put(Attempt {
            disposition: Some(self.disposition),
            progress_at: call.now.fleet,
            ..attempt
        });
        let next = match self.disposition {
            Disposition::Resume | Disposition::Restart => None,
            Disposition::AlreadyDelivered => {
                Some(format!("`tenure close {} --resolution already_delivered --commit …`", self.task))
            }
            Disposition::Blocked => Some(format!("`tenure handoff {} …`, or raise a blocker", self.task)),
        };
        Ok(Recorded { number, task: self.task.clone(), next })
    }
}

impl Rule for Reconcile {
    fn scope(&self, call: &Call) -> Vec<Need> {
        let mut needs = scope(call);
        needs.extend([Need::Task(self.task.clone()), Need::Body(self.task.clone())]);
        needs
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Recorded> {
        let attempt = held(set, call, &self.task)?;
        let digest = task_digest(set.existing_task(&self.task)?.kind, &set.body(&self.task)?);
        if digest != self.digest {
            let detail = format!("{} has changed again since that digest", self.task);
            return Err(Refusal::new(Code::TaskChanged, detail).fact("digest", digest.to_string()).into());
        }
        let about = About::attempt(&attempt.id, json!({ "digest": digest }));
        let number = set.record(EventKind::TaskReconciled, about);
        set.attempts.put(Attempt { task_digest: digest, ..attempt });
        Ok(Recorded { number, task: self.task.clone(), next: None })
    }
}

impl Rule for ShowRecovery {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Task(self.task.clone()), Need::AttemptsOf(self.task.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Attempts> {
        set.existing_task(&self.task)?;
        let mut attempts = set.newest_attempts_of(&self.task)?;
        attempts.reverse();
        let shown = attempts.iter().take(ATTEMPTS_SHOWN);
        let views = together(shown.map(|attempt| attempt_view(set, call, attempt)))?;
        let ended = attempts.iter().find(|attempt| !attempt.is_live(call.now.fleet));
        let expired = ended.filter(|attempt| {
            matches!(
                attempt.state,
                AttemptState::Active | AttemptState::Expired | AttemptState::Voided | AttemptState::Imported
            )
        });
        let recovery = expired.map(|attempt| recovery_packet(set, call, attempt)).transpose()?;
        Ok(Attempts { more: attempts.len() > views.len(), attempts: views, recovery })
    }
}
