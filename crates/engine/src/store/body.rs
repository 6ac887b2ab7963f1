//! What people read of a task, and its other names.

use tenure_core::model::ids::{ProjectKey, TaskId};
use tenure_core::model::task::{Alias, Body, folded_title};
use tenure_core::model::time::WallTime;
use tenure_core::secret::digest;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static BODY: Shape = Shape::new(
    "body",
    &["task", "title_key", "title", "description", "details", "created_at", "updated_at"],
    1,
    1,
);
static ALIAS: Shape = Shape::new("alias", &["project", "alias", "task"], 2, 2);

/// Bodies by task.
pub static BY_TASK: Lookup = Lookup::new(&BODY, &["task"], "");
/// Aliases by name.
pub static ALIASES: Lookup = Lookup::new(&ALIAS, &["project", "alias"], "");
/// Aliases by task.
pub static ALIASES_OF: Lookup = Lookup::new(&ALIAS, &["task"], "");

/// What stands for a project's folded title in the index: short, so that titles are not stored twice, and the
/// same in every database, since each folds letters in its own way.
fn title_key(project: &ProjectKey, folded: &str) -> i64 {
    let digest = digest("tenure title key v1", &[project.as_str().as_bytes(), folded.as_bytes()]);
    let mut first = [0; 8];
    first.copy_from_slice(&digest.0[..8]);
    i64::from_be_bytes(first)
}

impl Stored for Body {
    fn shape() -> &'static Shape {
        &BODY
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let task = fields.parse()?;
        fields.skip(1);
        Ok(Self {
            task,
            title: fields.text()?.to_owned(),
            description: fields.text()?.to_owned(),
            details: fields.json()?,
            created_at: WallTime(fields.integer()?),
            updated_at: WallTime(fields.integer()?),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.shown(&self.task);
        values.integer(title_key(&self.task.project, &folded_title(&self.title)));
        values.text(&self.title);
        values.text(&self.description);
        values.json(&self.details);
        values.integer(self.created_at.0);
        values.integer(self.updated_at.0);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}

impl Stored for Alias {
    fn shape() -> &'static Shape {
        &ALIAS
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self { project: fields.parse()?, alias: fields.text()?.to_owned(), task: fields.parse()? })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.project.as_str());
        values.text(&self.alias);
        values.shown(&self.task);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(&key.0);
        values.text(key.1.clone());
    }
}

/// The statement of [`titled`].
pub const TITLED: &str = "SELECT task, title FROM body WHERE title_key = $1 LIMIT $2";

/// How many tasks of one title are told; more help nobody.
const TITLED_MAX: i64 = 20;

/// A few tasks of a project whose folded title is this one.
pub fn titled(driver: &mut dyn Driver, project: &ProjectKey, title: &str) -> Result<Vec<TaskId>, StoreError> {
    let mut values = Values::default();
    values.integer(title_key(project, title));
    values.integer(TITLED_MAX);
    let mut tasks: Vec<TaskId> = Vec::new();
    driver.query(TITLED, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        let task: TaskId = fields.parse()?;
        if task.project == *project && folded_title(fields.text()?) == title {
            tasks.push(task);
        }
        Ok(())
    })?;
    tasks.sort();
    Ok(tasks)
}
