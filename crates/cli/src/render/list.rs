//! Lists: tasks, projects, sessions, and what can be done.

use std::collections::BTreeMap;

use tenure_core::model::limits::counted;
use tenure_core::model::task::LabelCount;
use tenure_core::operation::graph::DependencyList;
use tenure_core::operation::label::LabelList;
use tenure_core::operation::project::{BindingAnswer, ProjectAnswer, ProjectList, ProjectView};
use tenure_core::operation::queue::{Explanation, NextStep, ReadyList};
use tenure_core::operation::record::Counts;
use tenure_core::operation::session::{SessionAnswer, SessionList, SessionView};
use tenure_core::operation::task::TaskList;
use tenure_core::operation::view::TaskSummary;
use tenure_core::operation::wait::Waited;

use super::{Page, Show, brief, joined, task, time};

const NO_PROJECTS: &str = "no projects; create one with `tenure init KEY` or `tenure project create KEY`";

/// Tasks in a table.
pub fn tasks(rows: &[TaskSummary], page: &mut Page) {
    let rows: Vec<_> = rows
        .iter()
        .map(|task| {
            let holder = task.holder.as_ref().map(ToString::to_string).unwrap_or_default();
            [
                task.id.to_string(),
                task.priority.to_string(),
                task.status.to_string(),
                holder,
                task.title.clone(),
            ]
        })
        .collect();
    if rows.iter().all(|row| row[3].is_empty()) {
        let rows: Vec<_> =
            rows.into_iter().map(|[id, priority, status, _, title]| [id, priority, status, title]).collect();
        page.table(["TASK", "PRIORITY", "STATUS", "TITLE"], &rows);
    } else {
        page.table(["TASK", "PRIORITY", "STATUS", "HOLDER", "TITLE"], &rows);
    }
}

