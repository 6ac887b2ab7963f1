//! How records look to callers.

use super::attention::is_overdue;
use super::status::status;
use crate::envelope::Call;
use crate::model::attempt::{Attempt, EntryKind};
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::ids::TaskId;
use crate::model::limits::{NEIGHBOURS_SHOWN, RECOVERY_BYTES, RECOVERY_ENTRIES};
use crate::model::reporter::Reporter;
use crate::model::status::Status;
use crate::model::task::{Blocker, Body, Reservation, Task, task_digest};
use crate::operation::view::{
    AttemptView, BlockerView, LeftOut, Neighbour, RecoveryPacket, Relation, ReporterView, TaskSummary,
    TaskView,
};
use crate::working_set::records::Side;
use crate::working_set::{Step, WorkingSet, together};

/// A task in a list.
pub fn summary(set: &WorkingSet, call: &Call, id: &TaskId) -> Step<TaskSummary> {
    let task = set.existing_task(id)?;
    let status = status(set, call.now, &task)?;
    let attempt = set.current_attempt(&task)?.filter(|attempt| attempt.is_live(call.now.fleet));
    let reserved = reserved(call, &task);
    Ok(TaskSummary {
        title: set.body(id)?.title,
        aliases: set.aliases_of(id)?,
        id: task.id,
        status,
        priority: task.priority,
        kind: task.kind,
        holder: attempt.map(|attempt| attempt.principal),
        reserved_for: reserved.map(|reserved| reserved.principal),
    })
}

/// For whom a task is kept at this moment.
fn reserved(call: &Call, task: &Task) -> Option<Reservation> {
    task.reserved.clone().filter(|reserved| !call.now.fleet.has_reached(reserved.until))
}

/// Tasks in a list; what they lack is asked for at once.
pub fn summaries(set: &WorkingSet, call: &Call, ids: &[TaskId]) -> Step<Vec<TaskSummary>> {
    together(ids.iter().map(|id| summary(set, call, id)))
}

/// A task without its relations: what an answer to the holder carries.
pub fn brief(set: &WorkingSet, call: &Call, id: &TaskId) -> Step<TaskView> {
    let task = set.existing_task(id)?;
    let body = set.body(id)?;
    let status = status(set, call.now, &task)?;
    let attempt = set.current_attempt(&task)?.map(|attempt| attempt_view(set, call, &attempt)).transpose()?;
    let reserved = reserved(call, &task);
    Ok(assemble(Task { reserved, ..task }, body, status, attempt))
}

/// A task with everything around it, as far as there is room.
pub fn full(set: &WorkingSet, call: &Call, id: &TaskId) -> Step<TaskView> {
    let mut view = brief(set, call, id)?;
    let (of, on) = (Side::Of(id.clone()), Side::On(id.clone()));
    let sides = DependencyKind::ALL.iter().flat_map(|kind| [(&of, *kind), (&on, *kind)]);
    let around = together(sides.map(|(side, kind)| {
        let (edges, total) = set.neighbours(side, kind, NEIGHBOURS_SHOWN)?;
        Ok(Around { side, kind, edges, total })
    }))?;
    let tasks = together(around.iter().map(|around| match around.shown_in(&mut view) {
        Some(_) => neighbours(set, call, around.side, &around.edges),
        None => Ok(Vec::new()),
    }))?;
    for (around, tasks) in around.iter().zip(tasks) {
        match around.shown_in(&mut view) {
            Some(place) => *place = tasks,
            None => view.relations.extend(around.relations()),
        }
        view.left_out.extend(around.left_out(id));
    }
    view.blockers =
        set.blockers_of(id)?.into_iter().filter(|b| b.resolved_at.is_none()).map(blocker_view).collect();
    view.aliases = set.aliases_of(id)?;
    Ok(view)
}

/// The tasks at the other ends of edges.
pub fn neighbours(set: &WorkingSet, call: &Call, side: &Side, edges: &[Dependency]) -> Step<Vec<Neighbour>> {
    together(edges.iter().map(|edge| {
        let task = set.existing_task(side.other(edge))?;
        let status = status(set, call.now, &task)?;
        Ok(Neighbour { id: task.id, status, optional: edge.optional })
    }))
}

/// The edges of one kind on one side of a task, as many as are shown.
struct Around<'a> {
    side: &'a Side,
    kind: DependencyKind,
    edges: Vec<Dependency>,
    total: u64,
}

