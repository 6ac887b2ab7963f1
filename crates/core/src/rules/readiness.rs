//! Readiness, defined once. The facts that make it fast are kept here, in the write that changes them, and for
//! the affected tasks only: how many blockers a task has itself, how many of them it passes down to its children,
//! and how many its unfinished ancestors pass down to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::envelope::Call;
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::ids::TaskId;
use crate::model::task::{DEFERRED_WITHOUT_DATE, Lifecycle, Queue, Task};
use crate::model::time::{FleetTime, Now};
use crate::working_set::{Step, WorkingSet, together};

/// The task that really stands in the way: a duplicate's or superseded task's place is taken by its successor.
pub fn in_place_of(set: &WorkingSet, id: &TaskId) -> Step<Task> {
    Ok(successors(set, id)?.pop().expect("a chain has its beginning"))
}

/// A task and those that stand in its place, one after the other. However long a chain the store holds, its end is what
/// counts; no command makes one of more than [`SUCCESSORS_MAX`](crate::model::limits::SUCCESSORS_MAX).
pub fn successors(set: &WorkingSet, id: &TaskId) -> Step<Vec<Task>> {
    let mut chain = vec![set.existing_task(id)?];
    let mut seen = BTreeSet::from([id.clone()]);
    while let Some(Task { lifecycle: Lifecycle::Cancelled, successor: Some(next), .. }) = chain.last() {
        if !seen.insert(next.clone()) {
            break;
        }
        let next = set.existing_task(next)?;
        chain.push(next);
    }
    Ok(chain)
}

/// How many tasks at most stand one after the other before a task in whose place they come.
pub fn predecessors(set: &WorkingSet, id: &TaskId) -> Step<usize> {
    let mut level = vec![id.clone()];
    let mut seen = BTreeSet::from([id.clone()]);
    let mut levels = 0;
    loop {
        let next = together(level.iter().map(|task| replaced_by(set, task)))?.concat();
        level = next.into_iter().filter(|task| seen.insert(task.clone())).collect();
        if level.is_empty() {
            return Ok(levels);
        }
        levels += 1;
    }
}

/// The blockers of a task that still stand in its way. A cancelled one does until somebody decides.
pub fn open_blockers(set: &WorkingSet, id: &TaskId) -> Step<Vec<Task>> {
    let edges = set.dependencies_of(id)?;
    let waits = edges.iter().filter(|edge| edge.kind == DependencyKind::Blocks);
    let blockers = together(waits.map(|edge| in_place_of(set, &edge.on)))?;
    Ok(blockers
        .into_iter()
        .filter(|blocker| blocker.lifecycle != Lifecycle::Done && blocker.id != *id)
        .collect())
}

/// The parents of a task.
pub fn parents(set: &WorkingSet, id: &TaskId) -> Step<Vec<TaskId>> {
    let edges = set.dependencies_of(id)?;
    Ok(edges.into_iter().filter(|edge| edge.kind == DependencyKind::Parent).map(|edge| edge.on).collect())
}

/// The children of a task.
pub fn children(set: &WorkingSet, id: &TaskId) -> Step<Vec<TaskId>> {
    let edges = set.dependencies_on(id)?;
    Ok(edges.into_iter().filter(|edge| edge.kind == DependencyKind::Parent).map(|edge| edge.task).collect())
}

/// Every task above these, each once, nearest first.
pub fn ancestors(set: &WorkingSet, id: &TaskId) -> Step<Vec<TaskId>> {
    closure(BTreeSet::from([id.clone()]), |task| parents(set, task))
}

/// What can be reached from some tasks, without those themselves unless they can be reached. Each level is asked
/// for at once.
pub fn closure(roots: BTreeSet<TaskId>, step: impl Fn(&TaskId) -> Step<Vec<TaskId>>) -> Step<Vec<TaskId>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut level: Vec<TaskId> = roots.into_iter().collect();
    while !level.is_empty() {
        let next = together(level.iter().map(&step))?.concat();
        level = next.into_iter().filter(|id| seen.insert(id.clone())).collect();
        found.extend(level.iter().cloned());
    }
    Ok(found)
}

/// Whether a task lies below another one.
pub fn is_below(set: &WorkingSet, id: &TaskId, above: &TaskId) -> Step<bool> {
    Ok(ancestors(set, id)?.contains(above))
}

