//! A task for a reader.

use tenure_core::model::attempt::Entry;
use tenure_core::model::task::Lifecycle;
use tenure_core::operation::task::{CancelledTask, CreatedTask, TaskAnswer};
use tenure_core::operation::view::{AttemptView, LeftOut, Neighbour, TaskView};

use super::{Page, Show, joined, time};

/// The line that names a task.
pub fn headline(task: &TaskView, page: &mut Page) {
    page.line(&format!("{}  {}", task.id, task.title));
}

/// Everything that a reader may want of a task; what it does not have takes no line.
pub fn whole(task: &TaskView, page: &mut Page) {
    headline(task, page);
    page.field("status", &status(task));
    if let Some(attempt) = &task.attempt {
        page.field("held by", &holder(attempt));
    }
    page.field("waits for", &neighbours(&task.waits_for));
    page.field("waited for", &neighbours(&task.waited_for_by));
    page.field("child of", &neighbours(&task.parents));
    page.field("children", &neighbours(&task.children));
    for relation in &task.relations {
        page.field(&relation.kind, &relation.id.to_string());
    }
    for left_out in &task.left_out {
        let LeftOut { relation, count, command } = left_out;
        page.field("not shown", &format!("{count} of {relation}: `{command}` lists all"));
    }
    for blocker in &task.blockers {
        page.field("blocker", &format!("{} {}: {}", blocker.number, blocker.kind, blocker.reason));
        page.inner("ends when", blocker.reopening.as_deref().unwrap_or_default());
    }
    if let Some(until) = task.deferred_until {
        let reason = task.deferred_reason.as_deref().unwrap_or_default();
        page.field("deferred", &format!("until {}: {reason}", time::moment(until)));
        page.inner("ends when", task.deferred_reopening.as_deref().unwrap_or_default());
    }
    if let Some(reserved) = &task.reserved {
        page.field("kept for", reserved.principal.as_str());
    }
    page.field("requires", &joined(&task.requires));
    page.field("labels", &joined(&task.labels));
    page.field("aliases", &joined(&task.aliases));
    page.field("specs", &joined(&task.specs));
    page.field("references", &joined(&task.references));
    page.field("touches", &joined(&task.touches));
    page.field("resources", &joined(&task.resources));
    if let Some(source) = &task.source {
        let revision = task.source_revision.as_ref().map(|revision| format!(" at {revision}"));
        page.field("source", &format!("{source}{}", revision.unwrap_or_default()));
    }
    for criterion in &task.criteria {
        page.field(&criterion.id, &criterion.text);
    }
    if !task.description.is_empty() {
        page.block(&task.description);
    }
}

fn status(task: &TaskView) -> String {
    let mut text =
        format!("{}, {}, priority {}, revision {}", task.status, task.kind, task.priority, task.revision);
    if let Some(resolution) = task.resolution
        && resolution.as_str() != task.status.as_str()
    {
        text = format!("{text}, {resolution}");
    }
    match &task.successor {
        Some(successor) => format!("{text}, see {successor}"),
        None => text,
    }
}

/// Who holds it and how it goes.
pub fn holder(attempt: &AttemptView) -> String {
    let mut text = format!("{} ({}), {}", attempt.principal, attempt.id, attempt.state);
    if attempt.expires_in_ms > 0 {
        text = format!("{text}, lease ends in {}", time::duration(attempt.expires_in_ms));
    }
    if attempt.stale {
        text = format!("{text}, no progress for {}", time::duration(attempt.progress_age_ms));
    }
    if let Some(job) = attempt.reporter.as_ref().filter(|job| job.window_ms > 0) {
        let seen = job
            .renewed_age_ms
            .map_or("not seen yet".to_owned(), |age| format!("seen {} ago", time::duration(age)));
        text = format!(
            "{text}, {} is watched for another {} ({seen})",
            job.watches,
            time::duration(job.window_ms)
        );
    }
    if attempt.cancel_requested {
        text.push_str(", asked to stop");
    }
    text
}

fn neighbours(tasks: &[Neighbour]) -> String {
    let names: Vec<String> = tasks
        .iter()
        .map(|task| format!("{} ({}{})", task.id, task.status, if task.optional { ", optional" } else { "" }))
        .collect();
    names.join(", ")
}

/// An entry of a task's record.
pub fn entry(entry: &Entry, page: &mut Page) {
    // A name in an imported file proves nothing, so who imported it is told beside it.
    let who = match &entry.data.author {
        Some(author) => format!("{author} (imported by {})", entry.principal),
        None => entry.principal.to_string(),
    };
    page.line(&format!("{} {who} {} #{}", time::moment(entry.at), entry.kind, entry.number));
    recorded(entry, page);
}

/// What an entry says: its words and its evidence.
fn recorded(entry: &Entry, page: &mut Page) {
    if !entry.text.is_empty() {
        page.block(&entry.text);
    }
    let evidence = &entry.data.evidence;
    page.inner("branch", evidence.branch.as_deref().unwrap_or_default());
    page.inner("commit", evidence.commit.as_deref().unwrap_or_default());
    page.inner("merged as", evidence.merge_commit.as_deref().unwrap_or_default());
    page.inner("pull request", evidence.pull_request.as_deref().unwrap_or_default());
    if let Some(tree) = entry.data.tree {
        page.inner("tree", tree.as_str());
    }
    if let Some(disposition) = entry.data.disposition {
        page.inner("decided", disposition.as_str());
    }
    for (criterion, answer) in &entry.data.criteria {
        page.inner(criterion, answer);
    }
}

impl Show for TaskAnswer {
    fn show(&self, page: &mut Page) {
        whole(&self.task, page);
        if self.task.attempt.is_some() {
            // Its holder names it to `tenure reconcile` after a change.
            page.field("digest", &self.task.digest.to_string());
        }
        let is_listed = |ending: &&Entry| self.entries.iter().any(|entry| entry.number == ending.number);
        if let Some(ending) = self.ending.as_ref().filter(|ending| !is_listed(ending)) {
            let how = match self.task.lifecycle {
                Lifecycle::Cancelled => "cancelled by",
                Lifecycle::Planned | Lifecycle::Open | Lifecycle::Done => "closed by",
            };
            page.field(how, &format!("{}, {}", ending.principal, time::moment(ending.at)));
            recorded(ending, page);
        }
        for record in &self.entries {
            entry(record, page);
        }
    }
}

impl Show for CreatedTask {
    fn show(&self, page: &mut Page) {
        headline(&self.task, page);
        page.field("status", self.task.status.as_str());
        page.field("waits for", &neighbours(&self.task.waits_for));
        page.field("maybe same", &joined(&self.likely_duplicates));
    }
}

impl Show for CancelledTask {
    fn show(&self, page: &mut Page) {
        headline(&self.task, page);
        match &self.asked_to_stop {
            Some(holder) => {
                page.line(&format!("{holder} holds it and was asked to stop; nothing else changed"));
            }
            None => page.field("status", &status(&self.task)),
        }
        page.field("cancelled", &joined(&self.also_cancelled));
        page.field("released", &joined(&self.released));
        page.field("still waiting", &joined(&self.kept_waiting));
    }
}
