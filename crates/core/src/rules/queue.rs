//! The queues: what can be taken, in which order, and what to say when there is nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::eligibility::is_eligible;
use super::finish::close_command;
use super::status::{can_be_closed, is_deferred};
use super::view::{attempt_view, summaries};
use super::{Rule, as_of, caller, page_rows, project};
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptMode};
use crate::model::ids::{Epoch, ProjectKey, TaskId, counter};
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{Priority, Queue, Rank, Task, task_digest};
use crate::model::time::FleetTime;
use crate::operation::queue::{Next, NextStep, Ready, ReadyList};
use crate::working_set::records::{AttemptIndex, InQueue};
use crate::working_set::{Need, Page, Rows, Source, Step, Window, WorkingSet, together};

/// How many rows of a queue are asked for first when one task is wanted.
pub const FIRST_ROWS: u32 = 8;
/// How many further rows are asked for when the first ones were not enough.
const MORE_ROWS: u32 = 64;

/// The loaded part of a queue, or the need of it.
fn window(set: &WorkingSet, project: &ProjectKey, source: Source, from: Rank, count: u32) -> Step<Window> {
    let need = Need::Queue { project: project.clone(), source, after: from, count };
    set.windows.get(&(project.clone(), source)).copied().ok_or_else(|| need.into())
}

fn more(project: &ProjectKey, source: Source, window: Window) -> Need {
    Need::Queue { project: project.clone(), source, after: window.to, count: MORE_ROWS }
}

/// The ready tasks within the loaded part of a queue, in order: fresh ones, or deferred ones whose date passed.
fn ready_in<'a>(
    set: &'a WorkingSet,
    call: &'a Call,
    project: &ProjectKey,
    (window, queue): (Window, Queue),
) -> impl Iterator<Item = &'a Task> {
    let at = |rank| InQueue { project: project.clone(), queue, rank };
    let last = Rank { priority: Priority::LOWEST, ready_at: FleetTime(i64::MAX), number: u64::MAX };
    let to = if window.complete { last } else { window.to };
    let found = set.tasks.range(at(window.from), at(to)).map(|(_, task)| task);
    found.filter(move |task| task.rank() > window.from && !is_deferred(task, call.now))
}

/// The queues whose tasks can be ready.
const READY_QUEUES: [Queue; 2] = [Queue::Ready, Queue::Deferred];

/// The first ready task of a project that is acceptable.
pub fn first_ready(
    set: &WorkingSet,
    call: &Call,
    project: &ProjectKey,
    accept: impl Fn(&Task) -> bool,
) -> Step<Option<Task>> {
    let window = window(set, project, Source::Ready, Rank::FIRST, FIRST_ROWS)?;
    let first =
        READY_QUEUES.map(|queue| ready_in(set, call, project, (window, queue)).find(|task| accept(task)));
    match first.into_iter().flatten().min_by_key(|task| task.rank()) {
        Some(task) => Ok(Some(task.clone())),
        None if window.complete => Ok(None),
        None => Err(more(project, Source::Ready, window).into()),
    }
}

/// The first task of a project whose attempt expired and that is acceptable.
pub fn first_expired(
    set: &WorkingSet,
    call: &Call,
    project: &ProjectKey,
    accept: impl Fn(&Task) -> bool,
) -> Step<Option<Task>> {
    let window = window(set, project, Source::Recovery, Rank::FIRST, FIRST_ROWS)?;
    let attempts = set.attempts.known(&AttemptIndex::CurrentIn(project.clone()));
    let expired = attempts.into_iter().filter(|attempt| !attempt.is_live(call.now.fleet));
    let tasks = expired.filter_map(|attempt| set.tasks.get(&attempt.id.task).flatten());
    let within = tasks.filter(|task| window.complete || task.rank() <= window.to);
    match within.filter(|task| accept(task)).min_by_key(|task| task.rank()) {
        Some(task) => Ok(Some(task.clone())),
        None if window.complete => Ok(None),
        None => Err(more(project, Source::Recovery, window).into()),
    }
}

/// Unfinished tasks by status, without walking through them: tallies, corrected by what time alone changed.
pub fn reasons(set: &WorkingSet, project: &ProjectKey) -> Step<BTreeMap<String, u64>> {
    let tallies = set.tallies_of(project)?;
    let moments = set.moments_of(project)?;
    let count = |queue| tallies.get(&queue).copied().unwrap_or(0);
    let held = count(Queue::Held);
    let counts = [
        ("planned", count(Queue::Planned)),
        ("in_progress", held.saturating_sub(moments.expired)),
        ("recovery", moments.expired.min(held)),
        ("blocked", count(Queue::Blocked)),
        ("deferred", count(Queue::Deferred).saturating_sub(moments.deferred_due)),
        ("objective", count(Queue::Objective)),
    ];
    Ok(counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.to_owned(), count))
        .collect())
}

