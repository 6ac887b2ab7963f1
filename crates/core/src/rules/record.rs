//! The record: events and histories read back, counts, and the background work that makes the record say when.

use serde_json::json;

use super::queue::by_status;
use super::status::is_deferred;
use super::task::end_deferral;
use super::{Rule, as_of, page_rows, project, room};
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptState, EntryKind};
use crate::model::event::{EventKind, Receipt};
use crate::model::ids::{EventCursor, EventNumber};
use crate::model::limits::PAGE_BYTES_DEFAULT;
use crate::model::refusal::Refusal;
use crate::operation::record::{
    Counts, EventList, History, HistoryList, ListEvents, Overdue, RecordOverdue, Statistics,
};
use crate::working_set::{About, Page, Step, WorkingSet, together};

/// How many tasks one round of background work looks at.
const OVERDUE_ROWS: u32 = 200;

/// The number up to which a cursor has seen the record. One of another epoch, or beyond the last event, means nothing:
/// what it was meant to skip is not known.
pub fn seen(set: &WorkingSet, call: &Call, cursor: EventCursor) -> Result<EventNumber, Refusal> {
    if cursor.epoch != call.epoch {
        let next = "read the present state, then follow the events from `--newest` on";
        return Err(Refusal::restored("the cursor", cursor.epoch.0, call.epoch.0).next(next));
    }
    if cursor.number > set.fleet.event {
        let wrong = format!("is {cursor}, and the last event is {}", set.fleet.event);
        return Err(Refusal::field("after", &wrong, "name the cursor of an earlier answer"));
    }
    Ok(cursor.number)
}

impl Rule for ListEvents {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<EventList> {
        let rows = page_rows(self.limit)?;
        if let Some(task) = &self.task {
            set.existing_task(task)?;
        }
        if self.newest {
            return self.newest(set, call, rows);
        }
        let after = self.after.map_or(Ok(EventNumber(0)), |cursor| seen(set, call, cursor))?;
        let page = Page::Events { after, task: self.task.clone(), count: rows + 1 };
        let (found, cut) = set.page(&page)?.events();
        let shown = found.iter().take(rows as usize).map(|stored| &stored.event);
        let shown = shown.clone().take(room(shown, self.limit, PAGE_BYTES_DEFAULT));
        let events: Vec<_> = shown.cloned().collect();
        let more = cut || found.len() > events.len();
        let number = events.last().map_or(after, |event| event.number);
        let cursor = EventCursor { epoch: call.epoch, number };
        Ok(EventList { events, cursor, more, as_of: as_of(set, call) })
    }
}

impl ListEvents {
    /// The last page. Whoever goes on from it hears everything that comes after now.
    fn newest(&self, set: &WorkingSet, call: &Call, rows: u32) -> Step<EventList> {
        if self.after.is_some() {
            let wrong = "is asked for together with after";
            return Err(Refusal::field("newest", wrong, "name one of them").into());
        }
        let page = Page::NewestEvents { task: self.task.clone(), count: rows };
        let found = set.page(&page)?.events().0.iter().map(|stored| &stored.event);
        let shown = room(found.clone().rev(), self.limit, PAGE_BYTES_DEFAULT);
        let events = found.clone().skip(found.len().saturating_sub(shown)).cloned().collect();
        Ok(EventList { events, cursor: set.fleet.last(), more: false, as_of: as_of(set, call) })
    }
}

impl Rule for History {
    fn decide(&self, set: &mut WorkingSet, _call: &Call) -> Step<HistoryList> {
        let rows = page_rows(self.limit)?;
        set.existing_task(&self.task)?;
        let (mut entries, total) = set.newest_entries(&self.task, EntryKind::ALL, rows)?;
        entries.truncate(room(&entries, self.limit, PAGE_BYTES_DEFAULT));
        Ok(HistoryList { entries, total })
    }
}

impl Rule for Statistics {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Counts> {
        let (keys, more) = project::page_of(set, call, self.limit, self.cursor.as_deref())?;
        let mut counts = together(keys.iter().map(|key| by_status(set, key).map(|counts| (key, counts))))?;
        counts.truncate(room(&counts, self.limit, PAGE_BYTES_DEFAULT));
        let goes_on = more || counts.len() < keys.len();
        let cursor = counts.last().filter(|_| goes_on).map(|(key, _)| project::cursor_after(call, key));
        let projects = counts.into_iter().map(|(key, counts)| (key.to_string(), counts)).collect();
        Ok(Counts { projects, cursor, events: set.fleet.event.0, as_of: as_of(set, call) })
    }
}

/// Receipts older than their term lose their answer; what is left still refuses the operation id.
fn age_receipts(set: &mut WorkingSet, call: &Call) -> Step<usize> {
    let page = Page::AgedReceipts { before: Receipt::kept_since(call.now.wall), count: OVERDUE_ROWS };
    let keys = set.page(&page)?.receipts().to_vec();
    for (principal, operation) in &keys {
        if let Some(receipt) = set.receipt(principal, operation)? {
            set.receipts.put(Receipt { answer: None, ..receipt });
        }
    }
    Ok(keys.len())
}

impl Rule for RecordOverdue {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Overdue> {
        let page = Page::Overdue { count: OVERDUE_ROWS };
        let found = set.page(&page)?.tasks().to_vec();
        let tombstones = age_receipts(set, call)?;
        let more = found.len().max(tombstones) == OVERDUE_ROWS as usize;
        let mut answer =
            Overdue { expired: Vec::new(), resumed: Vec::new(), tombstones: tombstones as u64, more };
        for task in together(found.iter().map(|id| set.existing_task(id)))? {
            if let Some(attempt) = set.current_attempt(&task)? {
                if attempt.state == AttemptState::Active && !attempt.is_live(call.now.fleet) {
                    let data = json!({ "deadline": attempt.deadline });
                    set.record(EventKind::LeaseExpired, About::attempt(&attempt.id, data));
                    set.attempts.put(Attempt { state: AttemptState::Expired, ..attempt });
                    answer.expired.push(task.id.clone());
                }
            } else if task.deferred_until.is_some() && !is_deferred(&task, call.now) {
                answer.resumed.push(task.id.clone());
                end_deferral(set, call, task)?;
            }
        }
        Ok(answer)
    }
}