impl Around<'_> {
    /// Where a task's view shows these as tasks of their own; nowhere if they block nothing.
    fn shown_in<'v>(&self, view: &'v mut TaskView) -> Option<&'v mut Vec<Neighbour>> {
        match (self.kind, self.side) {
            (DependencyKind::Blocks, Side::Of(_)) => Some(&mut view.waits_for),
            (DependencyKind::Blocks, Side::On(_)) => Some(&mut view.waited_for_by),
            (DependencyKind::Parent, Side::Of(_)) => Some(&mut view.parents),
            (DependencyKind::Parent, Side::On(_)) => Some(&mut view.children),
            (
                DependencyKind::Related
                | DependencyKind::DiscoveredFrom
                | DependencyKind::Duplicates
                | DependencyKind::Supersedes,
                Side::Of(_) | Side::On(_),
            ) => None,
        }
    }

    /// What the relation is called, read from the task.
    fn name(&self) -> &'static str {
        match (self.kind, self.side) {
            (DependencyKind::Blocks, Side::Of(_)) => "waits_for",
            (DependencyKind::Blocks, Side::On(_)) => "waited_for_by",
            (DependencyKind::Parent, Side::Of(_)) => "parents",
            (DependencyKind::Parent, Side::On(_)) => "children",
            (DependencyKind::DiscoveredFrom, Side::On(_)) => "led_to",
            (DependencyKind::Duplicates, Side::On(_)) => "duplicated_by",
            (DependencyKind::Supersedes, Side::On(_)) => "superseded_by",
            (
                DependencyKind::Related
                | DependencyKind::DiscoveredFrom
                | DependencyKind::Duplicates
                | DependencyKind::Supersedes,
                Side::Of(_) | Side::On(_),
            ) => self.kind.as_str(),
        }
    }

    fn relations(&self) -> impl Iterator<Item = Relation> {
        let relation = |edge| Relation { kind: self.name().to_owned(), id: self.side.other(edge).clone() };
        self.edges.iter().map(relation)
    }

    /// What is not shown, and the command that lists it.
    fn left_out(&self, id: &TaskId) -> Option<LeftOut> {
        let count = self.total - self.edges.len() as u64;
        let reverse = match self.side {
            Side::Of(_) => "",
            Side::On(_) => " --reverse",
        };
        let command = format!("tenure dependency list {id} --kind {}{reverse}", self.kind);
        (count > 0).then(|| LeftOut { relation: self.name().to_owned(), count, command })
    }
}

fn assemble(task: Task, body: Body, status: Status, attempt: Option<AttemptView>) -> TaskView {
    let digest = task_digest(task.kind, &body);
    let details = body.details;
    TaskView {
        title: body.title,
        description: body.description,
        criteria: details.criteria,
        status,
        lifecycle: task.lifecycle,
        resolution: task.resolution,
        successor: task.successor,
        kind: task.kind,
        priority: task.priority,
        labels: details.labels,
        aliases: Vec::new(),
        specs: details.specs,
        references: details.references,
        touches: details.touches,
        resources: details.resources,
        source: details.source,
        source_revision: details.source_revision,
        requires: task.requires,
        waits_for: Vec::new(),
        waited_for_by: Vec::new(),
        parents: Vec::new(),
        children: Vec::new(),
        relations: Vec::new(),
        left_out: Vec::new(),
        blockers: Vec::new(),
        deferred_until: task.deferred_until,
        deferred_reason: details.deferred_reason,
        deferred_reopening: details.deferred_reopening,
        reserved: task.reserved,
        attempt,
        revision: task.revision,
        generation: task.generation,
        digest,
        created_at: body.created_at,
        updated_at: body.updated_at,
        imported: details.imported,
        id: task.id,
    }
}

fn blocker_view(blocker: Blocker) -> BlockerView {
    BlockerView {
        number: blocker.number,
        kind: blocker.kind,
        reason: blocker.reason,
        reopening: blocker.reopening,
        raised_by: blocker.principal,
        resolved_at: blocker.resolved_at,
    }
}

/// An attempt at this moment.
pub fn attempt_view(set: &WorkingSet, call: &Call, attempt: &Attempt) -> Step<AttemptView> {
    let now = call.now.fleet;
    let live = attempt.is_live(now);
    let reporter = attempt.reporter.as_ref().map(|id| set.reporter(id)).transpose()?.flatten();
    Ok(AttemptView {
        id: attempt.id.clone(),
        principal: attempt.principal.clone(),
        session: attempt.session.clone(),
        state: attempt.state_at(now),
        mode: attempt.mode,
        deadline: attempt.deadline,
        expires_in_ms: if live { attempt.deadline.since_ms(now) } else { 0 },
        heartbeat_age_ms: now.since_ms(attempt.heartbeat_at).max(0),
        progress_age_ms: now.since_ms(attempt.progress_at).max(0),
        stale: live && is_overdue(call, attempt),
        recovers: attempt.recovers,
        disposition: attempt.disposition,
        cancel_requested: attempt.cancel_requested,
        reporter: reporter.map(|reporter| reporter_view(call, attempt, reporter)),
    })
}

/// A reporter of an attempt, at this moment.
fn reporter_view(call: &Call, attempt: &Attempt, reporter: Reporter) -> ReporterView {
    let now = call.now.fleet;
    let renews = attempt.is_live(now) && reporter.may_renew(now);
    ReporterView {
        reporter: reporter.id,
        watches: reporter.watches,
        until: reporter.until,
        window_ms: if renews { reporter.until.since_ms(now) } else { 0 },
        renewed_age_ms: reporter.renewed_at.map(|at| now.since_ms(at).max(0)),
    }
}

/// What the next one should see of an attempt that expired.
const SAVED_WORK: &[EntryKind] = &[
    EntryKind::Note,
    EntryKind::Checkpoint,
    EntryKind::Handoff,
    EntryKind::RecoveryNote,
    EntryKind::Disposition,
    EntryKind::Intervention,
];

/// What an expired attempt left: its saved work and words, newest first, as far as they fit.
pub fn recovery_packet(set: &WorkingSet, call: &Call, attempt: &Attempt) -> Step<RecoveryPacket> {
    let (mut entries, total) = set.newest_entries(&attempt.id.task, SAVED_WORK, RECOVERY_ENTRIES)?;
    let mut bytes = 0;
    let fits = entries.iter().take_while(|entry| {
        bytes += entry.text.len();
        bytes <= RECOVERY_BYTES
    });
    let fits = fits.count().max(1).min(entries.len());
    let left_out = total.saturating_sub(fits as u64);
    entries.truncate(fits);
    Ok(RecoveryPacket { attempt: attempt_view(set, call, attempt)?, entries, left_out })
}
