//! Who may take a task that is otherwise free: capabilities, handoffs to a named agent, and a project's limits.

use super::status::is_deferred;
use crate::envelope::Call;
use crate::model::limits::counted;
use crate::model::project::Project;
use crate::model::refusal::{Code, Refusal};
use crate::model::session::Session;
use crate::model::task::{Kind, Task};
use crate::model::time::duration_left;
use crate::working_set::{Step, WorkingSet};

/// The refusal of a task that a handoff keeps for another agent.
pub fn kept_for_another(call: &Call, session: &Session, task: &Task) -> Option<Refusal> {
    let reserved = task.reserved.as_ref()?;
    if reserved.principal == session.principal || call.now.fleet.has_reached(reserved.until) {
        return None;
    }
    let left = reserved.until.since_ms(call.now.fleet);
    let detail =
        format!("{} is kept for {} for another {}", task.id, reserved.principal, duration_left(left));
    let refusal = Refusal::new(Code::Reserved, detail).next("take other work: `tenure claim`");
    Some(refusal.fact("reserved_for", reserved.principal.as_str()).fact("expires_in_ms", left))
}

/// What the task requires and the session does not offer.
pub fn missing_capabilities(session: &Session, task: &Task) -> Vec<String> {
    let missing = task.requires.iter().filter(|capability| !session.capabilities.contains(capability));
    missing.map(ToString::to_string).collect()
}

/// Whether this session may take a task that nobody holds: fresh work, or what an expired attempt left. Both wait
/// until nothing stands in their way, since whoever takes work over is to go on with it.
pub fn is_eligible(call: &Call, session: &Session, task: &Task) -> bool {
    task.kind != Kind::Objective
        && !task.is_blocked()
        && !is_deferred(task, call.now)
        && missing_capabilities(session, task).is_empty()
        && kept_for_another(call, session, task).is_none()
}

/// The refusal of a claim beyond a project's limits.
pub fn limit_reached(
    set: &WorkingSet,
    call: &Call,
    session: &Session,
    project: &Project,
) -> Step<Option<Refusal>> {
    let policy = &project.policy;
    if policy.attempts_max.is_none() && policy.attempts_per_principal_max.is_none() {
        return Ok(None);
    }
    let mut live = set.current_attempts_in(&project.key)?;
    live.retain(|attempt| attempt.is_live(call.now.fleet));
    let own = live.iter().filter(|attempt| attempt.principal == session.principal).count();
    let over = |count: usize, most: Option<u32>| most.filter(|most| count as u64 >= u64::from(*most));
    let detail = if let Some(most) = over(live.len(), policy.attempts_max) {
        format!("{} has {}, which is its limit", project.key, counted(most, "live attempt"))
    } else if let Some(most) = over(own, policy.attempts_per_principal_max) {
        format!(
            "{} holds {} in {}, which is the limit of one agent",
            session.principal,
            counted(most, "task"),
            project.key
        )
    } else {
        return Ok(None);
    };
    Ok(Some(Refusal::new(Code::LimitReached, detail)))
}
