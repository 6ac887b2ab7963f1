//! Claiming: one owner per task, decided in the claim's own transaction.

use serde_json::json;

use super::attention::calls_for;
use super::choice::{Choice, choose, held_by};
use super::eligibility::{kept_for_another, limit_reached, missing_capabilities};
use super::explain::reason;
use super::fence::lease_held;
use super::finish::{close_command, end_attempt};
use super::patience::{Patience, check_wait};
use super::readiness::put;
use super::status::status;
use super::view::{brief, recovery_packet};
use super::{Rule, caller, calling_session, named, queue};
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptMode, AttemptState, EntryKind};
use crate::model::event::EventKind;
use crate::model::ids::{AttemptId, Generation, ProjectKey, TaskId};
use crate::model::limits::heartbeat_ms;
use crate::model::project::{Project, Recovery};
use crate::model::refusal::{Code, Refusal};
use crate::model::session::{Served, Session};
use crate::model::status::Status;
use crate::model::task::{Kind, Rank, Task, task_digest};
use crate::model::time::duration;
use crate::mutant::Mutant;
use crate::operation::ownership::{Claim, Claimed};
use crate::working_set::{About, Need, Source, Step, WorkingSet};

impl Rule for Claim {
    fn scope(&self, call: &Call) -> Vec<Need> {
        let mut needs = Vec::new();
        if let Some(task) = &self.task {
            needs.extend([Need::Task(task.clone()), Need::Body(task.clone())]);
            needs.extend([Need::Project(task.project.clone()), Need::Tallies(task.project.clone())]);
            needs.extend(calling_session(call).map(|session| Need::Served(session, task.project.clone())));
            return needs;
        }
        // Whoever asks for another task is not asked what it holds.
        needs.extend(calling_session(call).filter(|_| !self.another).map(Need::CurrentAttemptsOf));
        for key in &self.projects {
            needs.extend([Need::Project(key.clone()), Need::Tallies(key.clone())]);
            needs.extend(calling_session(call).map(|session| Need::Served(session, key.clone())));
            for source in [Source::Ready, Source::Recovery] {
                needs.push(Need::Queue {
                    project: key.clone(),
                    source,
                    after: Rank::FIRST,
                    count: queue::FIRST_ROWS,
                });
            }
        }
        needs
    }

