//! Labels: which tasks of a project have which. The labels of a task stand in its body, with its other fields; the rows
//! here are an index of them and are written whenever a body is, so there is one place that tells and no second one that
//! could tell otherwise.

use std::collections::BTreeSet;

use tenure_core::model::ids::ProjectKey;
use tenure_core::model::task::{Body, LabelCount, Queue, Task};

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Stored, insert, remove};
use super::shape::Shape;

static LABEL: Shape = Shape::new("label", &["task", "label", "project", "number"], 2, 4);
/// All labels of a task, to be removed.
static ALL_OF: Shape = Shape::new("label", &["task"], 1, 1);

/// Writes the labels of bodies, instead of those that the same tasks had.
pub fn keep<'a>(
    driver: &mut dyn Driver,
    bodies: impl Iterator<Item = &'a Body> + Clone,
) -> Result<(), StoreError> {
    let mut old = Values::default();
    bodies.clone().for_each(|body| old.shown(&body.task));
    remove(driver, &ALL_OF, &old)?;
    add(driver, bodies)
}

/// Writes the labels of bodies whose tasks have none yet.
pub fn add<'a>(driver: &mut dyn Driver, bodies: impl Iterator<Item = &'a Body>) -> Result<(), StoreError> {
    let mut new = Values::default();
    for Body { task, details, .. } in bodies {
        for label in details.labels.iter().collect::<BTreeSet<_>>() {
            new.shown(task);
            new.text(label);
            new.text(task.project.as_str());
            new.count(task.number);
        }
    }
    insert(driver, &LABEL, &new)
}

/// Tasks of a project that have a label, by number. The nine words are the queues asked for, repeated to fill them;
/// `{others}` asks for further labels, `{last}` is the value after theirs.
pub const LABELLED: &str = "SELECT {columns} FROM label JOIN task ON task.id = label.task \
     WHERE label.project = $1 AND label.label = $2 AND label.number > $3 \
     AND task.queue IN ($4, $5, $6, $7, $8, $9, $10, $11, $12){others} ORDER BY label.number LIMIT {last}";

/// The statement for so many labels.
#[must_use]
pub fn labelled_text(labels: usize) -> String {
    let columns: Vec<String> = Task::shape().columns().iter().map(|name| format!("task.{name}")).collect();
    let others = (0..labels.saturating_sub(1)).map(|other| {
        format!(
            " AND EXISTS (SELECT 1 FROM label AS other WHERE other.task = label.task AND other.label = ${})",
            13 + other
        )
    });
    let (columns, others) = (columns.join(", "), others.collect::<String>());
    let last = format!("${}", 12 + labels.max(1));
    LABELLED.replace("{columns}", &columns).replace("{others}", &others).replace("{last}", &last)
}

/// Tasks of a project in one of some queues that have all of these labels, by number.
pub fn labelled(
    driver: &mut dyn Driver,
    (project, labels): (&ProjectKey, &[String]),
    queues: &[Queue],
    after: u64,
    count: u32,
) -> Result<Vec<Task>, StoreError> {
    let [first, others @ ..] = labels else { return Ok(Vec::new()) };
    let mut values = Values::default();
    values.text(project.as_str());
    values.text(first);
    values.count(after);
    values.filling(queues.iter().map(|queue| queue.as_str()), Queue::ALL.len());
    others.iter().for_each(|label| values.text(label));
    values.integer(i64::from(count));
    let mut tasks = Vec::new();
    driver.query(&labelled_text(labels.len()), &values.0, &mut |row| {
        tasks.push(Task::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    Ok(tasks)
}

/// The labels of a project in their order, with how many unfinished tasks have each, and how many in all.
pub const COUNTS: &str = "SELECT label.label, sum(CASE WHEN task.stage = 0 THEN 1 ELSE 0 END), count(*) FROM label \
     JOIN task ON task.id = label.task WHERE label.project = $1 AND label.label > $2 \
     GROUP BY label.label ORDER BY label.label LIMIT $3";

/// Some labels of a project after one, with the tasks that have each counted.
pub fn counts(
    driver: &mut dyn Driver,
    project: &ProjectKey,
    after: &str,
    count: u32,
) -> Result<Vec<LabelCount>, StoreError> {
    let mut values = Values::default();
    values.text(project.as_str());
    values.text(after);
    values.integer(i64::from(count));
    let mut labels = Vec::new();
    driver.query(COUNTS, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        let (label, unfinished, all) = (fields.text()?.to_owned(), fields.count()?, fields.count::<u64>()?);
        labels.push(LabelCount { label, unfinished, finished: all - unfinished });
        Ok(())
    })?;
    Ok(labels)
}
