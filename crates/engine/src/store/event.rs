//! Events: appended once, never changed.

use std::collections::BTreeMap;

use tenure_core::model::event::{Event, EventKind, StoredEvent};
use tenure_core::model::ids::{Digest, EventNumber, ProjectKey, TaskId};
use tenure_core::model::limits::PAGE_TEXT_BYTES;
use tenure_core::model::time::WallTime;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::insert;
use super::shape::Shape;

static EVENT: Shape = Shape::new("event", &["number", "kind", "project", "task", "body", "hash"], 1, 6);

/// The table.
#[must_use]
pub fn shape() -> &'static Shape {
    &EVENT
}

/// Appends a batch's events.
pub fn append(driver: &mut dyn Driver, events: &[StoredEvent]) -> Result<(), StoreError> {
    let mut values = Values::default();
    for stored in events {
        let event = &stored.event;
        values.count(event.number.0);
        values.text(event.kind.as_str());
        values.optional_text(event.project.as_ref().map(tenure_core::model::ids::ProjectKey::as_str));
        values.optional_shown(event.task.as_ref());
        values.text(&stored.bytes);
        values.shown(&stored.hash);
    }
    insert(driver, &EVENT, &values)
}

/// An event as its row has it, before anybody trusts it.
#[derive(Debug, Clone)]
pub struct EventRow {
    /// Its number.
    pub number: EventNumber,
    /// Its kind.
    pub kind: String,
    /// Its project.
    pub project: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// Its bytes.
    pub bytes: String,
    /// Its link in the chain.
    pub hash: String,
}

/// The statement that walks the record in order.
pub const AFTER: &str =
    "SELECT number, kind, project, task, body, hash FROM event WHERE number > $1 ORDER BY number LIMIT $2";
/// The statement that walks a task's events in order.
pub const AFTER_OF_TASK: &str = "SELECT number, kind, project, task, body, hash FROM event \
     WHERE task = $1 AND number > $2 ORDER BY number LIMIT $3";

/// The statement that walks the record from its end.
pub const NEWEST: &str =
    "SELECT number, kind, project, task, body, hash FROM event ORDER BY number DESC LIMIT $1";
/// The statement that walks a task's events from the last.
pub const NEWEST_OF_TASK: &str = "SELECT number, kind, project, task, body, hash FROM event \
     WHERE task = $1 ORDER BY number DESC LIMIT $2";

/// The next rows of the record, of the whole fleet or of one task.
pub fn rows_after(
    driver: &mut dyn Driver,
    after: EventNumber,
    task: Option<&TaskId>,
    count: u32,
) -> Result<Vec<EventRow>, StoreError> {
    let mut values = Values::default();
    if let Some(task) = task {
        values.shown(task);
    }
    values.count(after.0);
    values.integer(i64::from(count));
    rows(driver, if task.is_some() { AFTER_OF_TASK } else { AFTER }, &values)
}

fn rows(driver: &mut dyn Driver, sql: &str, values: &Values) -> Result<Vec<EventRow>, StoreError> {
    let mut rows = Vec::new();
    driver.query(sql, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        rows.push(EventRow {
            number: EventNumber(fields.count()?),
            kind: fields.text()?.to_owned(),
            project: fields.optional_text()?.map(str::to_owned),
            task: fields.optional_text()?.map(str::to_owned),
            bytes: fields.text()?.to_owned(),
            hash: fields.text()?.to_owned(),
        });
        Ok(())
    })?;
    Ok(rows)
}

/// The next events, read for a caller, and whether they were cut because a page of text is full.
pub fn after(
    driver: &mut dyn Driver,
    after: EventNumber,
    task: Option<&TaskId>,
    count: u32,
) -> Result<(Vec<StoredEvent>, bool), StoreError> {
    fitting(rows_after(driver, after, task, count)?)
}

/// The last events in the order they happened, and whether older ones were cut because a page of text is full.
pub fn newest(
    driver: &mut dyn Driver,
    task: Option<&TaskId>,
    count: u32,
) -> Result<(Vec<StoredEvent>, bool), StoreError> {
    let mut values = Values::default();
    if let Some(task) = task {
        values.shown(task);
    }
    values.integer(i64::from(count));
    let sql = if task.is_some() { NEWEST_OF_TASK } else { NEWEST };
    let (mut events, cut) = fitting(rows(driver, sql, &values)?)?;
    events.reverse();
    Ok((events, cut))
}

