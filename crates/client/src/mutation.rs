//! A session's mutation: stored before it is sent, cleared after its answer, and never given a second id.
//!
//! What stayed uncertain and nobody waits for any more is asked again first, with its own id, and told to the person.
//! What a living process waits for is left to that process.

use serde_json::Value;
use tenure_core::model::ids::{AttemptId, OperationId};
use tenure_core::operation::catalog::entries;
use tenure_core::operation::ownership::Claim;
use tenure_core::operation::session::CloseSession;
use tenure_core::operation::{Effect, Fencing, Operation, Spec};
use tenure_core::wire;

use crate::call::{Client, Unanswered, patience};
use crate::failure::Failure;
use crate::route::route;
use crate::session::Session;
use crate::session_file::{NOBODY, Pending, Record};
use crate::{aftermath, clock, processes};

/// What a caller chooses itself of a mutation. What is absent is drawn, or found in the session's file.
#[derive(Debug, Clone, Default)]
pub struct Chosen {
    /// Its id.
    pub operation_id: Option<OperationId>,
    /// The attempt that it is for, with the claim that the lease token is derived from.
    pub fence: Option<(AttemptId, OperationId)>,
}

/// Carries out a session's mutation and returns the answer as it came.
pub fn perform(
    client: &Client,
    session: &Session,
    (spec, input): (&Spec, &Value),
    chosen: &Chosen,
) -> Result<Vec<u8>, Failure> {
    let request = loop {
        match session.file.update(|record| stored(session, record, (spec, input), chosen))? {
            Stored::New(request) => break request,
            Stored::Abandoned(request) => resolve(client, session, &request)?,
        }
    };
    match send(client, session, spec, &request) {
        Err(Unanswered { failure, may_have_happened }) if !failure.is_decided() => {
            if may_have_happened {
                give_up(session, &request)?;
            } else {
                conclude(session, &request, |_| ())?;
            }
            Err(failure)
        }
        outcome => Ok(outcome?),
    }
}

/// A request that stands in the session's file and is this process's to send.
enum Stored {
    /// The one that was asked for.
    New(Pending),
    /// One that an earlier process left. It comes first.
    Abandoned(Pending),
}

/// Stores the request, or takes over an abandoned one, under the file's lock: so no two processes report the same.
fn stored(
    session: &Session,
    record: Option<Record>,
    (spec, input): (&Spec, &Value),
    chosen: &Chosen,
) -> Result<(Option<Record>, Stored), Failure> {
    let own = record.filter(|record| record.session == session.id);
    let Some(mut record) = own else { return Err(gone(session)) };
    if let Some(abandoned) = record.pending.iter_mut().find(|pending| !pending.is_awaited()) {
        abandoned.pid = std::process::id();
        abandoned.started = processes::started(abandoned.pid).unwrap_or_default();
        let abandoned = Stored::Abandoned(abandoned.clone());
        return Ok((Some(record), abandoned));
    }
    let request = prepare(&record, (spec, input), chosen);
    // A light operation's loss is harmless and its repetition too, so it costs no write before sending.
    if spec.effect != Effect::Write {
        return Ok((None, Stored::New(request)));
    }
    record.pending.push(request.clone());
    Ok((Some(record), Stored::New(request)))
}

/// Asks again for what stayed uncertain.
fn resolve(client: &Client, session: &Session, abandoned: &Pending) -> Result<(), Failure> {
    let known = entries().into_iter().find(|entry| entry.spec.name == abandoned.operation);
    let Some(entry) = known else {
        conclude(session, abandoned, |_| ())?;
        client.tell(&format!("left `{}` of another version of tenure unresolved", abandoned.operation));
        return Ok(());
    };
    let what = match aftermath::task_of(&abandoned.input) {
        Some(task) => format!("`{}` on {task}", abandoned.operation),
        None => format!("`{}`", abandoned.operation),
    };
    let told = match send(client, session, &entry.spec, abandoned) {
        Ok(_) => "it is done".to_owned(),
        Err(Unanswered { failure, .. }) if failure.is_decided() => format!("refused, {failure}"),
        Err(Unanswered { failure, .. }) => {
            give_up(session, abandoned)?;
            return Err(failure);
        }
    };
    client.tell(&format!("resolved {what}, which an earlier command left uncertain: {told}"));
    Ok(())
}

