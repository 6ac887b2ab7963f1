//! Edges and typed blockers: added, removed, raised, resolved; the facts they change are kept in the same step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::cycle::{check_parent, check_wait};
use super::readiness::{after_parent, closure, recount};
use super::view::full;
use super::{Rule, caller};
use crate::envelope::Call;
use crate::import::cycles::cycles;
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::event::EventKind;
use crate::model::ids::TaskId;
use crate::model::limits::{LIST_ITEMS, TEXT_BYTES, check_count, check_text};
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{Blocker, BlockerKind, Task};
use crate::operation::graph::{AddDependency, RaiseBlocker, RemoveDependency, ResolveBlocker};
use crate::operation::task::TaskAnswer;
use crate::working_set::{About, Need, Step, WorkingSet, together};

impl Rule for AddDependency {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![
            Need::Task(self.task.clone()),
            Need::Task(self.on.clone()),
            Need::DependenciesOf(self.task.clone()),
            Need::DependenciesOn(self.task.clone()),
            Need::DependenciesOf(self.on.clone()),
        ]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        if self.optional && self.kind != DependencyKind::Parent {
            return Err(Refusal::field("optional", "is for children only", "leave it out").into());
        }
        if self.task == self.on {
            let detail = format!("{} cannot have a relation to itself", self.task);
            return Err(Refusal::new(Code::DependencyCycle, detail).next("name two tasks").into());
        }
        let both = together([&self.task, &self.on].map(|id| set.existing_task(id)))?;
        for task in &both {
            refuse_archived(task)?;
        }
        let edge = Dependency {
            task: self.task.clone(),
            kind: self.kind,
            on: self.on.clone(),
            optional: self.optional,
        };
        add(set, call, edge)?;
        Ok(TaskAnswer { task: full(set, call, &self.task)?, ending: None, entries: Vec::new() })
    }
}

fn refuse_archived(task: &Task) -> Result<(), Refusal> {
    if task.archived {
        return Err(Refusal::new(Code::StateConflict, format!("{} is archived", task.id)));
    }
    Ok(())
}

/// Adds an edge between existing tasks: checked for cycles, counted, recorded. An edge that is there already
/// changes nothing.
pub fn add(set: &mut WorkingSet, call: &Call, edge: Dependency) -> Step<()> {
    let old =
        set.dependencies_of(&edge.task)?.into_iter().find(|old| (old.kind, &old.on) == (edge.kind, &edge.on));
    if old.as_ref() == Some(&edge) {
        return Ok(());
    }
    let task = set.existing_task(&edge.task)?;
    let on = set.existing_task(&edge.on)?;
    let data = json!({ "kind": edge.kind, "on": edge.on, "optional": edge.optional });
    set.record(EventKind::DependencyAdded, About::task(&edge.task, data));
    set.dependencies.load_absent((edge.task.clone(), edge.kind, edge.on.clone()));
    set.dependencies.put(edge.clone());
    match edge.kind {
        DependencyKind::Blocks => {
            refuse_finished(&task)?;
            check_wait(set, &edge.task, &edge.on)?;
            recount(set, call.now, &BTreeSet::from([edge.task]))?;
        }
        DependencyKind::Parent if old.is_none() => {
            refuse_finished(&on)?;
            check_parent(set, &edge.task, &edge.on)?;
            after_parent(set, call, &edge.task, &edge.on)?;
        }
        DependencyKind::Parent
        | DependencyKind::Related
        | DependencyKind::DiscoveredFrom
        | DependencyKind::Duplicates
        | DependencyKind::Supersedes => {}
    }
    Ok(())
}

/// A finished task neither waits any more nor gets children any more.
fn refuse_finished(task: &Task) -> Result<(), Refusal> {
    if task.lifecycle.is_finished() {
        let detail = format!("{} is {} already", task.id, task.lifecycle);
        return Err(
            Refusal::new(Code::StateConflict, detail).next("create a new task for what is still to do")
        );
    }
    Ok(())
}

impl Rule for RemoveDependency {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        set.existing_task(&self.task)?;
        let edges = set.dependencies_of(&self.task)?;
        if !edges.iter().any(|edge| edge.kind == self.kind && edge.on == self.on) {
            let edge = format!("{} {} {}", self.task, self.kind, self.on);
            let refusal = Refusal::not_found("dependency", edge);
            return Err(refusal.next(format!("`tenure show {}` lists them", self.task)).into());
        }
        self.refuse_successor(set)?;
        let data = json!({ "kind": self.kind, "on": self.on });
        set.record(EventKind::DependencyRemoved, About::task(&self.task, data));
        set.dependencies.remove(&(self.task.clone(), self.kind, self.on.clone()));
        match self.kind {
            DependencyKind::Blocks => {
                resolve_cycle_blockers(set, call, &self.task, &self.on)?;
                recount(set, call.now, &BTreeSet::from([self.task.clone()]))?;
            }
            DependencyKind::Parent => {
                after_parent(set, call, &self.task, &self.on)?;
            }
            DependencyKind::Related
            | DependencyKind::DiscoveredFrom
            | DependencyKind::Duplicates
            | DependencyKind::Supersedes => {}
        }
        Ok(TaskAnswer { task: full(set, call, &self.task)?, ending: None, entries: Vec::new() })
    }
}

