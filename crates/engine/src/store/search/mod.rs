//! Full text: which tasks answer a query, and in which order. Beside backups the one place where databases may differ:
//! each has a file here, with all that is its own, and a third migration of its own. The index is written in the
//! transaction of the texts, and a question costs as much as its words are common.
//!
//! What is indexed and what is asked for are folded words ([`tenure_core::search::words`]), which mean nothing to the
//! database, so no input is ever read as a query of its language, and every database finds the same. What is the best of
//! it they judge each in their own way.

pub mod fts5;
pub mod tsvector;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tenure_core::model::attempt::Entry;
use tenure_core::model::ids::{EventNumber, ProjectKey, TaskId};
use tenure_core::model::task::{Body, Queue};
use tenure_core::search::query::{Query, Term};
use tenure_core::search::words::folded;
use tenure_core::working_set::Found;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, insert, remove};
use super::shape::Shape;

static PASSAGE: Shape = Shape::new("passage", &["id", "task", "entry"], 1, 3);
/// The passages of bodies.
pub static OF_BODIES: Lookup = Lookup::new(&PASSAGE, &["task"], "entry IS NULL");
static WORDS: Shape = Shape::new("passage_words", &["rowid", "title", "description", "entry"], 1, 4);

/// The statement that finds the id before the next.
const LAST: &str = "SELECT coalesce(max(id), 0) FROM passage";

/// How a database finds words in texts.
#[derive(Debug)]
pub struct FullText {
    /// The statement for a query, in one project or in all. Its values are what each wanted term is asked for by, the nine
    /// words of the queues, the project if there is one, the unwanted terms, and the limit.
    pub text_for: fn(query: &Query, in_project: bool) -> String,
    /// The values that the wanted terms are asked for by.
    pub wanted: fn(terms: &[Term], values: &mut Values<'_>),
    /// The values that the unwanted terms are asked for by.
    pub unwanted: fn(terms: &[Term], values: &mut Values<'_>),
}

/// Puts the words of bodies and of new entries into the index, instead of what the same bodies had there.
pub fn keep<'a>(
    driver: &mut dyn Driver,
    bodies: impl Iterator<Item = &'a Body> + Clone,
    entries: impl Iterator<Item = &'a Entry> + Clone,
) -> Result<(), StoreError> {
    let known = passages_of(driver, bodies.clone())?;
    index(driver, bodies, entries, &known)
}

/// The same for texts of which the index has nothing: nothing is looked for.
pub fn add<'a>(
    driver: &mut dyn Driver,
    bodies: impl Iterator<Item = &'a Body> + Clone,
    entries: impl Iterator<Item = &'a Entry> + Clone,
) -> Result<(), StoreError> {
    index(driver, bodies, entries, &BTreeMap::new())
}

fn index<'a>(
    driver: &mut dyn Driver,
    bodies: impl Iterator<Item = &'a Body> + Clone,
    entries: impl Iterator<Item = &'a Entry> + Clone,
    known: &BTreeMap<TaskId, i64>,
) -> Result<(), StoreError> {
    if bodies.clone().next().is_none() && entries.clone().next().is_none() {
        return Ok(());
    }
    let mut last = 0;
    driver.query(LAST, &[], &mut |row| {
        last = Fields::of(row).integer()?;
        Ok(())
    })?;
    let (mut passages, mut old, mut words) = (Values::default(), Values::default(), Values::default());
    let mut next = || {
        last += 1;
        last
    };
    for body in bodies {
        let id = match known.get(&body.task) {
            Some(id) => {
                old.integer(*id);
                *id
            }
            None => {
                let id = next();
                passage(&mut passages, id, &body.task, None);
                id
            }
        };
        words.integer(id);
        words.text(folded(&body.title));
        words.text(folded(&body.description));
        words.text("");
    }
    for entry in entries {
        let id = next();
        passage(&mut passages, id, &entry.task, Some(entry.number));
        words.integer(id);
        words.text("");
        words.text("");
        words.text(folded(&entry.text));
    }
    insert(driver, &PASSAGE, &passages)?;
    remove(driver, &WORDS, &old)?;
    insert(driver, &WORDS, &words)
}