/// How many tasks of a project are ready.
fn total(set: &WorkingSet, project: &ProjectKey) -> Step<u64> {
    let ready = set.tallies_of(project)?.get(&Queue::Ready).copied().unwrap_or(0);
    Ok(ready + set.moments_of(project)?.deferred_due)
}

/// What to check when nothing is ready: the first reason that somebody can do something about.
fn what_to_check(project: &ProjectKey, reasons: &BTreeMap<String, u64>) -> String {
    let advice = [
        ("recovery", "expired work can be taken over: `tenure claim`"),
        ("in_progress", "others are at work; `tenure session list` shows who"),
        ("blocked", "`tenure task list` shows what is blocked, `tenure explain TASK` says by what"),
        ("deferred", "everything else is put off; `tenure task resume TASK` ends a deferral"),
        ("planned", "planned tasks are not offered; `tenure task open TASK` offers one"),
        ("objective", "only objectives are left; `tenure show TASK` says what they wait for"),
    ];
    let found = advice.iter().find(|(name, _)| reasons.contains_key(*name));
    found.map_or_else(
        || format!("{project} has no unfinished tasks; create one: `tenure task create --project {project} --title …`"),
        |(_, advice)| (*advice).to_owned(),
    )
}

/// Why ready tasks are not for this session.
const MEANT_FOR_OTHERS: &str =
    "they require capabilities that this session does not offer, or are kept for others";

/// What the holder of an attempt does next, and the command for it.
fn what_a_holder_does(set: &WorkingSet, attempt: &Attempt) -> Step<(String, String)> {
    let id = &attempt.id.task;
    let body = set.body(id)?;
    let digest = task_digest(set.existing_task(id)?.kind, &body);
    Ok(if attempt.cancel_requested {
        (format!("stop work on {id}: its cancellation was asked for"), format!("tenure release {id}"))
    } else if attempt.mode == AttemptMode::Recovery && attempt.disposition.is_none() {
        (
            format!("decide about what the expired attempt at {id} left"),
            format!("tenure dispose {id} --disposition resume"),
        )
    } else if digest != attempt.task_digest {
        (format!("read {id} again: it changed"), format!("tenure reconcile {id} --digest {digest}"))
    } else {
        (format!("work on {id} and close it"), close_command(&body))
    })
}

/// How many objectives `next` looks at.
const OBJECTIVES_LOOKED_AT: u32 = 50;

/// The first objective that only waits to be closed.
fn first_closable(set: &WorkingSet, project: &ProjectKey) -> Step<Option<Task>> {
    let queues = vec![Queue::Objective];
    let page = Page::Tasks { project: project.clone(), queues, after: 0, count: OBJECTIVES_LOOKED_AT };
    let Rows::Tasks(ids) = set.page(&page)? else { unreachable!("a page of tasks holds tasks") };
    let tasks = together(ids.iter().map(|id| set.existing_task(id)))?;
    let closable = together(tasks.iter().map(|task| can_be_closed(set, task)))?;
    Ok(tasks.into_iter().zip(closable).find(|(_, closable)| *closable).map(|(task, _)| task))
}

/// The answer to a claim that found nothing: a normal stop, with reasons.
pub fn nothing_eligible(set: &WorkingSet, call: &Call, projects: &[ProjectKey]) -> Step<Refusal> {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    let mut ready = 0;
    for project in projects {
        ready += total(set, project)?;
        for (name, count) in reasons(set, project)? {
            *all.entry(name).or_default() += count;
        }
    }
    let names = projects.iter().map(ProjectKey::as_str).collect::<Vec<_>>().join(", ");
    let said = all.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ");
    let detail = match (ready, said.is_empty()) {
        (0, true) => format!("nothing is left to do in {names}"),
        (0, false) => format!("nothing is ready in {names}: {said}"),
        (ready, _) => format!("{ready} ready in {names}, but none that this session can take"),
    };
    let next = if ready > 0 {
        format!("`tenure ready` shows them; {MEANT_FOR_OTHERS}")
    } else {
        what_to_check(&projects[0], &all)
    };
    let reasons: serde_json::Map<String, Value> =
        all.into_iter().map(|(name, count)| (name, count.into())).collect();
    let refusal = Refusal::new(Code::NothingEligible, detail).next(next);
    Ok(refusal.fact("reasons", reasons).fact("ready", ready).fact("as_of", call.now.fleet.0))
}