/// The first of these rows that fill a page of text, as events, and whether some were left out.
fn fitting(mut rows: Vec<EventRow>) -> Result<(Vec<StoredEvent>, bool), StoreError> {
    let mut bytes = 0;
    let fitting = rows.iter().take_while(|row| {
        let fits = bytes <= PAGE_TEXT_BYTES;
        bytes += row.bytes.len();
        fits
    });
    let fitting = fitting.count();
    let cut = fitting < rows.len();
    rows.truncate(fitting);
    let events = rows.into_iter().map(EventRow::parse).collect::<Result<_, _>>()?;
    Ok((events, cut))
}

/// The newest event of each task of a project, of some kinds (`{kinds}`), the newest first. The record is read from the
/// number on: by the index of tasks, which an expression keeps the planner from, all of it
/// would be.
pub const OF_TASKS: &str = "SELECT number, kind, project, task, body, hash FROM event WHERE number IN \
     (SELECT max(number) FROM event WHERE number > $1 AND project = $2 AND kind IN ({kinds}) \
     GROUP BY task || '' ORDER BY max(number) DESC LIMIT $3) ORDER BY number DESC";
/// Of how many tasks of a project there are events of some kinds (`{kinds}`).
pub const TASKS: &str = "SELECT count(DISTINCT task || '') FROM event \
     WHERE number > $1 AND project = $2 AND kind IN ({kinds})";

/// The newest event of each task of a project after a number, of some kinds, and how many tasks there are.
pub fn of_tasks(
    driver: &mut dyn Driver,
    project: &ProjectKey,
    kinds: &[EventKind],
    after: EventNumber,
    count: u32,
) -> Result<(Vec<StoredEvent>, u64), StoreError> {
    // Kinds are the program's own words.
    let kinds: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
    let filled = |sql: &str| sql.replace("{kinds}", &kinds.join(", "));
    let mut values = Values::default();
    values.count(after.0);
    values.text(project.as_str());
    let mut total = 0;
    driver.query(&filled(TASKS), &values.0, &mut |row| {
        total = Fields::of(row).count()?;
        Ok(())
    })?;
    values.integer(i64::from(count));
    let (events, _) = fitting(rows(driver, &filled(OF_TASKS), &values)?)?;
    Ok((events, total))
}

/// The last event before a moment of the wall clock, found by halves: the record is as good as in its order, and where
/// the clock was set back, either side of that is an answer.
pub fn last_before(driver: &mut dyn Driver, moment: WallTime) -> Result<Option<StoredEvent>, StoreError> {
    let first_from = |driver: &mut dyn Driver, number: u64| {
        let found = rows_after(driver, EventNumber(number.saturating_sub(1)), None, 1)?;
        found.into_iter().next().map(EventRow::parse).transpose()
    };
    let last = newest(driver, None, 1)?.0.pop();
    let Some(last) = last else { return Ok(None) };
    if last.event.wall_time < moment {
        return Ok(Some(last));
    }
    // Every event below `low` is from before the moment; the one at `high`, and those after it, are not.
    let (mut low, mut high) = (0, last.event.number.0);
    while low < high {
        let middle = low + (high - low) / 2;
        match first_from(driver, middle)? {
            Some(found) if found.event.wall_time < moment => low = found.event.number.0 + 1,
            Some(_) | None => high = middle,
        }
    }
    let before = EventNumber(low.saturating_sub(1));
    let Some((number, _)) = last_until(driver, before)? else { return Ok(None) };
    first_from(driver, number.0)
}

/// The last event up to a number, with its hash.
pub fn last_until(
    driver: &mut dyn Driver,
    number: EventNumber,
) -> Result<Option<(EventNumber, String)>, StoreError> {
    let mut values = Values::default();
    values.count(number.0);
    let mut last = None;
    let sql = "SELECT number, hash FROM event WHERE number <= $1 ORDER BY number DESC LIMIT 1";
    driver.query(sql, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        last = Some((EventNumber(fields.count()?), fields.text()?.to_owned()));
        Ok(())
    })?;
    Ok(last)
}

/// How many events there are after a number, by kind.
pub fn kinds_after(driver: &mut dyn Driver, after: EventNumber) -> Result<BTreeMap<String, u64>, StoreError> {
    let mut values = Values::default();
    values.count(after.0);
    let mut kinds = BTreeMap::new();
    let sql = "SELECT kind, count(*) FROM event WHERE number > $1 GROUP BY kind";
    driver.query(sql, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        kinds.insert(fields.text()?.to_owned(), fields.count()?);
        Ok(())
    })?;
    Ok(kinds)
}

impl EventRow {
    fn parse(self) -> Result<StoredEvent, StoreError> {
        let wrong = |error: String| StoreError::corrupt(format!("event {}: {error}", self.number));
        let event: Event = serde_json::from_str(&self.bytes).map_err(|error| wrong(error.to_string()))?;
        let hash: Digest = self.hash.parse().map_err(wrong)?;
        Ok(StoredEvent { event, bytes: self.bytes, hash })
    }
}