impl RemoveDependency {
    /// Refuses to remove the edge by which one task stands in the place of another that was cancelled for it: those
    /// who wait for the cancelled one are found along it.
    fn refuse_successor(&self, set: &WorkingSet) -> Step<()> {
        let (replaced, successor) = match self.kind {
            DependencyKind::Duplicates => (&self.task, &self.on),
            DependencyKind::Supersedes => (&self.on, &self.task),
            DependencyKind::Blocks
            | DependencyKind::Parent
            | DependencyKind::Related
            | DependencyKind::DiscoveredFrom => return Ok(()),
        };
        if set.existing_task(replaced)?.successor.as_ref() == Some(successor) {
            let detail = format!("{replaced} was cancelled because {successor} stands in its place");
            return Err(Refusal::new(Code::StateConflict, detail)
                .next(format!("let go of those who wait for it: `tenure show {replaced}` lists them"))
                .into());
        }
        Ok(())
    }
}

/// An imported circle is broken when one of its edges goes. Its members were all to be reached from the edge's end;
/// those that are on no circle any more lose the blocker that marked them.
fn resolve_cycle_blockers(set: &mut WorkingSet, call: &Call, task: &TaskId, on: &TaskId) -> Step<()> {
    let reached = closure(BTreeSet::from([on.clone()]), |id| waits_for(set, id))?;
    let members: BTreeSet<TaskId> = reached.into_iter().chain([task.clone(), on.clone()]).collect();
    let blockers = together(members.iter().map(|member| set.blockers_of(member)))?;
    let still = on_circles(set, &members)?;
    let mut freed = BTreeSet::new();
    for (member, blockers) in members.into_iter().zip(blockers) {
        for mark in blockers.into_iter().filter(|mark| is_open_mark(mark) && !still.contains(&member)) {
            let data = json!({ "number": mark.number, "reason": "an edge of the cycle was removed" });
            set.record(EventKind::BlockerResolved, About::task(&member, data));
            set.blockers.put(Blocker { resolved_at: Some(call.now.wall), ..mark });
            freed.insert(member.clone());
        }
    }
    recount(set, call.now, &freed)?;
    Ok(())
}

/// The tasks among these that lie on a circle of waiting.
fn on_circles(set: &WorkingSet, ids: &BTreeSet<TaskId>) -> Step<BTreeSet<TaskId>> {
    let ids: Vec<&TaskId> = ids.iter().collect();
    let place: BTreeMap<&TaskId, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    let targets = together(ids.iter().map(|id| waits_for(set, id)))?;
    let edges: Vec<Vec<usize>> =
        targets.iter().map(|on| on.iter().filter_map(|on| place.get(on).copied()).collect()).collect();
    Ok(cycles(&edges).into_iter().flatten().map(|place| ids[place].clone()).collect())
}

fn is_open_mark(blocker: &Blocker) -> bool {
    blocker.kind == BlockerKind::DependencyCycle && blocker.resolved_at.is_none()
}

/// The tasks that a task waits for, finished ones too.
fn waits_for(set: &WorkingSet, id: &TaskId) -> Step<Vec<TaskId>> {
    let edges = set.dependencies_of(id)?;
    Ok(edges.into_iter().filter(|edge| edge.kind == DependencyKind::Blocks).map(|edge| edge.on).collect())
}

impl Rule for RaiseBlocker {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        if let Some(reopening) = &self.reopening {
            check_text("reopening", reopening, TEXT_BYTES, false)?;
        }
        if self.kind == BlockerKind::DependencyCycle {
            let wrong = "is raised by imports only";
            return Err(Refusal::field("kind", wrong, "name another kind").into());
        }
        let task = set.existing_task(&self.task)?;
        refuse_finished(&task)?;
        let blockers = set.blockers_of(&self.task)?;
        check_count("blockers", blockers.len() + 1, LIST_ITEMS)?;
        let number = set.fleet.next(blockers.iter().map(|blocker| blocker.number).max().unwrap_or(0));
        let data = json!({ "number": number, "kind": self.kind, "reason": self.reason });
        set.record(EventKind::BlockerRaised, About::task(&self.task, data));
        set.blockers.put(Blocker {
            task: self.task.clone(),
            number,
            kind: self.kind,
            reason: self.reason.clone(),
            reopening: self.reopening.clone(),
            principal: caller(call)?.principal.clone(),
            created_at: call.now.wall,
            resolved_at: None,
        });
        recount(set, call.now, &BTreeSet::from([self.task.clone()]))?;
        Ok(TaskAnswer { task: full(set, call, &self.task)?, ending: None, entries: Vec::new() })
    }
}

impl Rule for ResolveBlocker {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        set.existing_task(&self.task)?;
        let blockers = set.blockers_of(&self.task)?;
        let Some(blocker) = blockers.into_iter().find(|blocker| blocker.number == self.number) else {
            let refusal = Refusal::not_found("blocker of this task with number", self.number);
            return Err(refusal.next(format!("`tenure show {}` lists them", self.task)).into());
        };
        if blocker.resolved_at.is_some() {
            let detail = format!("blocker {} of {} is resolved already", self.number, self.task);
            return Err(Refusal::new(Code::StateConflict, detail).into());
        }
        let data = json!({ "number": self.number, "reason": self.reason });
        set.record(EventKind::BlockerResolved, About::task(&self.task, data));
        set.blockers.put(Blocker { resolved_at: Some(call.now.wall), ..blocker });
        recount(set, call.now, &BTreeSet::from([self.task.clone()]))?;
        Ok(TaskAnswer { task: full(set, call, &self.task)?, ending: None, entries: Vec::new() })
    }
}
