//! The digest: what happened to tasks since a moment, each told once, and what waits for whom.

use super::attention::is_overdue;

use super::view::summary;
use super::{Rule, as_of, named, page_rows, room};
use crate::envelope::Call;
use crate::model::attempt::{Attempt, EntryKind, Evidence};
use crate::model::event::{EventKind, StoredEvent};
use crate::model::ids::{EventCursor, EventNumber, TaskId};
use crate::model::limits::PART_BYTES_DEFAULT;
use crate::model::project::{Project, Recovery};
use crate::model::task::{Blocker, BlockerKind};
use crate::model::time::duration;
use crate::operation::digest::{Digest, Happened, Part, TellDigest, Waiting};
use crate::working_set::{Need, Page, Step, WorkingSet, together};

/// What ended a task.
const LANDED: &[EventKind] = &[EventKind::TaskClosed, EventKind::TaskCancelled];
/// What gave it to somebody.
const CLAIMED: &[EventKind] = &[EventKind::TaskClaimed];
/// What else changed it.
const CHANGED: &[EventKind] = &[
    EventKind::TaskCreated,
    EventKind::TaskEdited,
    EventKind::TaskOpened,
    EventKind::TaskDeferred,
    EventKind::TaskResumed,
    EventKind::TaskArchived,
    EventKind::TaskReopened,
    EventKind::DependencyAdded,
    EventKind::DependencyRemoved,
    EventKind::BlockerRaised,
    EventKind::BlockerResolved,
    EventKind::LeaseExpired,
    EventKind::AttemptVoided,
    EventKind::TaskReleased,
    EventKind::TaskHandedOff,
    EventKind::CancelRequested,
];

impl Rule for TellDigest {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![
            Need::Project(self.project.clone()),
            Need::CurrentAttemptsIn(self.project.clone()),
            Need::Page(Page::Before { moment: self.since }),
        ]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Digest> {
        let project = named::project(set, &self.project)?;
        let rows = page_rows(self.limit)?;
        let before = set.page(&Page::Before { moment: self.since })?.events().0;
        let after = before.last().map_or(EventNumber(0), |stored| stored.event.number);
        let part = |kinds| self.part(set, call, kinds, after, rows);
        let (landed, claimed, changed) = (part(LANDED)?, part(CLAIMED)?, part(CHANGED)?);
        let mut waiting = waiting(set, call, &project, rows + 1)?;
        let more_waiting = waiting.len() > rows as usize;
        waiting.truncate(rows as usize);
        let shown = room(&waiting, self.limit, PART_BYTES_DEFAULT);
        let more_waiting = more_waiting || waiting.len() > shown;
        waiting.truncate(shown);
        let after = EventCursor { epoch: call.epoch, number: after };
        let as_of = as_of(set, call);
        Ok(Digest { since: self.since, after, landed, claimed, changed, waiting, more_waiting, as_of })
    }
}

impl TellDigest {
    fn part(
        &self,
        set: &WorkingSet,
        call: &Call,
        kinds: &'static [EventKind],
        after: EventNumber,
        count: u32,
    ) -> Step<Part> {
        let page = Page::Happened { project: self.project.clone(), kinds, after, count };
        let (events, total) = set.page(&page)?.happened();
        let mut tasks = together(events.iter().filter_map(|stored| {
            let task = stored.event.task.as_ref()?;
            Some(happened(set, call, stored, task))
        }))?;
        tasks.truncate(room(&tasks, self.limit, PART_BYTES_DEFAULT));
        Ok(Part { tasks, total })
    }
}

fn happened(set: &WorkingSet, call: &Call, stored: &StoredEvent, task: &TaskId) -> Step<Happened> {
    let event = &stored.event;
    let evidence = if event.kind == EventKind::TaskClosed { evidence(set, task)? } else { None };
    Ok(Happened {
        at: event.wall_time,
        kind: event.kind,
        by: event.actor.principal.clone(),
        task: summary(set, call, task)?,
        evidence,
    })
}

/// Where a finished task's result is, as its completion told.
fn evidence(set: &WorkingSet, task: &TaskId) -> Step<Option<Evidence>> {
    let (completions, _) = set.newest_entries(task, &[EntryKind::Completion], 1)?;
    let told = completions.into_iter().next().map(|entry| entry.data.evidence);
    Ok(told.filter(|evidence| !evidence.is_empty()))
}

/// What waits for somebody: attempts that ended or stand still, then tasks that a typed blocker keeps.
fn waiting(set: &WorkingSet, call: &Call, project: &Project, count: u32) -> Step<Vec<Waiting>> {
    let mut attempts = set.current_attempts_in(&project.key)?;
    attempts.sort_by(|a, b| (a.deadline, &a.id).cmp(&(b.deadline, &b.id)));
    let stuck =
        attempts.iter().filter(|attempt| !attempt.is_live(call.now.fleet) || is_overdue(call, attempt));
    let mut waiting: Vec<Waiting> =
        together(stuck.take(count as usize).map(|attempt| stands_still(set, call, project, attempt)))?;
    let kept = set.page(&Page::Kept { project: project.key.clone(), count })?.tasks().to_vec();
    for tasks in together(kept.iter().map(|id| blocked(set, call, id)))? {
        waiting.extend(tasks);
    }
    waiting.truncate(count as usize);
    Ok(waiting)
}

fn stands_still(set: &WorkingSet, call: &Call, project: &Project, attempt: &Attempt) -> Step<Waiting> {
    let id = &attempt.id.task;
    let (on, because) = if attempt.is_live(call.now.fleet) {
        let silent = duration(call.now.fleet.since_ms(attempt.progress_at));
        (attempt.principal.to_string(), format!("no progress for {silent}"))
    } else {
        let on = match project.policy.recovery {
            Recovery::Auto => "anybody: `tenure claim` takes it over",
            Recovery::Manual => "an operator",
        };
        (on.to_owned(), format!("the attempt of {} expired", attempt.principal))
    };
    Ok(Waiting { task: summary(set, call, id)?, on, because })
}

fn blocked(set: &WorkingSet, call: &Call, id: &TaskId) -> Step<Vec<Waiting>> {
    let open = set.blockers_of(id)?.into_iter().filter(|blocker| blocker.resolved_at.is_none());
    let task = summary(set, call, id)?;
    Ok(open
        .map(|blocker| Waiting { task: task.clone(), on: who(&blocker), because: blocker.reason })
        .collect())
}

/// Who can end a typed blocker.
fn who(blocker: &Blocker) -> String {
    match blocker.kind {
        BlockerKind::HumanDecision | BlockerKind::Permission => "a person".to_owned(),
        BlockerKind::Dependency | BlockerKind::UpstreamRelease => "something outside".to_owned(),
        BlockerKind::Capability => "somebody who offers the capability".to_owned(),
        BlockerKind::DependencyCycle => "somebody who removes an edge of the cycle".to_owned(),
        BlockerKind::VerificationFailure | BlockerKind::Imported => {
            format!("whoever looks: {}", blocker.principal)
        }
    }
}
