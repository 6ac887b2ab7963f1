//! What stands in the way of tasks: edges and typed blockers.

use tenure_core::model::dependency::Dependency;
use tenure_core::model::task::Blocker;
use tenure_core::model::time::WallTime;

use super::driver::{Fields, StoreError, Values};
use super::rows::{Lookup, Shape, Stored};

static DEPENDENCY: Shape = Shape::new("dependency", &["task", "kind", "on_task", "optional"], 3, 3);
static BLOCKER: Shape = Shape::new(
    "blocker",
    &["task", "number", "kind", "reason", "reopening", "principal", "created_at", "resolved_at"],
    2,
    2,
);

/// Edges that start at a task.
pub static OF: Lookup = Lookup::new(&DEPENDENCY, &["task"], "");
/// Edges that end at a task.
pub static ON: Lookup = Lookup::new(&DEPENDENCY, &["on_task"], "");
/// Typed blockers of a task.
pub static BLOCKERS: Lookup = Lookup::new(&BLOCKER, &["task"], "");

impl Stored for Dependency {
    fn shape() -> &'static Shape {
        &DEPENDENCY
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            task: fields.parse()?,
            kind: fields.parse()?,
            on: fields.parse()?,
            optional: fields.flag()?,
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.shown(&self.task);
        values.text(self.kind.as_str());
        values.shown(&self.on);
        values.flag(self.optional);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(&key.0);
        values.text(key.1.as_str());
        values.shown(&key.2);
    }
}

impl Stored for Blocker {
    fn shape() -> &'static Shape {
        &BLOCKER
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            task: fields.parse()?,
            number: fields.count()?,
            kind: fields.parse()?,
            reason: fields.text()?.to_owned(),
            reopening: fields.optional_text()?.map(str::to_owned),
            principal: fields.parse()?,
            created_at: WallTime(fields.integer()?),
            resolved_at: fields.optional_integer()?.map(WallTime),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.shown(&self.task);
        values.count(self.number);
        values.text(self.kind.as_str());
        values.text(&self.reason);
        values.optional_text(self.reopening.as_deref());
        values.text(self.principal.as_str());
        values.integer(self.created_at.0);
        values.optional_integer(self.resolved_at.map(|at| at.0));
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(&key.0);
        values.count(key.1);
    }
}
