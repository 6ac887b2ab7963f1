//! The one thing to do now: go on with what is held, else take what a claim would take, else close an objective.

use std::collections::BTreeMap;

use super::attention::{Attention, calls_for};
use super::choice::{Choice, choose, held_by};
use super::finish::close_command;
use super::queue::{reasons, total, why_not_taken};
use super::status::can_be_closed;
use super::view::attempt_view;
use super::{Rule, as_of, caller, named};
use crate::envelope::Call;
use crate::model::attempt::Attempt;
use crate::model::ids::ProjectKey;
use crate::model::refusal::Refusal;
use crate::model::task::{Queue, Task};
use crate::operation::queue::{Next, NextStep};
use crate::working_set::{Page, Step, WorkingSet, together};

/// What the holder of an attempt does next.
fn what_a_holder_does(set: &WorkingSet, call: &Call, attempt: &Attempt) -> Step<Attention> {
    let id = &attempt.id.task;
    Ok(match calls_for(set, call, attempt)? {
        Some(attention) => attention,
        None => {
            Attention { do_now: format!("work on {id} and close it"), command: close_command(&set.body(id)?) }
        }
    })
}

/// How many objectives `next` looks at.
const OBJECTIVES_LOOKED_AT: u32 = 50;

/// The first objective that only waits to be closed.
fn first_closable(set: &WorkingSet, project: &ProjectKey) -> Step<Option<Task>> {
    let queues = vec![Queue::Objective];
    let page = Page::Tasks { project: project.clone(), queues, after: 0, count: OBJECTIVES_LOOKED_AT };
    let ids = set.page(&page)?.tasks();
    let tasks = together(ids.iter().map(|id| set.existing_task(id)))?;
    let closable = together(tasks.iter().map(|task| can_be_closed(set, task)))?;
    Ok(tasks.into_iter().zip(closable).find(|(_, closable)| *closable).map(|(task, _)| task))
}

impl Rule for Next {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<NextStep> {
        let session = caller(call)?;
        let project = named::project(set, &self.project)?;
        let held = held_by(set, call, &session.id, std::slice::from_ref(&self.project))?;
        let step = NextStep {
            do_now: String::new(),
            command: None,
            task: None,
            holds: held.iter().map(|attempt| attempt.id.clone()).collect(),
            attempt: None,
            reasons: BTreeMap::new(),
            as_of: as_of(set, call),
        };
        if let Some(attempt) = held.first() {
            let Attention { do_now, command } = what_a_holder_does(set, call, attempt)?;
            let (command, task) = (Some(command), Some(attempt.id.task.clone()));
            let attempt = Some(attempt_view(set, call, attempt)?);
            return Ok(NextStep { do_now, command, task, attempt, ..step });
        }
        let (do_now, command, task) = match choose(set, call, session, &[project], false)? {
            Choice::Fresh(task) => {
                (format!("claim {}", task.id), format!("tenure claim {}", task.id), task.id)
            }
            Choice::Recovery(task) => {
                let do_now = format!("take over {}, whose attempt expired", task.id);
                (do_now, format!("tenure claim {}", task.id), task.id)
            }
            Choice::Nothing(limit) => {
                let Some(task) = first_closable(set, &self.project)? else {
                    return self.nothing(set, limit, step);
                };
                let do_now = format!("close the objective {}: its children are finished", task.id);
                (do_now, format!("tenure close {} --revision {}", task.id, task.revision), task.id)
            }
        };
        Ok(NextStep { do_now, command: Some(command), task: Some(task), ..step })
    }
}

impl Next {
    fn nothing(&self, set: &WorkingSet, limit: Option<Refusal>, step: NextStep) -> Step<NextStep> {
        let reasons = reasons(set, &self.project)?;
        let why = match limit {
            Some(limit) => limit.detail,
            None => why_not_taken(&self.project, total(set, &self.project)?, &reasons),
        };
        Ok(NextStep { do_now: format!("nothing: {why}"), reasons, ..step })
    }
}
