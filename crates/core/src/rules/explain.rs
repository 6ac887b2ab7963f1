//! Why a task is not ready: the chain from the task to the leaf reason.

use std::collections::BTreeSet;

use super::readiness::{ancestors, in_place_of, is_below, open_blockers};
use super::status::{is_deferred, open_child, status, status_when_free};
use super::{Rule, as_of, named};
use crate::envelope::Call;
use crate::model::dependency::DependencyKind;
use crate::model::ids::TaskId;
use crate::model::limits::EXPLAIN_STEPS;
use crate::model::project::Recovery;
use crate::model::refusal::{Code, Refusal};
use crate::model::status::Status;
use crate::model::task::{Kind, Lifecycle, Task};
use crate::model::time::duration_left;
use crate::operation::queue::{Explain, ExplainStep, Explanation};
use crate::working_set::{Need, Step, WorkingSet, together};

/// The chain and its end.
pub struct Reasoning {
    /// What is going on with the task.
    pub status: Status,
    /// The steps, the task itself first.
    pub chain: Vec<ExplainStep>,
    /// The leaf reason.
    pub reason: String,
    /// What to do about it.
    pub next: String,
}

impl Reasoning {
    /// The refusal of a claim that names this task.
    #[must_use]
    pub fn refusal(self, id: &TaskId) -> Refusal {
        let chain: Vec<String> = self.chain.iter().map(|step| step.because.clone()).collect();
        let detail = if chain.len() > 1 { chain.join("; ") } else { self.reason.clone() };
        let refusal = Refusal::new(Code::NotReady, format!("{id} is not ready: {detail}"));
        let refusal =
            refusal.next(self.next).fact("status", self.status.as_str()).fact("reason", self.reason);
        refusal.fact("chain", chain)
    }
}

/// Follows what stands in a task's way to its leaf.
pub fn reason(set: &WorkingSet, call: &Call, task: &Task) -> Step<Reasoning> {
    let first = status(set, call.now, task)?;
    let mut chain =
        vec![ExplainStep { task: task.id.clone(), status: first, because: says(&task.id, first) }];
    let mut seen = BTreeSet::from([task.id.clone()]);
    let mut at = task.clone();
    let mut waiting = None;
    loop {
        let obstacle = obstacle(set, call, &at)?;
        let Some((blocker, because, who_waits)) = in_the_way(set, &at, obstacle)? else {
            let (reason, next) = leaf(set, call, &at, obstacle, waiting.as_ref())?;
            return Ok(Reasoning { status: first, chain, reason, next });
        };
        let status = status(set, call.now, &blocker)?;
        chain.push(ExplainStep { task: blocker.id.clone(), status, because });
        if !seen.insert(blocker.id.clone()) || chain.len() >= EXPLAIN_STEPS {
            let reason = format!("{} is part of a cycle of dependencies", blocker.id);
            let next = "remove one edge of the cycle with `tenure dependency remove`".to_owned();
            return Ok(Reasoning { status: first, chain, reason, next });
        }
        waiting = Some(who_waits);
        at = blocker;
    }
}

/// What stands in the way of going on with a task: its status, except that expired work that waits for something
/// cannot be taken over before that either.
fn obstacle(set: &WorkingSet, call: &Call, task: &Task) -> Step<Status> {
    let status = status(set, call.now, task)?;
    if status != Status::Recovery {
        return Ok(status);
    }
    let free = status_when_free(set, call.now, task)?;
    Ok(if free == Status::Ready { status } else { free })
}

fn says(id: &TaskId, status: Status) -> String {
    format!("{id} is {status}")
}

