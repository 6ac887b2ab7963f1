//! The queues: what can be taken, in which order, and what to say when there is nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::status::is_deferred;
use super::view::summaries;
use super::{Rule, as_of, named, page_rows, room};
use crate::envelope::Call;
use crate::model::ids::{Epoch, ProjectKey, TaskId, counter};
use crate::model::limits::PAGE_BYTES_DEFAULT;
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{Priority, Queue, Rank, Task};
use crate::model::time::FleetTime;
use crate::operation::queue::{Ready, ReadyList};
use crate::working_set::records::{AttemptIndex, InQueue};
use crate::working_set::{Need, Source, Step, Window, WorkingSet};

/// How many rows of a queue are asked for first when one task is wanted: the first is nearly always the one.
pub const FIRST_ROWS: u32 = 1;
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
pub const READY_QUEUES: [Queue; 2] = [Queue::Ready, Queue::Deferred];

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

/// All tasks of a project by status, however anybody asks for them.
pub fn by_status(set: &WorkingSet, project: &ProjectKey) -> Step<BTreeMap<String, u64>> {
    let mut counts = reasons(set, project)?;
    let tallies = set.tallies_of(project)?;
    let count = |queue| tallies.get(&queue).copied().unwrap_or(0);
    let others = [
        ("ready", total(set, project)?),
        ("done", count(Queue::Done)),
        ("cancelled", count(Queue::Cancelled)),
        ("archived", count(Queue::Archived)),
    ];
    counts.extend(others.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n)));
    Ok(counts)
}

/// How many tasks of a project are ready.
pub fn total(set: &WorkingSet, project: &ProjectKey) -> Step<u64> {
    let ready = set.tallies_of(project)?.get(&Queue::Ready).copied().unwrap_or(0);
    Ok(ready + set.moments_of(project)?.deferred_due)
}

/// What to check when nothing is ready: the first reason that somebody can do something about.
fn what_to_check(project: &ProjectKey, reasons: &BTreeMap<String, u64>) -> String {
    let advice = [
        ("recovery", "`tenure claim` takes over expired work; `tenure explain TASK` says what it waits for"),
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

/// What to check when there is nothing for this session: never the claim that it was just refused.
pub fn why_not_taken(project: &ProjectKey, ready: u64, reasons: &BTreeMap<String, u64>) -> String {
    if ready > 0 {
        "what is ready requires capabilities that this session does not offer, or is kept for others: `tenure ready`"
            .to_owned()
    } else if reasons.contains_key("recovery") {
        "expired work is left that this session cannot take over now: `tenure explain TASK` says why"
            .to_owned()
    } else {
        what_to_check(project, reasons)
    }
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
    let next = why_not_taken(&projects[0], ready, &all);
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
    let then = Epoch(counter(of).ok_or_else(wrong)?);
    if then != epoch {
        return Err(Refusal::restored("the cursor", then.0, epoch.0).next("read the list from its beginning"));
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
        named::project(set, &self.project)?;
        let rows = page_rows(self.limit)?;
        let from = self.cursor.as_deref().map_or(Ok(Rank::FIRST), |text| parse_cursor(text, call.epoch))?;
        let window = window(set, &self.project, Source::Ready, from, rows + 1)?;
        let ready = |queue| ready_in(set, call, &self.project, (window, queue));
        let mut found: Vec<&Task> = READY_QUEUES.into_iter().flat_map(ready).collect();
        found.sort_by_key(|task| task.rank());
        if found.len() <= rows as usize && !window.complete {
            return Err(more(&self.project, Source::Ready, window).into());
        }
        let ranks: Vec<Rank> = found.iter().map(|task| task.rank()).collect();
        let ids: Vec<TaskId> = found.into_iter().take(rows as usize).map(|task| task.id.clone()).collect();
        let mut tasks = summaries(set, call, &ids)?;
        tasks.truncate(room(&tasks, self.limit, PAGE_BYTES_DEFAULT));
        let has_more = ranks.len() > tasks.len();
        let last = tasks.len().checked_sub(1).filter(|_| has_more).map(|last| ranks[last]);
        let cursor = last.map(|rank| cursor_text(call.epoch, rank));
        let reasons = reasons(set, &self.project)?;
        let next = ids.is_empty().then(|| what_to_check(&self.project, &reasons));
        Ok(ReadyList {
            tasks,
            total: total(set, &self.project)?,
            reasons,
            next,
            cursor,
            as_of: as_of(set, call),
        })
    }
}
