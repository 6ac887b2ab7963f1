//! No two tasks may wait for each other for ever. Dependencies and parents are checked together, because a child
//! inherits its parent's blockers and a parent is finished after its children.
//!
//! The question is asked of moments, not of tasks: a task's *finish* needs its start and its children's finish;
//! its *start* needs its blockers' finish and the gates of its parents; a parent's *gate* needs the finish of its
//! blockers outside its own subtree and the gates above. A parent that waits for its own child is therefore fine,
//! and a child that waits for an ancestor is not.

use std::collections::BTreeSet;

use super::readiness::{children, in_place_of, is_below, open_blockers, parents};
use crate::model::ids::TaskId;
use crate::model::limits::GRAPH_WALK_TASKS;
use crate::model::refusal::{Code, Refusal};
use crate::working_set::walk::{Moment, Walk};
use crate::working_set::{Step, WorkingSet};

/// Refuses when a new "task waits for on" closes a circle. The edge is already in the working set.
pub fn check_wait(set: &mut WorkingSet, task: &TaskId, on: &TaskId) -> Step<()> {
    let place = in_place_of(set, on)?.id;
    if place == *task {
        // It waits for what it stands in the place of: that is no waiting.
        return Ok(());
    }
    let mut towards = vec![Moment::Start(task.clone())];
    if !is_below(set, &place, task)? {
        towards.push(Moment::Gate(task.clone()));
    }
    walk(set, Moment::Finish(place), towards, &format!("{task} would wait for {on}"))
}

/// Refuses when a new "child is a child of parent" closes a circle. The edge is already in the working set.
pub fn check_parent(set: &mut WorkingSet, child: &TaskId, parent: &TaskId) -> Step<()> {
    let said = format!("{child} would be a child of {parent}");
    walk(set, Moment::Finish(child.clone()), vec![Moment::Finish(parent.clone())], &said)?;
    let towards = vec![Moment::Start(child.clone()), Moment::Gate(child.clone())];
    walk(set, Moment::Gate(parent.clone()), towards, &said)
}

/// Takes up the same walk where the rule stopped to have rows loaded, or begins it.
fn walk(set: &mut WorkingSet, from: Moment, towards: Vec<Moment>, said: &str) -> Step<()> {
    let begun = set.walks.iter().position(|walk| walk.from == from && walk.towards == towards);
    let mut walk = begun.map_or_else(|| Walk::new(from, towards), |begun| set.walks.swap_remove(begun));
    let outcome = go_on(set, &mut walk, said);
    set.walks.push(walk);
    outcome
}

/// Walks until it is done or lacks something; what was walked stays walked.
fn go_on(set: &WorkingSet, walk: &mut Walk, said: &str) -> Step<()> {
    while let Some(moment) = walk.queue.front().cloned() {
        for (next, why) in before(set, &moment)? {
            if next == walk.from || walk.reached.contains_key(&next) {
                continue;
            }
            let found = walk.towards.contains(&next);
            walk.reached.insert(next.clone(), (moment.clone(), why));
            if found {
                return Err(refusal(walk, &next, said).into());
            }
            walk.queue.push_back(next);
        }
        walk.queue.pop_front();
        if walk.reached.len() > 3 * GRAPH_WALK_TASKS {
            let detail =
                format!("{said}: more than {GRAPH_WALK_TASKS} tasks would have to be checked for a cycle");
            return Err(Refusal::new(Code::DependencyCycle, detail)
                .next("split the graph into objectives")
                .into());
        }
    }
    Ok(())
}

/// What must come before a moment, each with the reason in words. Finished tasks need nothing any more.
fn before(set: &WorkingSet, moment: &Moment) -> Step<Vec<(Moment, String)>> {
    let mut needs = Vec::new();
    match moment {
        Moment::Finish(id) => {
            if set.existing_task(id)?.lifecycle.is_finished() {
                return Ok(needs);
            }
            needs.push((Moment::Start(id.clone()), String::new()));
            for child in children(set, id)? {
                needs.push((Moment::Finish(child.clone()), format!("{child} is a child of {id}")));
            }
        }
        Moment::Start(id) => {
            for blocker in open_blockers(set, id)? {
                let why = format!("{id} waits for {}", blocker.id);
                needs.push((Moment::Finish(blocker.id), why));
            }
            for parent in parents(set, id)? {
                needs.push((Moment::Gate(parent.clone()), format!("{id} is a child of {parent}")));
            }
        }
        Moment::Gate(id) => {
            if !set.existing_task(id)?.lifecycle.is_finished() {
                for blocker in open_blockers(set, id)? {
                    if !is_below(set, &blocker.id, id)? {
                        let why = format!("{id} waits for {}", blocker.id);
                        needs.push((Moment::Finish(blocker.id), why));
                    }
                }
            }
            for parent in parents(set, id)? {
                needs.push((Moment::Gate(parent.clone()), format!("{id} is a child of {parent}")));
            }
        }
    }
    Ok(needs)
}

/// Names every edge of the circle.
fn refusal(walk: &Walk, end: &Moment, said: &str) -> Refusal {
    let mut edges = Vec::new();
    let mut seen = BTreeSet::new();
    let mut moment = end;
    while let Some((previous, why)) = walk.reached.get(moment) {
        if !why.is_empty() && seen.insert(why.clone()) {
            edges.push(why.clone());
        }
        moment = previous;
    }
    edges.reverse();
    let detail = format!("{said}, but {}", edges.join(", and "));
    Refusal::new(Code::DependencyCycle, detail).fact("edges", edges)
}
