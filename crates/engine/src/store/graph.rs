//! What stands in the way of tasks: edges and typed blockers.

use tenure_core::model::dependency::{Dependency, DependencyKind};
use tenure_core::model::ids::{ProjectKey, TaskId};
use tenure_core::model::task::Blocker;
use tenure_core::model::time::WallTime;
use tenure_core::working_set::records::Side;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

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

/// Edges that start at a task, of one kind, in the order of the tasks that they end at.
pub const EDGES_OF: &str = "SELECT dependency.task, dependency.kind, dependency.on_task, dependency.optional \
     FROM dependency JOIN task ON task.id = dependency.on_task \
     WHERE dependency.task = $1 AND dependency.kind = $2 AND (task.project, task.number) > ($3, $4) \
     ORDER BY task.project, task.number LIMIT $5";
/// Edges that end at a task, of one kind, in the order of the tasks that they start at.
pub const EDGES_ON: &str = "SELECT dependency.task, dependency.kind, dependency.on_task, dependency.optional \
     FROM dependency JOIN task ON task.id = dependency.task \
     WHERE dependency.on_task = $1 AND dependency.kind = $2 AND (task.project, task.number) > ($3, $4) \
     ORDER BY task.project, task.number LIMIT $5";
/// How many edges of one kind start at a task.
pub const COUNT_OF: &str = "SELECT count(*) FROM dependency WHERE task = $1 AND kind = $2";
/// How many edges of one kind end at a task.
pub const COUNT_ON: &str = "SELECT count(*) FROM dependency WHERE on_task = $1 AND kind = $2";
/// The first required child of a task that is not finished.
pub const OPEN_CHILD: &str = "SELECT task.id FROM dependency JOIN task ON task.id = dependency.task \
     WHERE dependency.on_task = $1 AND dependency.kind = 'parent' AND dependency.optional = 0 AND task.stage = 0 \
     ORDER BY task.project, task.number LIMIT 1";

/// Unfinished tasks of a project that a typed blocker keeps.
pub const KEPT: &str = "SELECT task.id FROM task WHERE task.project = $1 AND task.stage = 0 AND EXISTS \
     (SELECT 1 FROM blocker WHERE blocker.task = task.id AND blocker.resolved_at IS NULL) \
     ORDER BY task.number LIMIT $2";

/// Unfinished tasks of a project that a typed blocker keeps, by number, at most so many.
pub fn kept(driver: &mut dyn Driver, project: &ProjectKey, count: u32) -> Result<Vec<TaskId>, StoreError> {
    let mut values = Values::default();
    values.text(project.as_str());
    values.integer(i64::from(count));
    let mut ids = Vec::new();
    driver.query(KEPT, &values.0, &mut |row| {
        ids.push(Fields::of(row).parse()?);
        Ok(())
    })?;
    Ok(ids)
}

/// Some edges of a kind on one side of a task, after the other task of the last one, and how many there are in all.
pub fn edges(
    driver: &mut dyn Driver,
    (side, kind): (&Side, DependencyKind),
    after: Option<&TaskId>,
    count: u32,
) -> Result<(Vec<Dependency>, u64), StoreError> {
    let (task, edges, total) = match side {
        Side::Of(task) => (task, EDGES_OF, COUNT_OF),
        Side::On(task) => (task, EDGES_ON, COUNT_ON),
    };
    let mut values = Values::default();
    values.shown(task);
    values.text(kind.as_str());
    let mut all = 0;
    driver.query(total, &values.0, &mut |row| {
        all = Fields::of(row).count()?;
        Ok(())
    })?;
    let mut found = Vec::new();
    if all > 0 {
        values.text(after.map_or("", |after| after.project.as_str()));
        values.count(after.map_or(0, |after| after.number));
        values.integer(i64::from(count));
        driver.query(edges, &values.0, &mut |row| {
            found.push(Dependency::read(&mut Fields::of(row))?);
            Ok(())
        })?;
    }
    Ok((found, all))
}

/// The first required child of a task that is not finished, if there is one.
pub fn open_child(driver: &mut dyn Driver, of: &TaskId) -> Result<Option<TaskId>, StoreError> {
    let mut values = Values::default();
    values.shown(of);
    let mut found = None;
    driver.query(OPEN_CHILD, &values.0, &mut |row| {
        found = Some(Fields::of(row).parse()?);
        Ok(())
    })?;
    Ok(found)
}

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
