//! Which work a session gets when it names none: one choice, which `claim` takes and `next` tells.

use super::eligibility::{is_eligible, limit_reached};
use super::queue::{first_expired, first_ready};
use crate::envelope::Call;
use crate::model::attempt::Attempt;
use crate::model::ids::{ProjectKey, SessionId};
use crate::model::project::{Project, Recovery};
use crate::model::refusal::Refusal;
use crate::model::session::Session;
use crate::model::task::{Rank, Task};
use crate::working_set::{Step, WorkingSet};

/// What a session can take now.
pub enum Choice {
    /// Work that nobody has left unfinished.
    Fresh(Task),
    /// What an expired attempt left.
    Recovery(Task),
    /// Nothing; if a project's limit is reached, that is why.
    Nothing(Option<Refusal>),
}

/// The live attempts of a session in some projects, the oldest first: that one comes back to a claim without a name.
pub fn held_by(
    set: &WorkingSet,
    call: &Call,
    session: &SessionId,
    projects: &[ProjectKey],
) -> Step<Vec<Attempt>> {
    let mut held = set.current_attempts_of(session)?;
    held.retain(|attempt| attempt.is_live(call.now.fleet) && projects.contains(&attempt.id.task.project));
    held.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    Ok(held)
}

/// What decides between tasks that a session could take: priority, fresh work before recovery, the project served
/// least recently, then the queue's own order.
type Order = (u8, bool, u64, Rank);

/// Chooses among what is eligible in some projects.
pub fn choose(
    set: &WorkingSet,
    call: &Call,
    session: &Session,
    projects: &[Project],
    no_recovery: bool,
) -> Step<Choice> {
    let mut best: Option<(Order, Task)> = None;
    let mut limit = None;
    for project in projects {
        if let Some(reached) = limit_reached(set, call, session, project)? {
            limit = Some(reached);
            continue;
        }
        let served = set.served_at(&session.id, &project.key)?;
        let mine = |task: &Task| is_eligible(call, session, task);
        let fresh = first_ready(set, call, &project.key, mine)?;
        let expired = if no_recovery || project.policy.recovery == Recovery::Manual {
            None
        } else {
            first_expired(set, call, &project.key, mine)?
        };
        for task in fresh.into_iter().chain(expired) {
            let order = (task.priority.get(), task.held, served, task.rank());
            if best.as_ref().is_none_or(|(best, _)| order < *best) {
                best = Some((order, task));
            }
        }
    }
    Ok(match best {
        Some((_, task)) if task.held => Choice::Recovery(task),
        Some((_, task)) => Choice::Fresh(task),
        None => Choice::Nothing(limit),
    })
}
