//! How records look to callers.

use super::attention::is_overdue;
use super::status::status;
use crate::envelope::Call;
use crate::model::attempt::{Attempt, EntryKind};
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::ids::TaskId;
use crate::model::limits::{RECOVERY_BYTES, RECOVERY_ENTRIES};
use crate::model::status::Status;
use crate::model::task::{Blocker, Body, Reservation, Task, task_digest};
use crate::operation::view::{
    AttemptView, BlockerView, Neighbour, RecoveryPacket, Relation, TaskSummary, TaskView,
};
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
    let attempt = set.current_attempt(&task)?.map(|attempt| attempt_view(call, &attempt));
    let reserved = reserved(call, &task);
    Ok(assemble(Task { reserved, ..task }, body, status, attempt))
}

/// A task with everything around it.
pub fn full(set: &WorkingSet, call: &Call, id: &TaskId) -> Step<TaskView> {
    let mut view = brief(set, call, id)?;
    let out = set.dependencies_of(id)?;
    let back = set.dependencies_on(id)?;
    let kinds = |kind| move |edge: &&Dependency| edge.kind == kind;
    let neighbours = |edges: &[Dependency], kind, forward: bool| -> Step<Vec<Neighbour>> {
        together(edges.iter().filter(kinds(kind)).map(|edge| {
            let other = if forward { &edge.on } else { &edge.task };
            let task = set.existing_task(other)?;
            let status = status(set, call.now, &task)?;
            Ok(Neighbour { id: other.clone(), status, optional: edge.optional })
        }))
    };
    view.waits_for = neighbours(&out, DependencyKind::Blocks, true)?;
    view.waited_for_by = neighbours(&back, DependencyKind::Blocks, false)?;
    view.parents = neighbours(&out, DependencyKind::Parent, true)?;
    view.children = neighbours(&back, DependencyKind::Parent, false)?;
    view.relations = relations(&out, &back);
    view.blockers =
        set.blockers_of(id)?.into_iter().filter(|b| b.resolved_at.is_none()).map(blocker_view).collect();
    view.aliases = set.aliases_of(id)?;
    Ok(view)
}

/// Relations that block nothing, read from the task: its own, and those that others have to it.
fn relations(out: &[Dependency], back: &[Dependency]) -> Vec<Relation> {
    let forward = out.iter().filter_map(|edge| {
        let kind = match edge.kind {
            DependencyKind::Related
            | DependencyKind::DiscoveredFrom
            | DependencyKind::Duplicates
            | DependencyKind::Supersedes => edge.kind.as_str(),
            DependencyKind::Blocks | DependencyKind::Parent => return None,
        };
        Some(Relation { kind: kind.to_owned(), id: edge.on.clone() })
    });
    let backward = back.iter().filter_map(|edge| {
        let kind = match edge.kind {
            DependencyKind::Related => "related",
            DependencyKind::DiscoveredFrom => "led_to",
            DependencyKind::Duplicates => "duplicated_by",
            DependencyKind::Supersedes => "superseded_by",
            DependencyKind::Blocks | DependencyKind::Parent => return None,
        };
        Some(Relation { kind: kind.to_owned(), id: edge.task.clone() })
    });
    forward.chain(backward).collect()
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
#[must_use]
pub fn attempt_view(call: &Call, attempt: &Attempt) -> AttemptView {
    let now = call.now.fleet;
    let live = attempt.is_live(now);
    AttemptView {
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
    }
}

/// What the next one should see of an attempt that expired.
const SAVED_WORK: &[EntryKind] = &[
    EntryKind::Note,
    EntryKind::Checkpoint,
    EntryKind::Handoff,
    EntryKind::RecoveryNote,
    EntryKind::Disposition,
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
    Ok(RecoveryPacket { attempt: attempt_view(call, attempt), entries, left_out })
}
