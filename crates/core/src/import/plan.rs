//! What a proposal means for this fleet: into which projects its records go, which of them are new, which are here
//! already, and which of those moved on here.
//!
//! A record is here if it is this fleet's own task, or if the project has one of its identities as an alias. Such a task
//! is never changed by an import: not overwritten, not reopened, given no edge. What is told is that the file says
//! something else.

use std::collections::{BTreeMap, BTreeSet};

use super::proposal::{Proposal, ProposedEdge, ProposedRecord};
use crate::model::attempt::EntryKind;
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::ids::{ProjectKey, TaskId};
use crate::model::project::Project;
use crate::model::refusal::Refusal;
use crate::model::task::{Body, Details, Lifecycle, Task};
use crate::model::time::WallTime;
use crate::mutant::Mutant;
use crate::rules::named;
use crate::working_set::{Step, WorkingSet, together};

/// What a proposal means for this fleet.
pub(super) struct Plan<'a> {
    /// The task of every record, new ones with the number that they will get.
    pub(super) ids: BTreeMap<&'a str, TaskId>,
    /// Records that become tasks, in file order.
    pub(super) new: Vec<&'a ProposedRecord>,
    /// Records that are tasks already.
    pub(super) here: Vec<&'a ProposedRecord>,
    /// The projects that records go to, as they are.
    pub(super) projects: BTreeMap<ProjectKey, Project>,
    /// The projects that must be founded first.
    pub(super) founded: BTreeSet<ProjectKey>,
    /// The names that new records get.
    pub(super) names: BTreeMap<&'a str, Vec<&'a str>>,
    /// The names that they do not get, because they mean another task here.
    pub(super) taken: Vec<(&'a str, &'a str)>,
    /// Whether the file is an export of this very fleet.
    is_own: bool,
}

impl<'a> Plan<'a> {
    /// Looks every record up and numbers the new ones of each project in file order.
    pub(super) fn of(set: &WorkingSet, named: Option<&ProjectKey>, proposal: &'a Proposal) -> Step<Self> {
        let homes = homes(named, proposal)?;
        let home = |record: &ProposedRecord| match (named, &record.there) {
            (Some(named), _) => named.clone(),
            (None, Some(there)) => there.id.project.clone(),
            (None, None) => unreachable!("records without a project of their own go to the named one"),
        };
        look_up(set, &homes, home, proposal)?;
        let known = together(homes.iter().map(|key| set.project(key)))?;
        let mut plan = Self {
            ids: BTreeMap::new(),
            new: Vec::new(),
            here: Vec::new(),
            projects: BTreeMap::new(),
            founded: BTreeSet::new(),
            names: BTreeMap::new(),
            taken: Vec::new(),
            is_own: proposal.fleet.as_ref() == Some(&set.fleet.id),
        };
        for (key, found) in homes.iter().zip(known) {
            match found {
                Some(found) => drop(plan.projects.insert(key.clone(), found)),
                None if named.is_some() => drop(named::project(set, key)?),
                None => drop(plan.founded.insert(key.clone())),
            }
        }
        let found = together(proposal.records.iter().map(|record| find(set, &home(record), record)))?;
        let mut issued: BTreeMap<ProjectKey, u64> = BTreeMap::new();
        for (record, found) in proposal.records.iter().zip(found) {
            let id = match found {
                Some(id) => {
                    plan.here.push(record);
                    id
                }
                None => {
                    plan.new.push(record);
                    let key = home(record);
                    let begun =
                        plan.projects.get(&key).map_or(set.fleet.floor, |project| project.tasks_issued);
                    let number = issued.entry(key.clone()).or_insert(begun);
                    *number += 1;
                    TaskId { project: key, number: *number }
                }
            };
            plan.ids.insert(&record.source, id);
        }
        plan.name(set)?;
        Ok(plan)
    }

    /// Gives new records those of their names that mean nothing else in their project.
    fn name(&mut self, set: &WorkingSet) -> Step<()> {
        let wanted = self.new.iter().flat_map(|record| {
            let project = &self.id(&record.source).project;
            record.identities.iter().chain(&record.aliases).map(move |name| (*record, project.clone(), name))
        });
        let wanted: Vec<(&'a ProposedRecord, ProjectKey, &'a String)> = wanted.collect();
        let known = together(wanted.iter().map(|(_, project, name)| set.alias(project, name)))?;
        let mut given = BTreeSet::new();
        for ((record, project, name), known) in wanted.into_iter().zip(known) {
            let is_id = name.parse::<TaskId>().is_ok_and(|id| id.project == project);
            if known.is_none() && !is_id && given.insert((project, name)) {
                self.names.entry(&record.source).or_default().push(name);
            } else {
                self.taken.push((&record.source, name));
            }
        }
        Ok(())
    }

