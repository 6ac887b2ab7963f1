//! Entries of tasks' records.

use tenure_core::model::attempt::{Entry, EntryKind};
use tenure_core::model::ids::{EventNumber, TaskId};
use tenure_core::model::limits::PAGE_TEXT_BYTES;
use tenure_core::model::time::WallTime;
use tenure_core::working_set::table::Table;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static ENTRY: Shape =
    Shape::new("entry", &["number", "task", "attempt", "kind", "principal", "at", "text", "data"], 1, 2);

/// Entries by number.
pub static BY_NUMBER: Lookup = Lookup::new(&ENTRY, &["number"], "");
/// The newest entries of a task. The eight words are the kinds asked for, repeated to fill them; `{columns}` stands
/// for an entry's columns.
pub const NEWEST: &str = "SELECT {columns} FROM entry WHERE task = $1 \
     AND kind IN ($2, $3, $4, $5, $6, $7, $8, $9) ORDER BY number DESC LIMIT $10";
/// How many entries of these kinds a task has.
pub const COUNT: &str =
    "SELECT count(*) FROM entry WHERE task = $1 AND kind IN ($2, $3, $4, $5, $6, $7, $8, $9)";

/// Every entry, in the order in which they were recorded; `{columns}` stands for an entry's columns.
pub const EVERY: &str = "SELECT {columns} FROM entry ORDER BY number";

/// Hands over every entry of the fleet, in the order in which they were recorded, one at a time.
pub fn every_entry(
    driver: &mut dyn Driver,
    each: &mut dyn FnMut(Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let sql = EVERY.replace("{columns}", &ENTRY.columns().join(", "));
    driver.query(&sql, &[], &mut |row| each(Entry::read(&mut Fields::of(row))?))
}

/// Loads a task's newest entries of some kinds, as far as they fit into a page of text, and counts all of these kinds.
pub fn load_newest(
    driver: &mut dyn Driver,
    entries: &mut Table<Entry>,
    (task, kinds): (&TaskId, &[EntryKind]),
    count: u32,
) -> Result<u64, StoreError> {
    let mut values = Values::default();
    values.shown(task);
    values.filling(kinds.iter().map(|kind| kind.as_str()), EntryKind::ALL.len());
    values.integer(i64::from(count));
    let mut bytes = 0;
    driver.query(&NEWEST.replace("{columns}", &ENTRY.columns().join(", ")), &values.0, &mut |row| {
        if bytes <= PAGE_TEXT_BYTES {
            let entry = Entry::read(&mut Fields::of(row))?;
            bytes += entry.text.len();
            entries.load(entry);
        }
        Ok(())
    })?;
    values.0.pop();
    let mut total = 0;
    driver.query(COUNT, &values.0, &mut |row| {
        total = Fields::of(row).count()?;
        Ok(())
    })?;
    Ok(total)
}

impl Stored for Entry {
    fn shape() -> &'static Shape {
        &ENTRY
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            number: EventNumber(fields.count()?),
            task: fields.parse()?,
            attempt: fields.optional_parse()?,
            kind: fields.parse()?,
            principal: fields.parse()?,
            at: WallTime(fields.integer()?),
            text: fields.text()?.to_owned(),
            data: fields.json()?,
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.count(self.number.0);
        values.shown(&self.task);
        values.optional_shown(self.attempt.as_ref());
        values.text(self.kind.as_str());
        values.text(self.principal.as_str());
        values.integer(self.at.0);
        values.text(&self.text);
        values.json(&self.data);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.count(key.0);
    }
}