fn passage(values: &mut Values<'_>, id: i64, task: &TaskId, entry: Option<EventNumber>) {
    values.integer(id);
    values.shown(task);
    values.optional_count(entry.map(|entry| entry.0));
}

/// The ids under which the index has these bodies.
fn passages_of<'a>(
    driver: &mut dyn Driver,
    bodies: impl Iterator<Item = &'a Body>,
) -> Result<BTreeMap<TaskId, i64>, StoreError> {
    let mut values = Values::default();
    bodies.for_each(|body| values.shown(&body.task));
    let mut known = BTreeMap::new();
    if !values.0.is_empty() {
        OF_BODIES.ask(driver, values, &mut |fields| {
            let id = fields.integer()?;
            known.insert(fields.parse()?, id);
            Ok(())
        })?;
    }
    Ok(known)
}

/// The tasks that answer a query, in one of some queues, the best first, and how many there are.
///
/// A word counts where it weighs most in the task, and the words are added up. Of equals, unfinished tasks come first,
/// then newer ones.
pub fn found(
    driver: &mut dyn Driver,
    query: &Query,
    (project, queues): (Option<&ProjectKey>, &[Queue]),
    count: u32,
) -> Result<(Vec<Found>, u64), StoreError> {
    let mut values = Values::default();
    let full_text = driver.full_text();
    (full_text.wanted)(&query.wanted, &mut values);
    values.filling(queues.iter().map(|queue| queue.as_str()), Queue::ALL.len());
    if let Some(project) = project {
        values.text(project.as_str());
    }
    (full_text.unwanted)(&query.unwanted, &mut values);
    values.integer(i64::from(count));
    let (mut tasks, mut total) = (Vec::new(), 0);
    driver.query(&(full_text.text_for)(query, project.is_some()), &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        tasks.push(Found { task: fields.parse()?, entry: fields.optional_count()?.map(EventNumber) });
        total = fields.count()?;
        Ok(())
    })?;
    Ok((tasks, total))
}

/// The beginning of a statement for a query: what has each of its terms.
const HITS: &str = "WITH hit (term, id, score) AS MATERIALIZED (";

/// The end of a statement that has `task_score (task, entry, score)` and `values` values by now: the tasks in one of the
/// queues and in the project that have no unwanted term, the best first. Of equals, unfinished tasks come first, then newer
/// ones. `unwanted` tells, from a value on, which rows of words have an unwanted term, by how many values.
fn ranked(
    query: &Query,
    in_project: bool,
    mut values: usize,
    best: &str,
    unwanted: impl FnOnce(usize) -> (String, usize),
) -> String {
    let queues: Vec<String> = (1..=Queue::ALL.len()).map(|queue| format!("${}", values + queue)).collect();
    values += queues.len();
    let mut sql = format!(
        " SELECT task.id, task_score.entry, count(*) OVER () FROM task_score JOIN task ON task.id = task_score.task \
         WHERE task.queue IN ({})",
        queues.join(", ")
    );
    if in_project {
        values += 1;
        let _ = write!(sql, " AND task.project = ${values}");
    }
    if !query.unwanted.is_empty() {
        let (rows, taken) = unwanted(values + 1);
        values += taken;
        let _ = write!(
            sql,
            " AND task.id NOT IN (SELECT passage.task FROM passage_words \
             JOIN passage ON passage.id = passage_words.rowid WHERE {rows})"
        );
    }
    let limit = values + 1;
    let _ = write!(
        sql,
        " ORDER BY task_score.score{best}, task.stage, task.number DESC, task.project LIMIT ${limit}"
    );
    sql
}
