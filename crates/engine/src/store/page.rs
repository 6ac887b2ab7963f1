//! Pages of lists.

use tenure_core::model::event::Receipt;
use tenure_core::model::ids::ProjectKey;
use tenure_core::model::task::{Queue, Task};
use tenure_core::model::time::Now;
use tenure_core::working_set::table::Table;
use tenure_core::working_set::{Page, Rows, WorkingSet};

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Stored, after, load_by_key};
use super::{body, completion, event, graph, label, project, queue, receipt, search, session, task};

/// Loads a page with the rows that it names.
pub fn load(driver: &mut dyn Driver, set: &mut WorkingSet, page: &Page, now: Now) -> Result<(), StoreError> {
    let rows = match page {
        Page::Events { after, task, count } => {
            let (events, cut) = event::after(driver, *after, task.as_ref(), *count)?;
            Rows::Events(events, cut)
        }
        Page::NewestEvents { task, count } => {
            let (events, cut) = event::newest(driver, task.as_ref(), *count)?;
            Rows::Events(events, cut)
        }
        Page::Happened { project, kinds, after, count } => {
            let (events, total) = event::of_tasks(driver, project, kinds, *after, *count)?;
            Rows::Happened(events, total)
        }
        Page::Before { moment } => {
            Rows::Events(event::last_before(driver, *moment)?.into_iter().collect(), false)
        }
        Page::Kept { project, count } => {
            let ids = graph::kept(driver, project, *count)?;
            load_by_key::<Task>(driver, &mut set.tasks, &task::BY_ID, ids.clone())?;
            Rows::Tasks(ids)
        }
        Page::Tasks { project, queues, after, count } => {
            let tasks = by_number(driver, project, queues, *after, *count)?;
            let ids = tasks.iter().map(|task| task.id.clone()).collect();
            tasks.into_iter().for_each(|task| set.tasks.load(task));
            Rows::Tasks(ids)
        }
        Page::Labelled { project, labels, queues, after, count } => {
            let tasks = label::labelled(driver, (project, labels), queues, *after, *count)?;
            let ids = tasks.iter().map(|task| task.id.clone()).collect();
            tasks.into_iter().for_each(|task| set.tasks.load(task));
            Rows::Tasks(ids)
        }
        Page::Found { query, project, queues, count } => {
            let (found, total) = search::found(driver, query, (project.as_ref(), queues), *count)?;
            Rows::Found(found, total)
        }
        Page::Completions { of, missing, after, count } => {
            let (completions, landings) = completion::list(driver, of, *missing, after.as_ref(), *count)?;
            Rows::Completions(completions, landings)
        }
        Page::Labels { project, after, count } => {
            Rows::Labels(label::counts(driver, project, after, *count)?)
        }
        Page::Edges { side, kind, after, count } => {
            let (edges, total) = graph::edges(driver, (side, *kind), after.as_ref(), *count)?;
            let others = edges.iter().map(|edge| side.other(edge).clone()).collect();
            load_by_key::<Task>(driver, &mut set.tasks, &task::BY_ID, others)?;
            Rows::Edges(edges, total)
        }
        Page::OpenChild { of } => {
            let ids: Vec<_> = graph::open_child(driver, of)?.into_iter().collect();
            load_by_key::<Task>(driver, &mut set.tasks, &task::BY_ID, ids.clone())?;
            Rows::Tasks(ids)
        }
        Page::Titled { project, title } => {
            let ids = body::titled(driver, project, title)?;
            load_by_key::<Task>(driver, &mut set.tasks, &task::BY_ID, ids.clone())?;
            Rows::Tasks(ids)
        }
        Page::Projects => {
            let projects = project::every_project(driver)?;
            let keys = projects.iter().map(|project| project.key.clone()).collect();
            projects.into_iter().for_each(|project| set.projects.load(project));
            Rows::Projects(keys)
        }
        Page::ProjectsAfter { after, count } => {
            Rows::Projects(part(driver, &mut set.projects, after.as_ref(), *count)?)
        }
        Page::Accounts { after, count } => {
            Rows::Accounts(part(driver, &mut set.accounts, after.as_ref(), *count)?)
        }
        Page::Tokens { after, count } => Rows::Tokens(part(driver, &mut set.tokens, after.as_ref(), *count)?),
        Page::Sessions { count } => {
            let sessions = session::newest(driver, *count)?;
            let ids = sessions.iter().map(|session| session.id.clone()).collect();
            sessions.into_iter().for_each(|session| set.sessions.load(session));
            Rows::Sessions(ids)
        }
        Page::AgedReceipts { before, count } => {
            let receipts = receipt::aged(driver, *before, *count)?;
            let key = |receipt: &Receipt| (receipt.principal.clone(), receipt.operation_id.clone());
            let keys = receipts.iter().map(key).collect();
            receipts.into_iter().for_each(|receipt| set.receipts.load(receipt));
            Rows::Receipts(keys)
        }
        Page::Overdue { count } => Rows::Tasks(queue::load_overdue(driver, set, now, *count)?),
    };
    set.pages.insert(page.clone(), rows);
    Ok(())
}

/// Loads the rows behind a key in its order, at most so many, and says which they are.
fn part<R: Stored>(
    driver: &mut dyn Driver,
    table: &mut Table<R>,
    key: Option<&R::Key>,
    count: u32,
) -> Result<Vec<R::Key>, StoreError> {
    let rows = after::<R>(driver, key, count)?;
    let keys = rows.iter().map(R::key).collect();
    rows.into_iter().for_each(|row| table.load(row));
    Ok(keys)
}

/// A part of a project's tasks by number. The nine words are the queues asked for, repeated to fill them.
pub const BY_NUMBER: &str = "SELECT {columns} FROM task WHERE project = $1 AND stage = $2 AND number > $3 \
     AND queue IN ($4, $5, $6, $7, $8, $9, $10, $11, $12) ORDER BY number LIMIT $13";

/// Tasks of a project in one of some queues after a number, by number, at most so many.
pub fn by_number(
    driver: &mut dyn Driver,
    project: &ProjectKey,
    queues: &[Queue],
    after: u64,
    count: u32,
) -> Result<Vec<Task>, StoreError> {
    let sql = BY_NUMBER.replace("{columns}", &Task::shape().columns().join(", "));
    let mut stages: Vec<i64> = queues.iter().map(|queue| task::stage(*queue)).collect();
    stages.sort_unstable();
    stages.dedup();
    let mut tasks = Vec::new();
    for stage in stages {
        let mut values = Values::default();
        values.text(project.as_str());
        values.integer(stage);
        values.count(after);
        values.filling(queues.iter().map(|queue| queue.as_str()), Queue::ALL.len());
        values.integer(i64::from(count));
        driver.query(&sql, &values.0, &mut |row| {
            tasks.push(Task::read(&mut Fields::of(row))?);
            Ok(())
        })?;
    }
    tasks.sort_by_key(|task| task.id.number);
    tasks.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    Ok(tasks)
}