/// Counts a task's own blockers, and those of them that lie outside its own subtree.
fn count_own(set: &WorkingSet, id: &TaskId) -> Step<(u32, u32)> {
    let blockers = open_blockers(set, id)?;
    let inside = if blockers.is_empty() || children(set, id)?.is_empty() {
        Vec::new()
    } else {
        together(blockers.iter().map(|blocker| is_below(set, &blocker.id, id)))?
    };
    let typed = set.blockers_of(id)?.iter().filter(|blocker| blocker.resolved_at.is_none()).count();
    let own = (blockers.len() + typed) as u32;
    Ok((own, own - inside.iter().filter(|below| **below).count() as u32))
}

/// Whether a task holds its children back: it is unfinished and waits for something outside its own subtree, or
/// its own parents hold it back. A finished task passes on what stands above it.
fn passes_down(task: &Task) -> bool {
    (!task.lifecycle.is_finished() && task.outer_blockers > 0) || task.inherited_blockers > 0
}

/// Counts the parents that hold a task back.
fn count_inherited(set: &WorkingSet, id: &TaskId) -> Step<u32> {
    let above = together(parents(set, id)?.iter().map(|parent| set.existing_task(parent)))?;
    Ok(above.iter().filter(|parent| passes_down(parent)).count() as u32)
}

/// Writes a task and, when it enters the queue, the moment since when it has been ready.
pub fn put(set: &mut WorkingSet, now: Now, task: Task) -> Step<()> {
    let before = set.task(&task.id)?;
    set.put_task(entered(before.as_ref(), task, now))
}

/// The task with the moment since when it has been ready, if it has entered the queue since it was `before`. A deferral
/// whose date has passed made it ready then, whether or not somebody ended it since.
fn entered(before: Option<&Task>, mut task: Task, now: Now) -> Task {
    let queue = task.queue();
    let before = before.map(|old| (old.queue(), old.deferred_until));
    if before != Some((queue, task.deferred_until)) {
        let was_due = before.is_some_and(|(queue, until)| {
            queue == Queue::Deferred && until.is_some_and(|until| until <= now.wall)
        });
        match queue {
            Queue::Ready if was_due => task.ready_at = task.ready_at.min(now.fleet),
            Queue::Ready => task.ready_at = now.fleet,
            Queue::Deferred => task.ready_at = ready_after_deferral(&task, now),
            Queue::Archived
            | Queue::Cancelled
            | Queue::Done
            | Queue::Planned
            | Queue::Held
            | Queue::Blocked
            | Queue::Objective => {}
        }
    }
    task
}

/// A deferral's date on the scale of fleet time, so that both kinds of ready tasks are in one order.
fn ready_after_deferral(task: &Task, now: Now) -> FleetTime {
    match task.deferred_until {
        Some(DEFERRED_WITHOUT_DATE) => FleetTime(i64::MAX),
        Some(until) => now.fleet.plus_ms(until.0.saturating_sub(now.wall.0).max(0)),
        None => now.fleet,
    }
}

/// Counts the blockers of some tasks anew and passes the change down. Returns the tasks that became ready.
pub fn recount(set: &mut WorkingSet, now: Now, ids: &BTreeSet<TaskId>) -> Step<Vec<TaskId>> {
    recount_below(set, now, ids, BTreeSet::new())
}

/// The same, and looks anew at what the tasks in `below` inherit. A level of tasks is asked for at once, and only
/// those are looked at whose parents have changed what they pass down.
fn recount_below(
    set: &mut WorkingSet,
    now: Now,
    ids: &BTreeSet<TaskId>,
    mut below: BTreeSet<TaskId>,
) -> Step<Vec<TaskId>> {
    let mut walk = Walk::default();
    let counts = together(ids.iter().map(|id| count_own(set, id)))?;
    let tasks = together(ids.iter().map(|id| set.existing_task(id)))?;
    for (task, (own_blockers, outer_blockers)) in tasks.into_iter().zip(counts) {
        if (task.own_blockers, task.outer_blockers) != (own_blockers, outer_blockers) {
            walk.change(set, &task, Task { own_blockers, outer_blockers, ..task.clone() })?;
        }
    }
    loop {
        let changed = std::mem::take(&mut walk.changed);
        below.extend(together(changed.iter().map(|id| children(set, id)))?.into_iter().flatten());
        if below.is_empty() {
            return walk.end(set, now);
        }
        let level = std::mem::take(&mut below);
        let counts = together(level.iter().map(|id| count_inherited(set, id)))?;
        let tasks = together(level.iter().map(|id| set.existing_task(id)))?;
        for (task, inherited_blockers) in tasks.into_iter().zip(counts) {
            if task.inherited_blockers != inherited_blockers {
                walk.change(set, &task, Task { inherited_blockers, ..task.clone() })?;
            }
        }
    }
}

