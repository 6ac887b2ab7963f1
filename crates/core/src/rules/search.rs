//! Finding tasks by their texts: the store tells which tasks answer and in which order, the rule what to show of each.

use super::lookup::queues;
use super::view::summary;
use super::{Rule, as_of, named, room, rows_within};
use crate::envelope::Call;
use crate::model::attempt::EntryKind;
use crate::model::limits::{FOUND_ROWS, PAGE_BYTES_DEFAULT};
use crate::operation::search::{FoundIn, FoundList, FoundTask, Search};
use crate::search::excerpt::{Excerpt, excerpt};
use crate::search::query::Query;
use crate::working_set::{Found, Need, Page, Step, WorkingSet, together};

impl Rule for Search {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        self.project.clone().map(Need::Project).into_iter().collect()
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<FoundList> {
        let query = Query::read(&self.query)?;
        let count = rows_within(self.limit, FOUND_ROWS, "say more precisely what to look for")?;
        if let Some(key) = &self.project {
            named::project(set, key)?;
        }
        let queues = queues(self.lifecycle, self.archived);
        let page = Page::Found { query: query.clone(), project: self.project.clone(), queues, count };
        let (found, total) = set.page(&page)?.found();
        let mut tasks = together(found.iter().map(|found| shown(set, call, found, &query)))?;
        tasks.truncate(room(&tasks, self.limit, PAGE_BYTES_DEFAULT));
        Ok(FoundList { tasks, total, as_of: as_of(set, call) })
    }
}

/// A task that was found, with the text that answers best.
fn shown(set: &WorkingSet, call: &Call, found: &Found, query: &Query) -> Step<FoundTask> {
    let (found_in, excerpt) = match found.entry {
        Some(number) => {
            let entry = set.entry(&number)?;
            (place(entry.kind), excerpt(&entry.text, query))
        }
        None => {
            let body = set.body(&found.task)?;
            let (title, description) = (excerpt(&body.title, query), excerpt(&body.description, query));
            let answered = |part: &Option<Excerpt>| part.as_ref().map_or(0, |part| part.answered);
            if answered(&description) > answered(&title) {
                (FoundIn::Description, description)
            } else {
                (FoundIn::Title, title)
            }
        }
    };
    let excerpt = excerpt.map(|excerpt| excerpt.pieces).unwrap_or_default();
    Ok(FoundTask { task: summary(set, call, &found.task)?, found_in, entry: found.entry, excerpt })
}

/// What an entry is called as a place.
fn place(kind: EntryKind) -> FoundIn {
    match kind {
        EntryKind::Note => FoundIn::Note,
        EntryKind::Checkpoint => FoundIn::Checkpoint,
        EntryKind::Handoff => FoundIn::Handoff,
        EntryKind::RecoveryNote => FoundIn::RecoveryNote,
        EntryKind::Disposition => FoundIn::Disposition,
        EntryKind::Intervention => FoundIn::Intervention,
        EntryKind::Completion => FoundIn::Completion,
        EntryKind::Lesson => FoundIn::Lesson,
    }
}
