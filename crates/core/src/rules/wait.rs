//! Waiting: whether what somebody waits for is there, and if not, why not.

use super::claim::{Obtainable, chosen, obtainable};
use super::patience::{Patience, check_wait};
use super::record::seen;
use super::status::status;
use super::view::summary;
use super::{Rule, as_of, caller, calling_session, named};
use crate::envelope::Call;
use crate::model::ids::{EventCursor, ProjectKey, TaskId};
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{Kind, Task};
use crate::operation::wait::{Until, Wait, Waited};
use crate::working_set::{Need, Page, Step, Stop, WorkingSet};

impl Rule for Wait {
    fn scope(&self, call: &Call) -> Vec<Need> {
        let session = calling_session(call);
        let projects = self.task.iter().map(|task| &task.project).chain(&self.projects);
        let mut needs: Vec<Need> = projects
            .flat_map(|key| {
                let served = session.clone().map(|session| Need::Served(session, key.clone()));
                served.into_iter().chain([Need::Project(key.clone()), Need::Tallies(key.clone())])
            })
            .collect();
        needs.extend(self.task.clone().map(Need::Task));
        needs
    }

    fn patience(&self) -> Option<Patience> {
        Patience::new(self.wait_ms, self.task.as_ref(), &self.projects)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Waited> {
        check_wait(self.wait_ms)?;
        let until = self.until.unwrap_or(Until::Finished);
        if self.after.is_some() && until != Until::Changed {
            return Err(Refusal::field("after", "has a meaning with `changed` only", "leave it out").into());
        }
        named::check_task(self.task.as_ref(), &self.projects)?;
        match &self.task {
            Some(id) => {
                let task = set.existing_task(id)?;
                match until {
                    Until::Finished => finished(set, call, &task),
                    Until::Ready => ready(set, call, &task),
                    Until::Changed => changed(set, call, &task, self.after),
                }
            }
            None if self.until.is_some() => {
                let wrong = "is said without a task";
                Err(Refusal::field("until", wrong, "name the task, or leave it out to wait for work").into())
            }
            None => work(set, call, &self.projects, self.no_recovery),
        }
    }
}

fn work(set: &WorkingSet, call: &Call, projects: &[ProjectKey], no_recovery: bool) -> Step<Waited> {
    let projects = named::projects(set, projects)?;
    let task = match chosen(set, call, caller(call)?, &projects, no_recovery) {
        Err(Stop::Refused(limit)) if limit.code == Code::LimitReached => return Err(as_not_yet(*limit)),
        other => other?,
    };
    answer(set, call, &task.id, format!("tenure claim {}", task.id))
}

fn finished(set: &WorkingSet, call: &Call, task: &Task) -> Step<Waited> {
    if task.lifecycle.is_finished() {
        return answer(set, call, &task.id, format!("tenure show {}", task.id));
    }
    Err(not_yet(set, call, task, "is not finished")?.into())
}

/// A task is waited for until a claim of it would succeed. What refuses that claim says why it is not yet so.
fn ready(set: &WorkingSet, call: &Call, task: &Task) -> Step<Waited> {
    let never = |why: &str| {
        let refusal = Refusal::new(Code::StateConflict, format!("{} is {why}", task.id));
        Err(refusal.next(format!("tenure show {}", task.id)).into())
    };
    if task.lifecycle.is_finished() {
        return never("over, so it will not be ready");
    }
    if task.kind == Kind::Objective {
        return never("an objective: it is closed, not claimed");
    }
    match obtainable(set, call, caller(call)?, &task.id) {
        Ok(Obtainable::Free(_)) => answer(set, call, &task.id, format!("tenure claim {}", task.id)),
        Ok(Obtainable::Held(_)) => {
            answer(set, call, &task.id, "go on with it: this session holds it".to_owned())
        }
        Err(Stop::Refused(refusal)) if Patience::is_worth_it(&refusal) => Err(as_not_yet(*refusal)),
        Err(stop) => Err(stop),
    }
}

/// What refuses a claim now, as the reason that a wait for it goes on.
fn as_not_yet(refusal: Refusal) -> Stop {
    Refusal { code: Code::NotYet, ..refusal }.into()
}

fn changed(set: &WorkingSet, call: &Call, task: &Task, after: Option<EventCursor>) -> Step<Waited> {
    let Some(after) = after else {
        let remedy = "pass `as_of.event` of an earlier answer";
        return Err(Refusal::field("after", "is missing: `changed` counts from a moment", remedy).into());
    };
    let number = seen(set, call, after)?;
    let newest = set.page(&Page::NewestEvents { task: Some(task.id.clone()), count: 1 })?.events().0;
    if newest.last().is_some_and(|stored| stored.event.number > number) {
        return answer(set, call, &task.id, format!("tenure events --task {} --after {after}", task.id));
    }
    Err(not_yet(set, call, task, &format!("has not changed since {after}"))?.into())
}

fn not_yet(set: &WorkingSet, call: &Call, task: &Task, what: &str) -> Step<Refusal> {
    let status = status(set, call.now, task)?;
    let detail = format!("{} {what}: it is {status}", task.id);
    let refusal = Refusal::new(Code::NotYet, detail).next(format!("tenure explain {}", task.id));
    Ok(refusal.fact("status", status.as_str()))
}

fn answer(set: &WorkingSet, call: &Call, id: &TaskId, next: String) -> Step<Waited> {
    Ok(Waited { task: summary(set, call, id)?, next, as_of: as_of(set, call) })
}