/// The request as it is stored: with a new id, and the fence of what the session holds.
fn prepare(record: &Record, (spec, input): (&Spec, &Value), chosen: &Chosen) -> Pending {
    let pid = std::process::id();
    Pending {
        operation: spec.name.to_owned(),
        input: input.clone(),
        operation_id: chosen.operation_id.clone().unwrap_or_else(clock::operation_id),
        fence: chosen.fence.clone().or_else(|| fence(record, spec, input)),
        pid,
        started: processes::started(pid).unwrap_or_default(),
    }
}

/// What the session holds of the task that is named. A lease that is over is named too, because the coordinator
/// shall say so, except where the caller acts by revision and as no holder.
fn fence(record: &Record, spec: &Spec, input: &Value) -> Option<(AttemptId, OperationId)> {
    if spec.fencing == Fencing::None {
        return None;
    }
    let lease = record.leases.get(&aftermath::task_of(input)?)?;
    let by_revision = lease.over && input.get("revision").is_some_and(|revision| !revision.is_null());
    (!by_revision).then(|| (lease.attempt.clone(), lease.claim_operation.clone()))
}

/// Sends a stored request. A decided outcome is taken into the session's file and the request is cleared there.
fn send(client: &Client, session: &Session, spec: &Spec, request: &Pending) -> Result<Vec<u8>, Unanswered> {
    let mut headers = session.headers();
    headers.push((wire::IDEMPOTENCY_KEY, request.operation_id.to_string()));
    if let Some((attempt, claim)) = &request.fence {
        headers.push((wire::ATTEMPT, attempt.to_string()));
        headers.push((wire::LEASE, session.secret().lease_token(claim).to_wire()));
    }
    if spec.name == Claim::SPEC.name {
        let token = session.secret().lease_token(&request.operation_id);
        headers.push((wire::TOKEN_HASH, token.hash().to_string()));
    }
    if let Some(epoch) = session.epoch() {
        headers.push((wire::EPOCH, epoch.to_string()));
    }
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let sent_at = clock::boot_ms();
    let outcome = match route(spec, &request.input) {
        Ok(route) => client.exchange(&route, &headers, patience(spec, &request.input)),
        Err(refusal) => Err(Unanswered { failure: refusal.into(), may_have_happened: false }),
    };
    match &outcome {
        Ok(_) if spec.name == CloseSession::SPEC.name => session.file.forget(&session.id)?,
        Ok(answer) => conclude(session, request, |record| {
            aftermath::answered(record, spec.name, &request.input, answer, sent_at);
        })?,
        Err(Unanswered { failure, .. }) if failure.is_decided() => {
            let attempt = request.fence.as_ref().map(|(attempt, _)| attempt);
            conclude(session, request, |record| aftermath::refused(record, attempt, failure.code()))?;
        }
        Err(_) => {}
    }
    outcome
}

/// Leaves a request on record whose outcome is uncertain: the session's next mutation asks again.
fn give_up(session: &Session, request: &Pending) -> Result<(), Failure> {
    edit(session, |record| {
        let left = record.pending.iter_mut().find(|pending| pending.operation_id == request.operation_id);
        if let Some(left) = left {
            left.pid = NOBODY;
        }
    })
}

/// Takes a request off the record whose outcome is decided, or that never happened.
fn conclude(session: &Session, request: &Pending, take: impl FnOnce(&mut Record)) -> Result<(), Failure> {
    edit(session, |record| {
        record.pending.retain(|pending| pending.operation_id != request.operation_id);
        take(record);
    })
}

/// Changes the session's record. Where another session has taken its place meanwhile, nothing of this one counts.
fn edit(session: &Session, change: impl FnOnce(&mut Record)) -> Result<(), Failure> {
    session.file.update(|found| {
        let own = found.filter(|record| record.session == session.id);
        let changed = own.map(|mut record| {
            change(&mut record);
            record
        });
        Ok((changed, ()))
    })
}

fn gone(session: &Session) -> Failure {
    Failure::cannot_tell(
        format!("the session file of {} is gone, or another session's", session.name),
        "repeat the command: it opens a session anew",
    )
}
