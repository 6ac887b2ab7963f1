//! Full text: which tasks answer a query, and in which order. Beside backups the one place where databases may differ;
//! all that is SQLite's own about it is here and in `migrations/0003.sqlite.sql`. The index is written in the
//! transaction of the texts, and a question costs as much as its words are common.
//!
//! What is indexed and what is asked for are folded words ([`tenure_core::search::words`]), which mean nothing to the
//! database, so no input is ever read as a query of its language, and every database finds the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tenure_core::model::attempt::Entry;
use tenure_core::model::ids::{EventNumber, ProjectKey, TaskId};
use tenure_core::model::task::{Body, Queue};
use tenure_core::search::query::{Query, Term};
use tenure_core::search::words::folded;
use tenure_core::working_set::Found;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Shape, insert, remove};

static PASSAGE: Shape = Shape::new("passage", &["id", "task", "entry"], 1, 3);
/// The passages of bodies.
pub static OF_BODIES: Lookup = Lookup::new(&PASSAGE, &["task"], "entry IS NULL");
static WORDS: Shape = Shape::new("passage_words", &["rowid", "title", "description", "entry"], 1, 4);

/// The statement that finds the id before the next.
const LAST: &str = "SELECT coalesce(max(id), 0) FROM passage";

/// What a word weighs in a title, in a description, and in an entry.
const WEIGHTS: &str = "10.0, 3.0, 1.0";

/// Puts the words of bodies and of new entries into the index, instead of what the same bodies had there.
pub fn keep<'a>(
    driver: &mut dyn Driver,
    bodies: impl Iterator<Item = &'a Body> + Clone,
    entries: impl Iterator<Item = &'a Entry> + Clone,
) -> Result<(), StoreError> {
    if bodies.clone().next().is_none() && entries.clone().next().is_none() {
        return Ok(());
    }
    let known = passages_of(driver, bodies.clone())?;
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
    query.wanted.iter().for_each(|term| values.text(matching(term)));
    values.filling(queues.iter().map(|queue| queue.as_str()), Queue::ALL.len());
    if let Some(project) = project {
        values.text(project.as_str());
    }
    if !query.unwanted.is_empty() {
        let unwanted: Vec<String> = query.unwanted.iter().map(matching).collect();
        values.text(unwanted.join(" OR "));
    }
    values.integer(i64::from(count));
    let (mut tasks, mut total) = (Vec::new(), 0);
    driver.query(&text_for(query, project.is_some()), &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        tasks.push(Found { task: fields.parse()?, entry: fields.optional_count()?.map(EventNumber) });
        total = fields.count()?;
        Ok(())
    })?;
    Ok((tasks, total))
}

/// The statement for a query. Its values are what each wanted term matches, the nine words of the queues, the project if
/// there is one, what all unwanted terms match if there are some, and the limit.
#[must_use]
pub fn text_for(query: &Query, in_project: bool) -> String {
    let terms = query.wanted.len();
    let mut sql = String::from("WITH hit (term, id, score) AS MATERIALIZED (");
    for term in 1..=terms {
        let union = if term == 1 { "" } else { " UNION ALL " };
        let _ = write!(
            sql,
            "{union}SELECT {term}, rowid, bm25(passage_words, {WEIGHTS}) FROM passage_words \
             WHERE passage_words MATCH ${term}"
        );
    }
    // Of the one row that has the least score come the other columns as well: SQLite promises it.
    sql.push_str(
        "), best (task, entry, score) AS (SELECT passage.task, passage.entry, min(hit.score) FROM hit \
         JOIN passage ON passage.id = hit.id GROUP BY passage.task, hit.term), \
         task_score (task, entry, least, score) AS (SELECT task, entry, min(score), sum(score) FROM best \
         GROUP BY task HAVING count(*) = ",
    );
    let _ = write!(sql, "{terms}) SELECT task.id, task_score.entry, count(*) OVER () FROM task_score ");
    sql.push_str("JOIN task ON task.id = task_score.task WHERE task.queue IN (");
    let mut value = terms;
    let mut next = || {
        value += 1;
        format!("${value}")
    };
    let queues: Vec<String> = Queue::ALL.iter().map(|_| next()).collect();
    let _ = write!(sql, "{})", queues.join(", "));
    if in_project {
        let _ = write!(sql, " AND task.project = {}", next());
    }
    if !query.unwanted.is_empty() {
        let _ = write!(
            sql,
            " AND task.id NOT IN (SELECT passage.task FROM passage_words \
             JOIN passage ON passage.id = passage_words.rowid WHERE passage_words MATCH {})",
            next()
        );
    }
    let _ = write!(
        sql,
        " ORDER BY task_score.score, task.stage, task.number DESC, task.project LIMIT {}",
        next()
    );
    sql
}

/// What a term matches, in the index's language: folded words in quotes. A word as it stands weighs more than one that
/// only begins like it, because fewer texts have it.
fn matching(term: &Term) -> String {
    let words = term.words.join(" ");
    if term.is_beginning { format!("(\"{words}\" OR \"{words}\" *)") } else { format!("\"{words}\"") }
}
