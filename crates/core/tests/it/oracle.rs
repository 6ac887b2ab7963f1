//! Readiness by naive recursion over raw rows: shares no code with the rules that it judges.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::ids::TaskId;
use tenure_core::model::task::{Kind, Lifecycle, Task};
use tenure_core::model::time::Now;
use tenure_core::working_set::WorkingSet;

/// The graph as plain maps.
pub struct Oracle {
    tasks: BTreeMap<TaskId, Task>,
    waits: BTreeSet<(TaskId, TaskId)>,
    parents: BTreeSet<(TaskId, TaskId)>,
    blocked: BTreeSet<TaskId>,
    now: Now,
}

impl Oracle {
    pub fn of(set: &WorkingSet, now: Now) -> Self {
        let edges = |kind| {
            let of_kind = set.dependencies.rows().filter(move |edge| edge.kind == kind);
            of_kind.map(|edge| (edge.task.clone(), edge.on.clone())).collect()
        };
        Self {
            tasks: set.tasks.rows().map(|task| (task.id.clone(), task.clone())).collect(),
            waits: edges(DependencyKind::Blocks),
            parents: edges(DependencyKind::Parent),
            blocked: set
                .blockers
                .rows()
                .filter(|b| b.resolved_at.is_none())
                .map(|b| b.task.clone())
                .collect(),
            now,
        }
    }

    pub fn ids(&self) -> Vec<TaskId> {
        self.tasks.keys().cloned().collect()
    }

    fn done(&self, id: &TaskId) -> bool {
        let task = &self.tasks[id];
        match (task.lifecycle, &task.successor) {
            (Lifecycle::Done, _) => true,
            (Lifecycle::Cancelled, Some(successor)) => self.done(successor),
            (Lifecycle::Cancelled | Lifecycle::Planned | Lifecycle::Open, _) => false,
        }
    }

    fn place(&self, id: &TaskId) -> TaskId {
        let task = &self.tasks[id];
        match (task.lifecycle, &task.successor) {
            (Lifecycle::Cancelled, Some(successor)) => self.place(successor),
            (Lifecycle::Done | Lifecycle::Cancelled | Lifecycle::Planned | Lifecycle::Open, _) => id.clone(),
        }
    }

    fn below(&self, root: &TaskId, id: &TaskId) -> bool {
        let mut children = self.parents.iter().filter(|(_, parent)| parent == root).map(|(child, _)| child);
        children.any(|child| child == id || self.below(child, id))
    }

    /// Whether blockers of a task stand in the way of its children.
    fn passes_down(&self, id: &TaskId) -> bool {
        let mut outside = self.waits.iter().filter(|(task, on)| {
            task == id && !self.done(on) && self.place(on) != *id && !self.below(id, &self.place(on))
        });
        self.blocked.contains(id) || outside.next().is_some()
    }

    fn above_is_free(&self, id: &TaskId) -> bool {
        let mut parents = self.parents.iter().filter(|(child, _)| child == id).map(|(_, parent)| parent);
        parents.all(|parent| {
            let over = matches!(self.tasks[parent].lifecycle, Lifecycle::Done | Lifecycle::Cancelled);
            (over || !self.passes_down(parent)) && self.above_is_free(parent)
        })
    }

    /// Whether a task can be claimed as fresh work.
    pub fn ready(&self, id: &TaskId) -> bool {
        let task = &self.tasks[id];
        task.lifecycle == Lifecycle::Open
            && task.kind != Kind::Objective
            && !task.held
            && !self.put_off(task)
            && self.unblocked(id)
    }

    /// Whether an objective has nothing left to wait for.
    pub fn only_waits_to_be_closed(&self, id: &TaskId) -> bool {
        let task = &self.tasks[id];
        let mut children = self.parents.iter().filter(|(_, parent)| parent == id).map(|(child, _)| child);
        task.kind == Kind::Objective
            && task.lifecycle == Lifecycle::Open
            && self.unblocked(id)
            && children.all(|child| self.tasks[child].lifecycle.is_finished())
    }

    fn put_off(&self, task: &Task) -> bool {
        task.deferred_until.is_some_and(|until| until > self.now.wall)
    }

    /// Whether neither its own nor its ancestors' blockers stand in its way.
    pub fn unblocked(&self, id: &TaskId) -> bool {
        let mut own =
            self.waits.iter().filter(|(task, on)| task == id && !self.done(on) && self.place(on) != *id);
        own.next().is_none() && !self.blocked.contains(id) && self.above_is_free(id)
    }

    /// Plays the graph to its end as if everybody worked, everything was offered, every deferral and typed blocker
    /// ended and every cancelled blocker was let go. Returns what can never be finished.
    pub fn stuck(mut self) -> BTreeSet<TaskId> {
        self.blocked.clear();
        let tasks = self.tasks.clone();
        self.waits.retain(|(_, on)| {
            let mut at = on;
            while let (Lifecycle::Cancelled, Some(next)) = (tasks[at].lifecycle, &tasks[at].successor) {
                at = next;
            }
            tasks[at].lifecycle != Lifecycle::Cancelled
        });
        loop {
            let finishable = self.tasks.keys().find(|id| {
                let open = !self.tasks[*id].lifecycle.is_finished();
                let children = self.parents.iter().filter(|(_, parent)| parent == *id);
                open && self.unblocked(id)
                    && children.into_iter().all(|(child, _)| self.tasks[child].lifecycle.is_finished())
            });
            let Some(id) = finishable.cloned() else { break };
            self.tasks.get_mut(&id).expect("it is there").lifecycle = Lifecycle::Done;
        }
        self.tasks.values().filter(|task| !task.lifecycle.is_finished()).map(|task| task.id.clone()).collect()
    }

    /// The same after one more edge.
    pub fn with_edge(mut self, kind: DependencyKind, task: &TaskId, on: &TaskId) -> Self {
        let edges = if kind == DependencyKind::Blocks { &mut self.waits } else { &mut self.parents };
        edges.insert((task.clone(), on.clone()));
        self
    }

    /// Whether the parent edges alone go round in a circle, which the recursion above could not survive.
    pub fn parents_go_round(&self) -> bool {
        let mut left: BTreeSet<&TaskId> = self.tasks.keys().collect();
        loop {
            let leaf = left
                .iter()
                .find(|id| !self.parents.iter().any(|(child, p)| p == **id && left.contains(child)));
            match leaf.copied() {
                Some(leaf) => left.remove(leaf),
                None => return !left.is_empty(),
            };
        }
    }
}
