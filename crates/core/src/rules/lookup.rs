//! Tasks looked up: one by its id or another name, many in a list.

use std::collections::BTreeSet;

use super::fields::check_lines;
use super::view::{full, neighbours, summaries};
use super::{Rule, as_of, named, page_rows, room};
use crate::envelope::Call;
use crate::model::attempt::EntryKind;
use crate::model::ids::{Epoch, TaskId, counter};
use crate::model::limits::{PAGE_BYTES_DEFAULT, check_line};
use crate::model::refusal::Refusal;
use crate::model::task::{Lifecycle, Queue};
use crate::operation::graph::{DependencyList, ListDependencies};
use crate::operation::task::{FindTask, ListTasks, ShowTask, TaskAnswer, TaskList};
use crate::working_set::records::Side;
use crate::working_set::{Need, Page, Step, WorkingSet};

impl Rule for ShowTask {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        let id = &self.task;
        vec![
            Need::Task(id.clone()),
            Need::Body(id.clone()),
            Need::AliasesOf(id.clone()),
            Need::Blockers(id.clone()),
        ]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        let task = full(set, call, &self.task)?;
        let entries = match self.entries {
            None => Vec::new(),
            Some(_) => {
                let rows = page_rows(self.entries)?;
                set.newest_entries(&self.task, EntryKind::ALL, rows)?.0
            }
        };
        let ending = if task.lifecycle.is_finished() {
            set.newest_entries(&self.task, &[EntryKind::Completion], 1)?.0.pop()
        } else {
            None
        };
        Ok(TaskAnswer { task, ending, entries })
    }
}

impl Rule for ListTasks {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskList> {
        check_lines("labels", &self.labels)?;
        named::project(set, &self.project)?;
        let rows = page_rows(self.limit)?;
        let after = self.cursor.as_deref().map_or(Ok(0), |text| parse_cursor(text, call.epoch))?;
        let page = self.page(after, rows + 1);
        let found = set.page(&page)?.tasks();
        let mut tasks = summaries(set, call, &found[..found.len().min(rows as usize)])?;
        tasks.truncate(room(&tasks, self.limit, PAGE_BYTES_DEFAULT));
        let last = tasks.last().filter(|_| found.len() > tasks.len());
        let cursor = last.map(|last| format!("{}.{}", call.epoch, last.id.number));
        Ok(TaskList { tasks, cursor, as_of: as_of(set, call) })
    }
}

impl ListTasks {
    fn page(&self, after: u64, count: u32) -> Page {
        let (project, queues) = (self.project.clone(), queues(self.lifecycle, self.archived));
        if self.labels.is_empty() {
            return Page::Tasks { project, queues, after, count };
        }
        // Each once, so that the same question has one text.
        let labels = self.labels.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        Page::Labelled { project, labels, queues, after, count }
    }
}

/// The queues in which the tasks of a stored state stand, or all that are not put away.
pub fn queues(lifecycle: Option<Lifecycle>, archived: bool) -> Vec<Queue> {
    let open = [Queue::Held, Queue::Blocked, Queue::Deferred, Queue::Objective, Queue::Ready];
    let mut queues = match lifecycle {
        None => [open.as_slice(), &[Queue::Planned, Queue::Done, Queue::Cancelled]].concat(),
        Some(Lifecycle::Open) => open.to_vec(),
        Some(Lifecycle::Planned) => vec![Queue::Planned],
        Some(Lifecycle::Done) => vec![Queue::Done],
        Some(Lifecycle::Cancelled) => vec![Queue::Cancelled],
    };
    if archived {
        queues.push(Queue::Archived);
    }
    queues.sort_unstable();
    queues
}

impl Rule for ListDependencies {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Task(self.task.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<DependencyList> {
        set.existing_task(&self.task)?;
        let rows = page_rows(self.limit)?;
        let after = self.cursor.as_deref().map(|text| parse_neighbour(text, call.epoch)).transpose()?;
        let id = self.task.clone();
        let side = if self.reverse { Side::On(id) } else { Side::Of(id) };
        let page = Page::Edges { side: side.clone(), kind: self.kind, after, count: rows + 1 };
        let (edges, total) = set.page(&page)?.edges();
        let shown = &edges[..edges.len().min(rows as usize)];
        let last = shown.last().filter(|_| edges.len() > shown.len());
        Ok(DependencyList {
            cursor: last.map(|edge| format!("{}.{}", call.epoch, side.other(edge))),
            tasks: neighbours(set, call, &side, shown)?,
            total,
            as_of: as_of(set, call),
        })
    }
}

/// The task at which a page of neighbours ended.
fn parse_neighbour(text: &str, epoch: Epoch) -> Result<TaskId, Refusal> {
    parse_of_epoch(text, epoch, |id| id.parse().ok())
}

fn parse_cursor(text: &str, epoch: Epoch) -> Result<u64, Refusal> {
    parse_of_epoch(text, epoch, counter)
}

/// A place in a list, behind the epoch that it belongs to.
pub fn parse_of_epoch<T>(text: &str, epoch: Epoch, place: impl Fn(&str) -> Option<T>) -> Result<T, Refusal> {
    let wrong = || Refusal::field("cursor", "is not one that this list gave", "start without a cursor");
    let (of, text) = text.split_once('.').ok_or_else(wrong)?;
    let then = Epoch(counter(of).ok_or_else(wrong)?);
    if then != epoch {
        return Err(Refusal::restored("the cursor", then.0, epoch.0).next("read the list from its beginning"));
    }
    place(text).ok_or_else(wrong)
}

impl Rule for FindTask {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TaskAnswer> {
        check_line("alias", &self.alias)?;
        named::project(set, &self.project)?;
        match set.alias(&self.project, &self.alias)? {
            Some(alias) => {
                Ok(TaskAnswer { task: full(set, call, &alias.task)?, ending: None, entries: Vec::new() })
            }
            None => {
                let alias = crate::model::limits::excerpt(&self.alias);
                let what = format!("task in {} with the alias", self.project);
                Err(Refusal::not_found(&what, alias).into())
            }
        }
    }
}
