//! What a proposal means for a project: which of its records are new, which are here already, and which of those
//! moved on here.
//!
//! A record is here if the project has its source id as an alias. Such a task is never changed by an import: not
//! overwritten, not reopened, given no edge. What is told is that the file says something else.

use std::collections::{BTreeMap, BTreeSet};

use super::proposal::{Proposal, ProposedEdge, ProposedRecord, ProposedState};
use crate::model::dependency::Dependency;
use crate::model::ids::{Generation, TaskId};
use crate::model::project::Project;
use crate::model::task::{Body, Details, Lifecycle, Task};
use crate::model::time::WallTime;
use crate::working_set::{Step, WorkingSet, together};

impl ProposedState {
    /// The stored state that it becomes.
    pub(super) fn lifecycle(self) -> Lifecycle {
        match self {
            Self::Open | Self::LeftUnfinished => Lifecycle::Open,
            Self::Planned => Lifecycle::Planned,
            Self::Done => Lifecycle::Done,
        }
    }

    /// The generation that it starts with: an imported attempt is the first.
    pub(super) fn generation(self) -> Generation {
        match self {
            Self::LeftUnfinished => Generation(1),
            Self::Open | Self::Planned | Self::Done => Generation(0),
        }
    }
}

/// What a proposal means for a project.
pub(super) struct Plan<'a> {
    /// The task of every record, new ones with the number that they will get.
    pub(super) ids: BTreeMap<&'a str, TaskId>,
    /// Records that become tasks, in file order.
    pub(super) new: Vec<&'a ProposedRecord>,
    /// Records that are tasks already.
    pub(super) here: Vec<&'a ProposedRecord>,
}

impl<'a> Plan<'a> {
    /// Looks every record up and numbers the new ones in file order.
    pub(super) fn of(set: &WorkingSet, project: &Project, proposal: &'a Proposal) -> Step<Self> {
        let known = together(proposal.records.iter().map(|record| set.alias(&project.key, &record.source)))?;
        let mut plan = Self { ids: BTreeMap::new(), new: Vec::new(), here: Vec::new() };
        let mut number = project.tasks_issued;
        for (record, alias) in proposal.records.iter().zip(known) {
            let id = match alias {
                Some(alias) => {
                    plan.here.push(record);
                    alias.task
                }
                None => {
                    plan.new.push(record);
                    number += 1;
                    TaskId { project: project.key.clone(), number }
                }
            };
            plan.ids.insert(&record.source, id);
        }
        Ok(plan)
    }

    /// The task of a record of the file.
    pub(super) fn id(&self, source: &str) -> &TaskId {
        self.ids.get(source).expect("a proposal's edges lead from and to its records")
    }

    /// The edges that start at new records: those of the others are not touched.
    pub(super) fn new_edges(&self, proposal: &'a Proposal) -> Vec<&'a ProposedEdge> {
        let new: BTreeSet<&str> = self.new.iter().map(|record| record.source.as_str()).collect();
        proposal.edges.iter().filter(|edge| new.contains(edge.from.as_str())).collect()
    }

    /// An edge as it is stored.
    pub(super) fn stored(&self, edge: &ProposedEdge) -> Dependency {
        Dependency {
            task: self.id(&edge.from).clone(),
            kind: edge.kind,
            on: self.id(&edge.to).clone(),
            optional: false,
        }
    }

    /// The records that are here and of which the file says something else than Tenure.
    pub(super) fn left_alone(
        &self,
        set: &WorkingSet,
        now: WallTime,
        proposal: &Proposal,
    ) -> Step<Vec<String>> {
        let ids = self.here.iter().map(|record| self.id(&record.source));
        together(ids.flat_map(|id| {
            [set.existing_task(id).map(drop), set.body(id).map(drop), set.dependencies_of(id).map(drop)]
        }))?;
        let mut edges: BTreeMap<&str, Vec<Dependency>> = BTreeMap::new();
        for edge in &proposal.edges {
            edges.entry(&edge.from).or_default().push(self.stored(edge));
        }
        let mut left_alone = Vec::new();
        for record in &self.here {
            let id = self.id(&record.source);
            let kept = set.dependencies_of(id)?;
            let said = edges.remove(record.source.as_str()).unwrap_or_default();
            let lacks_edge = said
                .iter()
                .any(|said| !kept.iter().any(|kept| (kept.kind, &kept.on) == (said.kind, &said.on)));
            if lacks_edge || differs(record, &set.existing_task(id)?, &set.body(id)?, now) {
                left_alone.push(record.source.clone());
            }
        }
        Ok(left_alone)
    }
}

/// Whether a task is not what the file would make of its record: somebody claimed, finished, put off or edited it
/// here, or the file is of another day. What is finished on both sides agrees, however it got there.
fn differs(record: &ProposedRecord, task: &Task, body: &Body, now: WallTime) -> bool {
    let said = (record.kind, record.priority, &record.title, &record.description);
    let lists = |details: &Details| {
        let Details { criteria, labels, specs, references, .. } = details.clone();
        (criteria, labels, specs, references)
    };
    let until = record.deferral.and_then(|deferral| deferral.until_at(now));
    let moved = task.lifecycle == Lifecycle::Open
        && (task.generation != record.state.generation()
            || task.deferred_until.filter(|until| *until > now) != until);
    task.lifecycle != record.state.lifecycle()
        || moved
        || said != (task.kind, task.priority, &body.title, &body.description)
        || lists(&record.details) != lists(&body.details)
}