/// The next task on the way to the reason, how it stands in the way, and whose waiting for it that is.
fn in_the_way(set: &WorkingSet, task: &Task, status: Status) -> Step<Option<(Task, String, TaskId)>> {
    match status {
        Status::Blocked => {}
        Status::WaitingChildren => {
            return Ok(open_child(set, &task.id)?.map(|child| {
                let because = format!("{} waits for its child {}", task.id, child.id);
                (child, because, task.id.clone())
            }));
        }
        Status::Archived
        | Status::Cancelled
        | Status::Done
        | Status::Planned
        | Status::Integrating
        | Status::Validating
        | Status::WaitingIntegration
        | Status::WaitingReview
        | Status::ChangesRequested
        | Status::InProgress
        | Status::Recovery
        | Status::WaitingDecision
        | Status::Deferred
        | Status::Ready => return Ok(None),
    }
    if open_typed_blocker(set, &task.id)?.is_some() {
        return Ok(None);
    }
    if let Some(blocker) = open_blockers(set, &task.id)?.into_iter().next() {
        let because = format!("{} waits for {}", task.id, blocker.id);
        return Ok(Some((blocker, because, task.id.clone())));
    }
    let above = together(ancestors(set, &task.id)?.iter().map(|ancestor| set.existing_task(ancestor)))?;
    for ancestor in above {
        if ancestor.lifecycle.is_finished() || ancestor.outer_blockers == 0 {
            continue;
        }
        for blocker in open_blockers(set, &ancestor.id)? {
            if !is_below(set, &blocker.id, &ancestor.id)? {
                let because = format!(
                    "{} is below {}, and {} waits for {}",
                    task.id, ancestor.id, ancestor.id, blocker.id
                );
                return Ok(Some((blocker, because, ancestor.id)));
            }
        }
        if open_typed_blocker(set, &ancestor.id)?.is_some() {
            let because = format!("{} is below {}, which is blocked", task.id, ancestor.id);
            return Ok(Some((ancestor, because, task.id.clone())));
        }
    }
    Ok(None)
}

fn open_typed_blocker(set: &WorkingSet, id: &TaskId) -> Step<Option<crate::model::task::Blocker>> {
    Ok(set.blockers_of(id)?.into_iter().find(|blocker| blocker.resolved_at.is_none()))
}

/// The reason at the end of a chain and what to do about it.
fn leaf(
    set: &WorkingSet,
    call: &Call,
    task: &Task,
    status: Status,
    waiting: Option<&TaskId>,
) -> Step<(String, String)> {
    let id = &task.id;
    Ok(match status {
        // Of what is over only a cancelled task is in anybody's way, also once it was put away.
        Status::Cancelled | Status::Archived | Status::Done if let Some(waiting) = waiting => {
            (format!("{id} is cancelled and still in the way (blocker_cancelled)"), let_go(set, waiting, id)?)
        }
        Status::Blocked | Status::WaitingDecision => typed_leaf(set, task)?,
        Status::InProgress => held_leaf(set, call, task)?,
        Status::Recovery => recovery_leaf(set, id)?,
        Status::Planned => {
            (format!("{id} is planned and not offered yet"), format!("offer it: `tenure task open {id}`"))
        }
        Status::Deferred if is_deferred(task, call.now) => (
            format!("{id} is put off{}", until(task)),
            format!("wait for the date, or `tenure task resume {id}`"),
        ),
        Status::Ready if task.kind == Kind::Objective => (
            format!("{id} is an objective: it is closed, not claimed"),
            format!("close it: `tenure close {id} --revision {}`", task.revision),
        ),
        Status::Ready | Status::Deferred => ready_leaf(call, task),
        Status::WaitingChildren => {
            (format!("{id} waits for its children"), format!("`tenure show {id}` lists them"))
        }
        Status::Archived | Status::Cancelled | Status::Done => {
            let how = task.resolution.map_or("finished", |resolution| resolution.as_str());
            (format!("{id} is over ({how})"), "take other work: `tenure ready`".to_owned())
        }
        Status::Integrating
        | Status::Validating
        | Status::WaitingIntegration
        | Status::WaitingReview
        | Status::ChangesRequested => (says(id, status), format!("`tenure show {id}`")),
    })
}