    /// The task of a record of the file.
    pub(super) fn id(&self, source: &str) -> &TaskId {
        self.ids.get(source).expect("a proposal's edges lead from and to its records")
    }

    /// The projects that records go to, known and new ones.
    pub(super) fn homes(&self) -> Vec<&ProjectKey> {
        self.projects.keys().chain(&self.founded).collect()
    }

    /// The records of this fleet's own export that are here, with their tasks.
    pub(super) fn own(&self, set: &WorkingSet) -> Step<Vec<(&'a ProposedRecord, Task)>> {
        if !self.is_own {
            return Ok(Vec::new());
        }
        let tasks = together(self.here.iter().map(|record| set.existing_task(self.id(&record.source))))?;
        Ok(self.here.iter().copied().zip(tasks).collect())
    }

    /// The edges that start at new records, and those by which another task stands in the place of one: edges of the
    /// others are not touched. Each is there once, whichever records turned out to be the same task.
    pub(super) fn new_edges(&self, proposal: &'a Proposal) -> Vec<&'a ProposedEdge> {
        let new: BTreeMap<&str, &ProposedRecord> =
            self.new.iter().map(|record| (record.source.as_str(), *record)).collect();
        let replaces = |edge: &ProposedEdge| {
            let replaced = new.get(edge.to.as_str()).filter(|_| edge.kind == DependencyKind::Supersedes);
            replaced.is_some_and(|record| record.successor.as_ref() == Some(&edge.from))
        };
        let mut seen = BTreeSet::new();
        let edges = proposal.edges.iter().filter(|edge| {
            let is_new = new.contains_key(edge.from.as_str()) || replaces(edge);
            is_new && seen.insert((self.id(&edge.from), edge.kind, self.id(&edge.to)))
        });
        edges.collect()
    }

    /// An edge as it is stored.
    pub(super) fn stored(&self, edge: &ProposedEdge) -> Dependency {
        Dependency {
            task: self.id(&edge.from).clone(),
            kind: edge.kind,
            on: self.id(&edge.to).clone(),
            optional: edge.optional,
        }
    }

    /// The records that are here and of which the file says something else than Tenure.
    pub(super) fn left_alone(
        &self,
        set: &WorkingSet,
        now: WallTime,
        proposal: &Proposal,
    ) -> Step<Vec<String>> {
        together(self.here.iter().flat_map(|record| {
            let id = self.id(&record.source);
            [
                set.existing_task(id).map(drop),
                set.body(id).map(drop),
                set.dependencies_of(id).map(drop),
                self.written(set, record).map(drop),
            ]
        }))?;
        let written = together(self.here.iter().map(|record| self.written(set, record)))?;
        let mut edges: BTreeMap<&str, Vec<Dependency>> = BTreeMap::new();
        for edge in &proposal.edges {
            edges.entry(&edge.from).or_default().push(self.stored(edge));
        }
        let mut left_alone = Vec::new();
        for (record, written) in self.here.iter().zip(written) {
            let id = self.id(&record.source);
            let kept = set.dependencies_of(id)?;
            let said = edges.remove(record.source.as_str()).unwrap_or_default();
            let lacks_edge = said
                .iter()
                .any(|said| !kept.iter().any(|kept| (kept.kind, &kept.on) == (said.kind, &said.on)));
            let lacks_entry = written.is_some_and(|here| here < record.entries.len() as u64);
            let (task, body) = (set.existing_task(id)?, set.body(id)?);
            if lacks_edge || lacks_entry || self.differs(record, &task, &body, now) {
                left_alone.push(record.source.clone());
            }
        }
        Ok(left_alone)
    }

    /// How much is written here of a record of another fleet that says something.
    fn written(&self, set: &WorkingSet, record: &ProposedRecord) -> Step<Option<u64>> {
        if record.there.is_none() || record.entries.is_empty() {
            return Ok(None);
        }
        let (_, total) = set.newest_entries(self.id(&record.source), EntryKind::ALL, 1)?;
        Ok(Some(total))
    }

    /// Whether a task is not what the file would make of its record: somebody claimed, finished, put off or edited it
    /// here, or the file is of another day. What is finished on both sides agrees, however it got there.
    fn differs(&self, record: &ProposedRecord, task: &Task, body: &Body, now: WallTime) -> bool {
        let own = record.there.as_ref().filter(|_| self.is_own);
        let generation = own.map_or(record.state.generation(), |there| there.generation);
        let said = (record.kind, record.priority, &record.title, &record.description);
        let until = record.deferral.and_then(|deferral| deferral.until_at(now));
        let moved = task.lifecycle == Lifecycle::Open
            && (task.generation != generation || task.deferred_until.filter(|until| *until > now) != until);
        task.lifecycle != record.state.lifecycle()
            || moved
            || said != (task.kind, task.priority, &body.title, &body.description)
            || lists(&record.details) != lists(&body.details)
            || own.is_some_and(|there| there.revision != task.revision)
            || (record.there.is_some() && differs_further(record, task, body))
    }
}

/// What a task must be known by, its texts aside.
fn lists(details: &Details) -> impl PartialEq + use<> {
    let Details { criteria, labels, specs, references, .. } = details.clone();
    (criteria, labels, specs, references)
}

/// Fields that only another fleet knows: no other tracker has them.
fn differs_further(record: &ProposedRecord, task: &Task, body: &Body) -> bool {
    let said = &record.details;
    let is_over = |resolution| Some(resolution) != record.state.resolution();
    task.resolution.is_some_and(is_over)
        || task.archived != record.archived
        || task.requires != record.requires
        || (&said.touches, &said.resources) != (&body.details.touches, &body.details.resources)
        || (&said.source, &said.source_revision) != (&body.details.source, &body.details.source_revision)
}

/// The projects that the records go to: the one that is named, or those that the file brings.
fn homes(named: Option<&ProjectKey>, proposal: &Proposal) -> Result<Vec<ProjectKey>, Refusal> {
    match named {
        Some(_) if proposal.projects.len() > 1 => {
            let wrong = format!("is named, and the file has {} projects", proposal.projects.len());
            let remedy = "leave it out, so that each keeps its key, or export one project";
            Err(Refusal::field("project", &wrong, remedy))
        }
        Some(named) => Ok(vec![named.clone()]),
        None if proposal.fleet.is_none() => {
            Err(Refusal::field("project", "is missing", "name the project to import into"))
        }
        None => Ok(proposal.projects.keys().cloned().collect()),
    }
}

/// Asks for everything that the comparison looks at, at once: a rule that stops reads the whole file again.
fn look_up(
    set: &WorkingSet,
    homes: &[ProjectKey],
    home: impl Fn(&ProposedRecord) -> ProjectKey,
    proposal: &Proposal,
) -> Step<()> {
    let projects = homes.iter().flat_map(|key| [set.project(key).map(drop), set.tallies_of(key).map(drop)]);
    let records = proposal.records.iter().flat_map(|record| {
        let project = home(record);
        let own = own_ids(set, record).into_iter().map(|id| set.task(&id).map(drop));
        let names = record.identities.iter().chain(&record.aliases);
        let names = names.map(|name| set.alias(&project, name).map(drop));
        own.chain(names).collect::<Vec<_>>()
    });
    together(projects.chain(records)).map(drop)
}

/// The tasks of this very fleet that a record of another one once was.
fn own_ids(set: &WorkingSet, record: &ProposedRecord) -> Vec<TaskId> {
    let own = |identity: &String| -> Option<TaskId> {
        let (fleet, id) = identity.split_once('/').filter(|_| record.there.is_some())?;
        id.parse().ok().filter(|_| fleet == set.fleet.id && !Mutant::OwnIsForeign.is_on())
    };
    record.identities.iter().filter_map(own).collect()
}

/// The task that a record is already: this fleet's own, or the one that the project knows by an identity of it.
fn find(set: &WorkingSet, project: &ProjectKey, record: &ProposedRecord) -> Step<Option<TaskId>> {
    let ids = own_ids(set, record);
    let tasks = together(ids.iter().map(|id| set.task(id)))?;
    if let Some(task) = tasks.into_iter().flatten().next() {
        return Ok(Some(task.id));
    }
    let aliases = together(record.identities.iter().map(|identity| set.alias(project, identity)))?;
    Ok(aliases.into_iter().flatten().next().map(|alias| alias.task))
}
