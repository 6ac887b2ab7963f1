//! Which commits a body of work landed in: completions tell it, and what they do not tell is counted.

use std::collections::BTreeSet;

use super::fields::check_lines;
use super::lookup::parse_of_epoch;
use super::{Rule, as_of, named, page_rows, room};
use crate::envelope::Call;
use crate::model::ids::{EventNumber, TaskId, counter};
use crate::model::limits::{LIST_ITEMS, PAGE_BYTES_DEFAULT, check_count};
use crate::model::refusal::Refusal;
use crate::operation::commits::{CommitList, Landed, ListCommits};
use crate::working_set::{Chosen, Completion, Need, Page, Step, WorkingSet, together};

impl Rule for ListCommits {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        let tasks = self.tasks.iter().chain(&self.objective).cloned().map(Need::Task);
        tasks.chain(self.project.clone().map(Need::Project)).collect()
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<CommitList> {
        let of = self.chosen()?;
        match &of {
            Chosen::Labelled(key, _) => named::project(set, key).map(drop)?,
            Chosen::Below(id) => set.existing_task(id).map(drop)?,
            Chosen::Named(ids) => together(ids.iter().map(|id| set.existing_task(id))).map(drop)?,
        }
        let rows = page_rows(self.limit)?;
        let after = self.cursor.as_deref().map(|text| parse_of_epoch(text, call.epoch, place)).transpose()?;
        let page = Page::Completions { of, missing: self.missing, after, count: rows + 1 };
        let (found, counts) = set.page(&page)?.completions();
        let shown = &found[..found.len().min(rows as usize)];
        let mut commits = together(shown.iter().map(|completion| landed(set, completion)))?;
        commits.truncate(room(&commits, self.limit, PAGE_BYTES_DEFAULT));
        let last = found[..commits.len()].last().filter(|_| found.len() > commits.len());
        Ok(CommitList {
            cursor: last.map(|last| format!("{}.{}.{}", call.epoch, last.number(), last.task)),
            commits,
            landed: counts.landed,
            missing: counts.missing,
            unfinished: counts.unfinished,
            cancelled: counts.cancelled,
            as_of: as_of(set, call),
        })
    }
}

impl ListCommits {
    /// The tasks that are meant: by exactly one of the ways to choose them.
    fn chosen(&self) -> Result<Chosen, Refusal> {
        let ways = "name a label, an objective or tasks";
        let tasks: BTreeSet<TaskId> = self.tasks.iter().cloned().collect();
        match (&self.label, &self.objective, tasks.is_empty()) {
            (Some(label), None, true) => {
                check_lines("label", std::slice::from_ref(label))?;
                let unknown = || Refusal::field("project", "is missing", "name the project of the label");
                Ok(Chosen::Labelled(self.project.clone().ok_or_else(unknown)?, label.clone()))
            }
            (None, Some(objective), true) => Ok(Chosen::Below(objective.clone())),
            (None, None, false) => {
                check_count("tasks", tasks.len(), LIST_ITEMS)?;
                Ok(Chosen::Named(tasks.into_iter().collect()))
            }
            (None, None, true) => Err(Refusal::field("the question", "chooses no tasks", ways)),
            (_, _, _) => Err(Refusal::field("the question", "chooses tasks in several ways", "choose one")),
        }
    }
}

fn landed(set: &WorkingSet, completion: &Completion) -> Step<Landed> {
    let task = completion.task.clone();
    let entry = completion.entry.map(|number| set.entry(&number)).transpose()?;
    let title = set.body(&task)?.title;
    let (at, by) =
        (entry.as_ref().map(|entry| entry.at), entry.as_ref().map(|entry| entry.principal.clone()));
    let evidence = entry.map(|entry| entry.data.evidence).unwrap_or_default();
    Ok(Landed { task, title, commit: evidence.landed_in().map(str::to_owned), evidence, at, by })
}

/// The completion at which a page ended.
fn place(text: &str) -> Option<(EventNumber, TaskId)> {
    let (number, task) = text.split_once('.')?;
    Some((EventNumber(counter(number)?), task.parse().ok()?))
}