/// How somebody stops waiting for a task. The edge may lead to another one, in whose place this one stands.
fn let_go(set: &WorkingSet, waiting: &TaskId, id: &TaskId) -> Step<String> {
    for edge in set.dependencies_of(waiting)?.into_iter().filter(|edge| edge.kind == DependencyKind::Blocks) {
        if in_place_of(set, &edge.on)?.id == *id {
            return Ok(format!("let go of it: `tenure dependency remove {} {}`", edge.task, edge.on));
        }
    }
    Ok(format!("`tenure show {id}` lists who waits for it"))
}

/// Expired work is taken over by whoever claims it, or waits for an operator, as the project demands.
fn recovery_leaf(set: &WorkingSet, id: &TaskId) -> Step<(String, String)> {
    let reason = format!("the attempt at {id} expired and nobody has taken over");
    Ok(match named::project(set, &id.project)?.policy.recovery {
        Recovery::Auto => (reason, format!("take it over: `tenure claim {id}`")),
        Recovery::Manual => {
            (format!("{reason}; {} recovers by hand", id.project), "ask an operator to release it".to_owned())
        }
    })
}

/// A ready task may still be meant for some only: those who offer what it requires, or whom a handoff named.
fn ready_leaf(call: &Call, task: &Task) -> (String, String) {
    let id = &task.id;
    let kept = task.reserved.as_ref().filter(|reserved| !call.now.fleet.has_reached(reserved.until));
    if let Some(reserved) = kept {
        let left = duration_left(reserved.until.since_ms(call.now.fleet));
        let reason = format!("{id} is ready, and kept for {} for another {left}", reserved.principal);
        return (reason, format!("{} claims it: `tenure claim {id}`", reserved.principal));
    }
    if task.requires.is_empty() {
        return (format!("{id} is ready"), format!("claim it: `tenure claim {id}`"));
    }
    let requires = task.requires.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reason = format!("{id} is ready for sessions with the capability {requires}");
    (reason, format!("`tenure session open --capability {}`, then `tenure claim {id}`", task.requires[0]))
}

fn until(task: &Task) -> &'static str {
    match task.deferred_until {
        Some(crate::model::task::DEFERRED_WITHOUT_DATE) | None => " until somebody resumes it",
        Some(_) => " until its date",
    }
}

fn typed_leaf(set: &WorkingSet, task: &Task) -> Step<(String, String)> {
    let id = &task.id;
    Ok(match open_typed_blocker(set, id)? {
        Some(blocker) => (
            format!("{id} has an open blocker, {} {}: {}", blocker.kind, blocker.number, blocker.reason),
            format!("`tenure blocker resolve {id} {} --reason …` once it is gone", blocker.number),
        ),
        None => (format!("{id} is blocked"), format!("`tenure show {id}`")),
    })
}

fn held_leaf(set: &WorkingSet, call: &Call, task: &Task) -> Step<(String, String)> {
    let id = &task.id;
    let attempt = set.current_attempt(task)?;
    let holder = attempt.as_ref().map_or("somebody", |attempt| attempt.principal.as_str());
    let left = attempt.as_ref().map_or(0, |attempt| attempt.deadline.since_ms(call.now.fleet).max(0));
    Ok((
        format!("{id} is held by {holder}, lease ends in {}", duration_left(left)),
        "take other work: `tenure claim`".to_owned(),
    ))
}

impl Rule for Explain {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Task(self.task.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Explanation> {
        let task = set.existing_task(&self.task)?;
        let reasoning = reason(set, call, &task)?;
        let ready = task.lifecycle == Lifecycle::Open
            && task.kind != Kind::Objective
            && matches!(reasoning.status, Status::Ready);
        Ok(Explanation {
            task: task.id,
            status: reasoning.status,
            ready,
            reason: reasoning.reason,
            chain: reasoning.chain,
            next: reasoning.next,
            as_of: as_of(set, call),
        })
    }
}
