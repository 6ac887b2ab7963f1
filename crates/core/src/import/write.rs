//! The rows that new records become. Everything is stored in the import's own write: tasks, names, edges, typed
//! blockers, attempts that are over, and what was written about the work elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::graph::Graph;
use super::plan::Plan;
use super::proposal::{Proposal, ProposedEntry, ProposedRecord, ProposedState};
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptMode, AttemptState, Entry};
use crate::model::event::EventKind;
use crate::model::ids::{AttemptId, Digest, OperationId, PrincipalName, ProjectKey, SessionId, TaskId};
use crate::model::project::{Policy, Project};
use crate::model::task::{Alias, Blocker, BlockerKind, Body, Details, Task, task_digest};
use crate::rules::create::introduce;
use crate::rules::project::found;
use crate::rules::readiness::{count_new, put};
use crate::working_set::{About, Step, WorkingSet};

/// In whose name rows are written. A name in a file proves nothing, so it is always the caller's.
pub(super) struct Importer {
    pub(super) principal: PrincipalName,
    pub(super) session: SessionId,
    pub(super) operation: OperationId,
}

/// Founds the plan's projects and creates the tasks of its new records.
pub(super) fn create(
    set: &mut WorkingSet,
    call: &Call,
    importer: &Importer,
    plan: &Plan<'_>,
    proposal: &Proposal,
) -> Step<()> {
    number(set, call, plan, proposal);
    let edges = plan.new_edges(proposal);
    let in_circle = members(Graph::of(plan.new.iter().copied(), edges.iter().copied()).circles());
    let mut told: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for edge in &edges {
        let stored = plan.stored(edge);
        told.entry(&edge.from).or_default().push(json!({ "kind": stored.kind, "on": stored.on }));
    }
    let mut writer = Writer { set, call, importer };
    for (place, record) in plan.new.iter().enumerate() {
        let id = plan.id(&record.source);
        introduce(writer.set, id);
        writer.task(id, record, plan)?;
        let blockers = writer.blockers(id, record, in_circle.contains(&place));
        let edges = told.remove(record.source.as_str()).unwrap_or_default();
        writer.created(id, record, proposal.tracker, &blockers, &edges);
        for entry in &record.entries {
            writer.entry(id, entry);
        }
    }
    for edge in edges {
        let stored = plan.stored(edge);
        set.dependencies.load_absent((stored.task.clone(), stored.kind, stored.on.clone()));
        set.dependencies.put(stored);
    }
    let ids: BTreeSet<TaskId> = plan.new.iter().map(|record| plan.id(&record.source).clone()).collect();
    count_new(set, call.now, &ids)
}

/// Brings every project to the last of the numbers that its new tasks get.
fn number(set: &mut WorkingSet, call: &Call, plan: &Plan<'_>, proposal: &Proposal) {
    let mut projects = plan.projects.clone();
    for key in &plan.founded {
        let name = proposal.projects.get(key).map_or_else(|| key.to_string(), |project| project.name.clone());
        projects.insert(key.clone(), found(set, call, key, name, Policy::default()));
    }
    let mut issued: BTreeMap<&ProjectKey, u64> = BTreeMap::new();
    for record in &plan.new {
        let TaskId { project, number } = plan.id(&record.source);
        issued.insert(project, *number);
    }
    for (key, tasks_issued) in issued {
        let project = projects.remove(key).expect("new tasks go to the plan's projects");
        set.projects.put(Project { tasks_issued, ..project });
    }
}

/// The places that are in some circle of edges that are really stored. A cycle of the file is none here if one of
/// its members was here already, since that one gets no edge.
fn members(circles: Vec<Vec<usize>>) -> BTreeSet<usize> {
    circles.into_iter().flatten().collect()
}

struct Writer<'a> {
    set: &'a mut WorkingSet,
    call: &'a Call,
    importer: &'a Importer,
}