    fn patience(&self) -> Option<Patience> {
        Patience::new(self.wait_ms, self.task.as_ref(), &self.projects)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Claimed> {
        check_wait(self.wait_ms)?;
        let session = caller(call)?.clone();
        named::check_task(self.task.as_ref(), &self.projects)?;
        match &self.task {
            Some(id) => claim_named(set, call, &session, id),
            None => claim_next(set, call, &session, self),
        }
    }
}

/// A task that a session can have.
pub enum Obtainable {
    /// It holds it already.
    Held(Attempt),
    /// Nobody does.
    Free(Task),
}

/// Whether a session can have the task that it names, or exactly why not.
pub fn obtainable(set: &WorkingSet, call: &Call, session: &Session, id: &TaskId) -> Step<Obtainable> {
    let task = set.existing_task(id)?;
    if let Some(attempt) = set.current_attempt(&task)? {
        if attempt.is_live(call.now.fleet) {
            if attempt.session == session.id {
                return Ok(Obtainable::Held(attempt));
            }
            return Err(lease_held(call, &attempt).into());
        }
        let project = named::project(set, &id.project)?;
        if project.policy.recovery == Recovery::Manual {
            let detail = format!("{} expired and {} recovers by hand", attempt.id, project.key);
            return Err(Refusal::new(Code::ManualRecovery, detail).into());
        }
    }
    let free = Task { held: false, ..task.clone() };
    let is_ready = status(set, call.now, &free)? == Status::Ready || Mutant::ClaimUnready.is_on();
    if !is_ready || task.kind == Kind::Objective {
        return Err(reason(set, call, &task)?.refusal(id).into());
    }
    if let Some(kept) = kept_for_another(call, session, &task) {
        return Err(kept.into());
    }
    let missing = missing_capabilities(session, &task);
    if !missing.is_empty() {
        let detail = format!("{id} requires {}, which this session does not offer", missing.join(", "));
        return Err(Refusal::new(Code::NotReady, detail).next("open a session that offers it").into());
    }
    let project = named::project(set, &id.project)?;
    match limit_reached(set, call, session, &project)? {
        Some(refusal) => Err(refusal.into()),
        None => Ok(Obtainable::Free(task)),
    }
}

/// Claims the task that the caller names, or says exactly why not.
fn claim_named(set: &mut WorkingSet, call: &Call, session: &Session, id: &TaskId) -> Step<Claimed> {
    match obtainable(set, call, session, id)? {
        Obtainable::Held(attempt) => answer(set, call, &attempt, true),
        Obtainable::Free(task) => grant(set, call, session, task),
    }
}

/// Claims the next task that is eligible in the caller's projects.
fn claim_next(set: &mut WorkingSet, call: &Call, session: &Session, claim: &Claim) -> Step<Claimed> {
    let projects = named::projects(set, &claim.projects)?;
    if !claim.another
        && let Some(attempt) = held_by(set, call, &session.id, &claim.projects)?.first()
    {
        return answer(set, call, attempt, true);
    }
    let task = chosen(set, call, session, &projects, claim.no_recovery)?;
    grant(set, call, session, task)
}

/// The task that a session gets when it names none, or why there is none.
pub fn chosen(
    set: &WorkingSet,
    call: &Call,
    session: &Session,
    projects: &[Project],
    no_recovery: bool,
) -> Step<Task> {
    match choose(set, call, session, projects, no_recovery)? {
        Choice::Fresh(task) | Choice::Recovery(task) => Ok(task),
        Choice::Nothing(Some(limit)) => Err(limit.into()),
        Choice::Nothing(None) => {
            let keys: Vec<ProjectKey> = projects.iter().map(|project| project.key.clone()).collect();
            Err(queue::nothing_eligible(set, call, &keys)?.into())
        }
    }
}

/// Gives the task to the session: ends what expired, raises the generation, starts the attempt.
fn grant(set: &mut WorkingSet, call: &Call, session: &Session, task: Task) -> Step<Claimed> {
    let project = named::project(set, &task.id.project)?;
    let envelope = &call.envelope;
    let (Some(token_hash), Some(claim_operation)) = (envelope.token_hash, envelope.operation_id.clone())
    else {
        let wrong = "is missing";
        return Err(Refusal::field("token_hash", wrong, "send the SHA-256 of the derived lease token").into());
    };
    let recovers = end_expired(set, call, &task)?;
    let mode = if recovers.is_some() { AttemptMode::Recovery } else { AttemptMode::Fresh };
    let lease_ms = project.policy.lease_ms.unwrap_or(call.durations.lease_ms_default);
    let now = call.now.fleet;
    let id = AttemptId { task: task.id.clone(), generation: Generation(set.fleet.next(task.generation.0)) };
    let attempt = Attempt {
        id: id.clone(),
        session: session.id.clone(),
        principal: session.principal.clone(),
        state: AttemptState::Active,
        mode,
        current: true,
        token_hash,
        claim_operation,
        lease_ms,
        deadline: now.plus_ms(lease_ms),
        started_at: now,
        heartbeat_at: now,
        heartbeat_operation: None,
        progress_at: now,
        task_digest: task_digest(task.kind, &set.body(&task.id)?),
        recovers: recovers.as_ref().map(|attempt| attempt.id.generation),
        disposition: None,
        cancel_requested: false,
        ended_at: None,
        reporter: None,
    };
    set.attempts.load_absent(id.clone());
    set.attempts.put(attempt.clone());
    put(set, call.now, Task { generation: id.generation, held: true, reserved: None, ..task })?;
    let data = json!({ "mode": mode, "recovers": attempt.recovers, "deadline": attempt.deadline });
    let event = set.record(EventKind::TaskClaimed, About::attempt(&id, data));
    serve(set, session, &project.key, event.0);
    answer(set, call, &attempt, false)
}

/// Ends the expired attempt that is taken over; records its expiry unless that was done in the background.
fn end_expired(set: &mut WorkingSet, call: &Call, task: &Task) -> Step<Option<Attempt>> {
    let Some(attempt) = set.current_attempt(task)? else { return Ok(None) };
    if attempt.state == AttemptState::Active {
        set.record(
            EventKind::LeaseExpired,
            About::attempt(&attempt.id, json!({ "deadline": attempt.deadline })),
        );
    }
    let state = attempt.state_at(call.now.fleet);
    end_attempt(set, call, attempt.clone(), state);
    Ok(Some(attempt))
}

fn serve(set: &mut WorkingSet, session: &Session, project: &ProjectKey, event: u64) {
    set.served.put(Served { session: session.id.clone(), project: project.clone(), event });
}

fn answer(set: &WorkingSet, call: &Call, attempt: &Attempt, resumed: bool) -> Step<Claimed> {
    let id = &attempt.id.task;
    let recovery = match attempt.recovers {
        Some(generation) => {
            let old = set.attempt(&AttemptId { task: id.clone(), generation })?;
            old.map(|old| recovery_packet(set, call, &old)).transpose()?
        }
        None => None,
    };
    let is_fresh = attempt.id.generation.0 == 1 || recovery.is_some();
    let (handoff, intervention) = if is_fresh { (None, None) } else { last_words(set, id)? };
    let next = match calls_for(set, call, attempt)? {
        Some(attention) => attention.sentence(),
        None => format!(
            "work, and `tenure heartbeat {id}` every {}; then `{}`",
            duration(heartbeat_ms(attempt.lease_ms)),
            close_command(&set.body(id)?)
        ),
    };
    Ok(Claimed {
        task: brief(set, call, id)?,
        attempt: attempt.id.clone(),
        generation: attempt.id.generation,
        deadline: attempt.deadline,
        expires_in_ms: attempt.deadline.since_ms(call.now.fleet).max(0),
        heartbeat_ms: heartbeat_ms(attempt.lease_ms),
        resumed,
        mode: attempt.mode,
        claim_operation: attempt.claim_operation.clone(),
        recovery,
        handoff,
        intervention,
        next,
    })
}

/// What the next one should know of the attempt before: its handoff text, or how an operator ended it, whichever came last.
fn last_words(set: &WorkingSet, id: &TaskId) -> Step<(Option<String>, Option<String>)> {
    let (words, _) = set.newest_entries(id, &[EntryKind::Handoff, EntryKind::Intervention], 1)?;
    Ok(match words.into_iter().next() {
        Some(entry) if entry.kind == EntryKind::Intervention => {
            (None, Some(format!("{}: {}", entry.principal, entry.text)))
        }
        words => (words.map(|entry| entry.text), None),
    })
}