/// Counts as `3 blocked, 1 in_progress`.
pub fn counts(counts: &BTreeMap<String, u64>) -> String {
    counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The same of a project, which may have none.
fn tasks_of(tasks: &BTreeMap<String, u64>) -> String {
    let counted = counts(tasks);
    if counted.is_empty() { "no tasks".to_owned() } else { counted }
}

impl Show for ReadyList {
    fn show(&self, page: &mut Page) {
        if self.tasks.is_empty() {
            page.line("nothing is ready");
            page.field("not ready", &counts(&self.reasons));
            page.field("next", self.next.as_deref().unwrap_or_default());
            return;
        }
        tasks(&self.tasks, page);
        page.goes_on(&format!("{} of {}", self.tasks.len(), self.total), self.cursor.as_deref());
    }
}

impl Show for TaskList {
    fn show(&self, page: &mut Page) {
        if self.tasks.is_empty() {
            page.line(match page.narrowed(&["--label", "-l", "--lifecycle"]) {
                true => "no such tasks; `tenure task list` shows those of every kind",
                false => "no tasks; `tenure task create --title TEXT` writes one down",
            });
            return;
        }
        tasks(&self.tasks, page);
        page.goes_on(&self.tasks.len().to_string(), self.cursor.as_deref());
    }
}

impl Show for LabelList {
    fn show(&self, page: &mut Page) {
        if self.labels.is_empty() {
            page.line("no labels; `tenure task create --title TEXT --label NAME` gives one");
            return;
        }
        let row = |label: &LabelCount| {
            [label.unfinished.to_string(), label.finished.to_string(), label.label.clone()]
        };
        page.table(["UNFINISHED", "FINISHED", "LABEL"], &self.labels.iter().map(row).collect::<Vec<_>>());
        page.goes_on(&self.labels.len().to_string(), self.cursor.as_deref());
    }
}

impl Show for Waited {
    fn show(&self, page: &mut Page) {
        tasks(std::slice::from_ref(&self.task), page);
        page.field("next", &self.next);
    }
}

impl Show for DependencyList {
    fn show(&self, page: &mut Page) {
        if self.tasks.is_empty() {
            page.line("no tasks; `tenure dependency add` says that one waits for another");
            return;
        }
        let optional = |is| if is { "optional" } else { "" };
        let rows: Vec<_> = self
            .tasks
            .iter()
            .map(|task| [task.id.to_string(), task.status.to_string(), optional(task.optional).to_owned()])
            .collect();
        page.table(["TASK", "STATUS", ""], &rows);
        page.goes_on(&format!("{} of {}", self.tasks.len(), self.total), self.cursor.as_deref());
    }
}

impl Show for Explanation {
    fn show(&self, page: &mut Page) {
        let ready = if self.ready { "can be claimed" } else { "cannot be claimed" };
        page.line(&format!("{} is {} and {ready}", self.task, self.status));
        page.line(&self.reason);
        // The first step is the task itself, which the headline has named.
        for step in self.chain.iter().skip(1) {
            page.line(&format!("  {} ({}): {}", step.task, step.status, step.because));
        }
        page.field("next", &self.next);
    }
}

impl Show for NextStep {
    fn show(&self, page: &mut Page) {
        page.line(&self.do_now);
        if let Some(command) = &self.command {
            page.line(&format!("  {command}"));
        }
        if let Some(attempt) = &self.attempt {
            page.field("lease", &task::holder(attempt));
        }
        page.field("not ready", &counts(&self.reasons));
    }
}

fn project(project: &ProjectView, page: &mut Page) {
    page.line(&format!("{}  {}", project.key, project.name));
    let policy = &project.policy;
    let mut text = format!("{} workflow, {} recovery", policy.workflow, policy.recovery);
    if let Some(lease_ms) = policy.lease_ms {
        text = format!("{text}, leases of {}", time::duration(lease_ms));
    }
    if let Some(most) = policy.attempts_max {
        text = format!("{text}, at most {} at once", counted(most, "attempt"));
    }
    if let Some(most) = policy.attempts_per_principal_max {
        text = format!("{text}, at most {most} of one agent");
    }
    page.field("policy", &text);
    page.field("agents set", &joined(&project.agents_may));
    page.field("revision", &project.revision.to_string());
    page.field("tasks", &counts(&project.tasks));
}

impl Show for ProjectAnswer {
    fn show(&self, page: &mut Page) {
        project(&self.project, page);
    }
}

impl Show for ProjectList {
    fn show(&self, page: &mut Page) {
        if self.projects.is_empty() {
            page.line(NO_PROJECTS);
            return;
        }
        let rows: Vec<_> = self
            .projects
            .iter()
            .map(|project| [project.key.to_string(), brief(&project.name), tasks_of(&project.tasks)])
            .collect();
        page.table(["PROJECT", "NAME", "TASKS"], &rows);
        page.goes_on(&rows.len().to_string(), self.cursor.as_deref());
    }
}

impl Show for BindingAnswer {
    fn show(&self, page: &mut Page) {
        let binding = &self.binding;
        let folder =
            if binding.folder.is_empty() { String::new() } else { format!(", folder {}", binding.folder) };
        page.line(&format!("{} is the project of {}{folder}", binding.project, binding.repository));
    }
}

fn session(session: &SessionView, page: &mut Page) {
    page.line(&format!("{}  {}", session.name, session.handle));
    let state = match (session.open, session.present) {
        (true, true) => "present",
        (true, false) => "not heard of lately",
        (false, _) => "closed",
    };
    page.field("state", &format!("{state}, opened {}", time::moment(session.opened_at)));
    page.field("id", session.id.as_str());
    page.field("started by", session.parent.as_ref().map_or("", |id| id.as_str()));
    page.field("harness", session.harness.as_deref().unwrap_or_default());
    page.field("workstation", session.workstation.as_deref().unwrap_or_default());
    page.field("offers", &joined(&session.capabilities));
    page.field("holds", &joined(&session.holds));
}

impl Show for SessionAnswer {
    fn show(&self, page: &mut Page) {
        session(&self.session, page);
    }
}

impl Show for SessionList {
    fn show(&self, page: &mut Page) {
        if self.sessions.is_empty() {
            page.line("no open sessions; `tenure session open` opens one");
            return;
        }
        let rows: Vec<_> = self
            .sessions
            .iter()
            .map(|session| {
                let present = if session.present { "yes" } else { "no" };
                [
                    session.name.to_string(),
                    present.to_owned(),
                    session.handle.to_string(),
                    joined(&session.holds),
                ]
            })
            .collect();
        page.table(["NAME", "PRESENT", "HANDLE", "HOLDS"], &rows);
        let shown = self.sessions.len();
        if let Some(all) = page.all_of(u64::MAX, shown).filter(|_| self.more) {
            page.line(&format!("{shown} shown; more: {all}"));
        }
    }
}

impl Show for Counts {
    fn show(&self, page: &mut Page) {
        if self.projects.is_empty() {
            page.line(NO_PROJECTS);
        }
        for (project, tasks) in &self.projects {
            page.field(project, &tasks_of(tasks));
        }
        page.goes_on(&self.projects.len().to_string(), self.cursor.as_deref());
        page.field("events", &self.events.to_string());
    }
}