/// A place in the queue as a cursor of the ready list: it goes stale with the epoch only.
fn cursor_text(epoch: Epoch, rank: Rank) -> String {
    format!("{epoch}.{}.{}.{}", rank.priority, rank.ready_at.0, rank.number)
}

fn parse_cursor(text: &str, epoch: Epoch) -> Result<Rank, Refusal> {
    let wrong = || Refusal::field("cursor", "is not one that this list gave", "start without a cursor");
    let parts: Vec<&str> = text.split('.').collect();
    let [of, priority, ready_at, number] = parts.as_slice() else { return Err(wrong()) };
    if counter(of).ok_or_else(wrong)? != epoch.0 {
        return Err(
            Refusal::new(Code::EpochChanged, "the cursor is from before a restore").next("start anew")
        );
    }
    Ok(Rank {
        priority: priority.parse().map_err(|_| wrong())?,
        ready_at: FleetTime(ready_at.parse().map_err(|_| wrong())?),
        number: counter(number).ok_or_else(wrong)?,
    })
}

impl Rule for Ready {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        let key = &self.project;
        vec![Need::Project(key.clone()), Need::Tallies(key.clone()), Need::Moments(key.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ReadyList> {
        project::existing(set, &self.project)?;
        let rows = page_rows(self.limit)?;
        let from = self.cursor.as_deref().map_or(Ok(Rank::FIRST), |text| parse_cursor(text, call.epoch))?;
        let window = window(set, &self.project, Source::Ready, from, rows + 1)?;
        let ready = |queue| ready_in(set, call, &self.project, (window, queue));
        let mut found: Vec<&Task> = READY_QUEUES.into_iter().flat_map(ready).collect();
        found.sort_by_key(|task| task.rank());
        if found.len() <= rows as usize && !window.complete {
            return Err(more(&self.project, Source::Ready, window).into());
        }
        let has_more = found.len() > rows as usize;
        found.truncate(rows as usize);
        let cursor = found.last().filter(|_| has_more).map(|task| cursor_text(call.epoch, task.rank()));
        let ids: Vec<TaskId> = found.into_iter().map(|task| task.id.clone()).collect();
        let reasons = reasons(set, &self.project)?;
        let next = ids.is_empty().then(|| what_to_check(&self.project, &reasons));
        Ok(ReadyList {
            tasks: summaries(set, call, &ids)?,
            total: total(set, &self.project)?,
            reasons,
            next,
            cursor,
            as_of: as_of(set, call),
        })
    }
}

impl Rule for Next {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<NextStep> {
        let session = caller(call)?;
        project::existing(set, &self.project)?;
        let mut held = set.current_attempts_of(&session.id)?;
        held.retain(|attempt| attempt.id.task.project == self.project && attempt.is_live(call.now.fleet));
        let holds = held.iter().map(|attempt| attempt.id.clone()).collect();
        if let Some(attempt) = held.first() {
            let id = attempt.id.task.clone();
            let (do_now, command) = what_a_holder_does(set, attempt)?;
            return Ok(NextStep {
                do_now,
                command: Some(command),
                task: Some(id),
                holds,
                attempt: Some(attempt_view(call, attempt)),
                reasons: BTreeMap::new(),
                as_of: as_of(set, call),
            });
        }
        let mine = |task: &Task| is_eligible(call, session, task);
        let found = if let Some(task) = first_ready(set, call, &self.project, mine)? {
            Some((format!("claim {}", task.id), format!("tenure claim {}", task.id), task.id))
        } else if let Some(task) = first_expired(set, call, &self.project, mine)? {
            let do_now = format!("take over {}, whose attempt expired", task.id);
            Some((do_now, format!("tenure claim {}", task.id), task.id))
        } else {
            first_closable(set, &self.project)?.map(|task| {
                let do_now = format!("close the objective {}: its children are finished", task.id);
                (do_now, format!("tenure close {} --revision {}", task.id, task.revision), task.id)
            })
        };
        if let Some((do_now, command, task)) = found {
            return Ok(NextStep {
                do_now,
                command: Some(command),
                task: Some(task),
                holds,
                attempt: None,
                reasons: BTreeMap::new(),
                as_of: as_of(set, call),
            });
        }
        let reasons = reasons(set, &self.project)?;
        let check = match total(set, &self.project)? {
            0 => what_to_check(&self.project, &reasons),
            ready => format!("{ready} ready, but {MEANT_FOR_OTHERS}"),
        };
        Ok(NextStep {
            do_now: format!("nothing: {check}"),
            command: None,
            task: None,
            holds,
            attempt: None,
            reasons,
            as_of: as_of(set, call),
        })
    }
}
