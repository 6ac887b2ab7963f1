//! Which labels there are.

use super::lookup::parse_of_epoch;
use super::{Rule, as_of, named, page_rows, room};
use crate::envelope::Call;
use crate::model::limits::{PAGE_BYTES_DEFAULT, check_line};
use crate::operation::label::{LabelList, ListLabels};
use crate::working_set::{Need, Page, Step, WorkingSet};

impl Rule for ListLabels {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Project(self.project.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<LabelList> {
        named::project(set, &self.project)?;
        let rows = page_rows(self.limit)?;
        let after = match &self.cursor {
            None => String::new(),
            Some(text) => parse_of_epoch(text, call.epoch, label)?,
        };
        let page = Page::Labels { project: self.project.clone(), after, count: rows + 1 };
        let found = set.page(&page)?.labels();
        let shown = &found[..found.len().min(rows as usize)];
        let shown = &shown[..room(shown, self.limit, PAGE_BYTES_DEFAULT)];
        let last = shown.last().filter(|_| found.len() > shown.len());
        Ok(LabelList {
            cursor: last.map(|last| format!("{}.{}", call.epoch, last.label)),
            labels: shown.to_vec(),
            as_of: as_of(set, call),
        })
    }
}

/// The label at which a page ended.
fn label(text: &str) -> Option<String> {
    check_line("cursor", text).is_ok().then(|| text.to_owned())
}
