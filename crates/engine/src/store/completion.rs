//! Completions: how each task was last closed, and in which commit. They stand among the entries; the rows here are an
//! index of them, written with the entries.

use std::collections::BTreeMap;

use tenure_core::model::attempt::{Entry, EntryKind};
use tenure_core::model::ids::{EventNumber, TaskId};
use tenure_core::working_set::{Chosen, Completion, Landings};

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::replace;
use super::shape::Shape;

static COMPLETION: Shape = Shape::new("completion", &["task", "entry", "landed_in"], 1, 1);

/// Notes the completions among new entries.
pub fn keep<'a>(driver: &mut dyn Driver, entries: impl Iterator<Item = &'a Entry>) -> Result<(), StoreError> {
    let completions = entries.filter(|entry| entry.kind == EntryKind::Completion);
    // In the order of their numbers, so that the last one of a task stays.
    let last: BTreeMap<&TaskId, &Entry> = completions.map(|entry| (&entry.task, entry)).collect();
    let mut values = Values::default();
    for (task, entry) in last {
        values.shown(task);
        values.count(entry.number.0);
        values.optional_text(entry.data.evidence.landed_in());
    }
    replace(driver, &COMPLETION, &values)
}

/// How the tasks are chosen, as the beginning of a statement; its values come first.
fn beginning(of: &Chosen, values: &mut Values<'_>) -> String {
    let select = match of {
        Chosen::Labelled(project, label) => {
            values.text(project.as_str().to_owned());
            values.text(label.clone());
            "SELECT task FROM label WHERE project = $1 AND label = $2".to_owned()
        }
        Chosen::Below(objective) => {
            values.shown(objective);
            // UNION, so that a task below two parents is met once and a circle ends.
            "SELECT id FROM task WHERE id = $1 UNION SELECT dependency.task FROM chosen \
             JOIN dependency ON dependency.on_task = chosen.task AND dependency.kind = 'parent'"
                .to_owned()
        }
        Chosen::Named(tasks) => {
            tasks.iter().for_each(|task| values.shown(task));
            let places: Vec<String> = (1..=tasks.len()).map(|place| format!("${place}")).collect();
            format!("SELECT id FROM task WHERE id IN ({})", places.join(", "))
        }
    };
    format!("WITH RECURSIVE chosen (task) AS ({select}) ")
}

/// The tasks that are chosen, with what is known of how they were closed. Not an inner join, which would let the planner
/// begin with all tasks.
const FROM: &str = "FROM chosen CROSS JOIN task LEFT JOIN completion ON completion.task = task.id \
     WHERE task.id = chosen.task";

/// The statement that lists completions: those that tell a commit, or those that do not. Of what is done, since a task
/// that was reopened has not landed.
#[must_use]
pub fn list_text(of: &Chosen, missing: bool, values: &mut Values<'_>) -> String {
    let beginning = beginning(of, values);
    let which = if missing {
        "completion.landed_in IS NULL AND task.kind <> 'objective'"
    } else {
        "completion.landed_in IS NOT NULL"
    };
    let [number, project, task, last] = [1, 2, 3, 4].map(|next| format!("${}", values.0.len() + next));
    format!(
        "{beginning}SELECT task.id, completion.entry {FROM} AND task.lifecycle = 'done' AND {which} \
         AND (coalesce(completion.entry, 0), task.project, task.number) > ({number}, {project}, {task}) \
         ORDER BY coalesce(completion.entry, 0), task.project, task.number LIMIT {last}"
    )
}

/// The statement that counts what became of the tasks.
#[must_use]
pub fn count_text(of: &Chosen, values: &mut Values<'_>) -> String {
    let beginning = beginning(of, values);
    let count = |which: &str| format!("coalesce(sum(CASE WHEN {which} THEN 1 ELSE 0 END), 0)");
    let counts = [
        "task.lifecycle = 'done' AND completion.landed_in IS NOT NULL",
        "task.lifecycle = 'done' AND completion.landed_in IS NULL AND task.kind <> 'objective'",
        "task.lifecycle IN ('planned', 'open')",
        "task.lifecycle = 'cancelled'",
    ];
    format!("{beginning}SELECT {} {FROM}", counts.map(count).join(", "))
}

/// Completions of the tasks that are chosen, after one of them, and what became of all of these tasks.
pub fn list(
    driver: &mut dyn Driver,
    of: &Chosen,
    missing: bool,
    after: Option<&(EventNumber, TaskId)>,
    count: u32,
) -> Result<(Vec<Completion>, Landings), StoreError> {
    let mut values = Values::default();
    let mut landings = Landings::default();
    let sql = count_text(of, &mut values);
    driver.query(&sql, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        landings = Landings {
            landed: fields.count()?,
            missing: fields.count()?,
            unfinished: fields.count()?,
            cancelled: fields.count()?,
        };
        Ok(())
    })?;
    let mut values = Values::default();
    let sql = list_text(of, missing, &mut values);
    values.count(after.map_or(0, |(number, _)| number.0));
    values.text(after.map_or("", |(_, task)| task.project.as_str()));
    values.count(after.map_or(0, |(_, task)| task.number));
    values.integer(i64::from(count));
    let mut completions = Vec::new();
    driver.query(&sql, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        let (task, entry) = (fields.parse()?, fields.optional_count()?.map(EventNumber));
        completions.push(Completion { task, entry });
        Ok(())
    })?;
    Ok((completions, landings))
}