/// What a walk down from changed counts has met. A task may be met more than once: only how it was before the walk and
/// how it is after it tells whether it entered the queue.
#[derive(Default)]
struct Walk {
    /// Tasks that now pass something else down.
    changed: Vec<TaskId>,
    /// Every task that was written, as it was before.
    before: BTreeMap<TaskId, Task>,
}

impl Walk {
    /// Writes changed counts.
    fn change(&mut self, set: &mut WorkingSet, before: &Task, task: Task) -> Step<()> {
        if passes_down(before) != passes_down(&task) {
            self.changed.push(task.id.clone());
        }
        self.before.entry(task.id.clone()).or_insert_with(|| before.clone());
        set.put_task(task)
    }

    /// Gives those that entered the queue their place in it, and returns those that became ready.
    fn end(self, set: &mut WorkingSet, now: Now) -> Step<Vec<TaskId>> {
        let mut freed = Vec::new();
        for (id, before) in self.before {
            let task = set.existing_task(&id)?;
            if task.queue() == before.queue() {
                continue;
            }
            if task.queue() == Queue::Ready {
                freed.push(id);
            }
            set.put_task(entered(Some(&before), task, now))?;
        }
        Ok(freed)
    }
}

/// Keeps the facts after a task was finished or reopened: those who wait for it, and what it passes down. Returns
/// the tasks that became ready.
pub fn after_lifecycle(set: &mut WorkingSet, call: &Call, id: &TaskId) -> Step<Vec<TaskId>> {
    let waiting = waits_on(set, id)?.into_iter().map(|edge| edge.task).collect();
    let below = children(set, id)?.into_iter().collect();
    recount_below(set, call.now, &waiting, below)
}

/// The edges of those who wait for a task: for itself, or for one in whose place it stands.
pub fn waits_on(set: &WorkingSet, id: &TaskId) -> Step<Vec<Dependency>> {
    let mut places = closure(BTreeSet::from([id.clone()]), |task| replaced_by(set, task))?;
    places.push(id.clone());
    let edges = together(places.iter().map(|place| set.dependencies_on(place)))?.concat();
    Ok(edges.into_iter().filter(|edge| edge.kind == DependencyKind::Blocks).collect())
}

/// The tasks in whose place this one stands.
fn replaced_by(set: &WorkingSet, id: &TaskId) -> Step<Vec<TaskId>> {
    let superseded =
        set.dependencies_of(id)?.into_iter().filter(|e| e.kind == DependencyKind::Supersedes).map(|e| e.on);
    let duplicates =
        set.dependencies_on(id)?.into_iter().filter(|e| e.kind == DependencyKind::Duplicates).map(|e| e.task);
    let candidates: Vec<TaskId> = superseded.chain(duplicates).collect();
    let tasks = together(candidates.iter().map(|candidate| set.existing_task(candidate)))?;
    Ok(tasks.into_iter().filter(|task| task.successor.as_ref() == Some(id)).map(|task| task.id).collect())
}

/// Keeps the facts after a parent edge of `child` came or went: what the child and those below it inherit, and
/// which blockers now lie inside or outside of the subtrees above.
pub fn after_parent(set: &mut WorkingSet, call: &Call, child: &TaskId, parent: &TaskId) -> Step<Vec<TaskId>> {
    let mut above = ancestors(set, parent)?;
    above.push(parent.clone());
    let tasks = together(above.iter().map(|id| set.existing_task(id)))?;
    let blocked = tasks.into_iter().filter(|task| task.own_blockers > 0).map(|task| task.id).collect();
    recount_below(set, call.now, &blocked, BTreeSet::from([child.clone()]))
}

/// Sets every count of new tasks whose edges are all in place, as an import does.
pub fn count_new(set: &mut WorkingSet, now: Now, ids: &BTreeSet<TaskId>) -> Step<()> {
    recount_below(set, now, ids, ids.clone()).map(|_| ())
}
