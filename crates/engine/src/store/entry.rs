//! Entries of tasks' records.

use tenure_core::model::attempt::Entry;
use tenure_core::model::ids::EventNumber;
use tenure_core::model::time::WallTime;

use super::driver::{Fields, StoreError, Values};
use super::rows::{Lookup, Shape, Stored};

static ENTRY: Shape =
    Shape::new("entry", &["number", "task", "attempt", "kind", "principal", "at", "text", "data"], 1, 2);

/// Entries by task.
pub static OF_TASK: Lookup = Lookup::new(&ENTRY, &["task"], "");

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