impl Writer<'_> {
    /// The deciding row, the body, the names there, and the attempt that is over if somebody had begun.
    fn task(&mut self, id: &TaskId, record: &ProposedRecord, plan: &Plan<'_>) -> Step<()> {
        let now = self.call.now;
        let deferred_until = record.deferral.and_then(|deferral| deferral.until_at(now.wall));
        let held = record.state == ProposedState::LeftUnfinished;
        let task = Task {
            id: id.clone(),
            lifecycle: record.state.lifecycle(),
            resolution: record.state.resolution(),
            successor: record.successor.as_ref().map(|source| plan.id(source).clone()),
            kind: record.kind,
            priority: record.priority,
            archived: record.archived,
            revision: 1,
            generation: record.state.generation(),
            held,
            own_blockers: 0,
            outer_blockers: 0,
            inherited_blockers: 0,
            ready_at: now.fleet,
            deferred_until,
            reserved: None,
            requires: record.requires.clone(),
        };
        let created_at = record.created_at.unwrap_or(now.wall);
        let of_deferral = |text: &Option<String>| text.clone().filter(|_| deferred_until.is_some());
        let deferred_reason = of_deferral(&record.details.deferred_reason);
        let deferred_reopening = of_deferral(&record.details.deferred_reopening);
        let body = Body {
            task: id.clone(),
            title: record.title.clone(),
            description: record.description.clone(),
            details: Details { deferred_reason, deferred_reopening, ..record.details.clone() },
            created_at,
            updated_at: record.updated_at.unwrap_or(created_at),
        };
        if held {
            self.attempt(&task, &body);
        }
        put(self.set, now, task)?;
        self.set.bodies.put(body);
        for name in plan.names.get(record.source.as_str()).into_iter().flatten() {
            let alias = (*name).to_owned();
            self.set.aliases.put(Alias { project: id.project.clone(), alias, task: id.clone() });
        }
        Ok(())
    }

    /// The task's current attempt, over from its first moment: whoever claims recovers. Nobody's token fits it.
    fn attempt(&mut self, task: &Task, body: &Body) {
        let now = self.call.now.fleet;
        let id = AttemptId { task: task.id.clone(), generation: task.generation };
        self.set.attempts.load_absent(id.clone());
        self.set.attempts.put(Attempt {
            id,
            session: self.importer.session.clone(),
            principal: self.importer.principal.clone(),
            state: AttemptState::Imported,
            mode: AttemptMode::Fresh,
            current: true,
            token_hash: Digest([0; 32]),
            claim_operation: self.importer.operation.clone(),
            lease_ms: self.call.durations.lease_ms_default,
            deadline: now,
            started_at: now,
            heartbeat_at: now,
            heartbeat_operation: None,
            progress_at: now,
            task_digest: task_digest(task.kind, body),
            recovers: None,
            disposition: None,
            cancel_requested: false,
            ended_at: Some(now),
            reporter: None,
        });
    }

    /// Typed blockers, numbered from 1. Returns the kinds of those that are open. A mark of a circle that is none here is
    /// left out.
    fn blockers(&mut self, id: &TaskId, record: &ProposedRecord, in_circle: bool) -> Vec<BlockerKind> {
        let stands = record.blockers.iter().filter(|blocker| {
            blocker.kind != BlockerKind::DependencyCycle || in_circle || blocker.resolved_at.is_some()
        });
        let mut kinds = Vec::new();
        for (number, blocker) in (1..).zip(stands) {
            kinds.extend(blocker.resolved_at.is_none().then_some(blocker.kind));
            self.set.blockers.load_absent((id.clone(), number));
            self.set.blockers.put(Blocker {
                task: id.clone(),
                number,
                kind: blocker.kind,
                reason: blocker.reason.clone(),
                reopening: blocker.reopening.clone(),
                principal: self.importer.principal.clone(),
                created_at: blocker.created_at.unwrap_or(self.call.now.wall),
                resolved_at: blocker.resolved_at,
            });
        }
        kinds
    }

    /// One event per task says everything that came with it, its texts aside.
    fn created(
        &mut self,
        id: &TaskId,
        record: &ProposedRecord,
        tracker: &str,
        blockers: &[BlockerKind],
        edges: &[Value],
    ) {
        let data = json!({
            "title": record.title,
            "kind": record.kind,
            "planned": record.state == ProposedState::Planned,
            "lifecycle": record.state.lifecycle(),
            "imported": { "from": tracker, "id": record.source, "line": record.line },
            "blockers": blockers,
            "edges": edges,
        });
        self.set.record(EventKind::TaskCreated, About::task(id, data));
    }

    /// A text that was written elsewhere, with its own date. The event is a note's also for a completion: nothing
    /// was completed here now.
    fn entry(&mut self, id: &TaskId, entry: &ProposedEntry) {
        let digest = crate::secret::digest("tenure entry v1", &[entry.text.as_bytes()]);
        let data = json!({ "entry": entry.kind, "text_sha256": digest, "imported": true });
        let number = self.set.record(EventKind::NoteRecorded, About::task(id, data));
        self.set.entries.load_absent(number);
        self.set.entries.put(Entry {
            number,
            task: id.clone(),
            attempt: None,
            kind: entry.kind,
            principal: self.importer.principal.clone(),
            at: entry.at.unwrap_or(self.call.now.wall),
            text: entry.text.clone(),
            data: entry.data.clone(),
        });
    }
}
