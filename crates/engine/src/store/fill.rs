//! What a migration cannot say in SQL: rows that follow from others and were not kept by an older version.

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::Stored;
use super::{completion, label, search};
use tenure_core::model::attempt::Entry;
use tenure_core::model::task::Body;

/// The first schema that keeps labels, completions and words beside the texts.
const SINCE: u32 = 3;
/// How many rows are read at once.
const ROWS: i64 = 100;
/// How many such parts there are between two words to whoever waits: work of a moment.
const PARTS: usize = 10;

/// Writes what a store that comes from schema `from` lacks. A new store, which comes from none, lacks nothing. `told`
/// hears now and then that it goes on.
pub fn fill(driver: &mut dyn Driver, from: u32, told: &mut dyn FnMut()) -> Result<(), StoreError> {
    if (1..SINCE).contains(&from) { fill_all(driver, told) } else { Ok(()) }
}

/// Writes all rows that follow from others into a store that has none of them: to look for some would take longer with
/// every row where a database does not know its new tables yet.
pub fn fill_all(driver: &mut dyn Driver, told: &mut dyn FnMut()) -> Result<(), StoreError> {
    let mut part = 0;
    let mut went_on = || {
        part += 1;
        if part % PARTS == 0 {
            told();
        }
    };
    let mut after = String::new();
    loop {
        let mut values = Values::default();
        values.text(after);
        let bodies: Vec<Body> = next(driver, BODIES_AFTER, values)?;
        let Some(last) = bodies.last() else { break };
        after = last.task.to_string();
        label::add(driver, bodies.iter())?;
        search::add(driver, bodies.iter(), [].iter())?;
        went_on();
    }
    let mut after = 0;
    loop {
        let mut values = Values::default();
        values.count(after);
        let entries: Vec<Entry> = next(driver, ENTRIES_AFTER, values)?;
        let Some(last) = entries.last() else { return Ok(()) };
        after = last.number.0;
        completion::keep(driver, entries.iter())?;
        search::add(driver, [].iter(), entries.iter())?;
        went_on();
    }
}

/// The statement that walks through all bodies.
pub const BODIES_AFTER: &str = "SELECT {columns} FROM body WHERE task > $1 ORDER BY task LIMIT $2";
/// The statement that walks through all entries.
pub const ENTRIES_AFTER: &str = "SELECT {columns} FROM entry WHERE number > $1 ORDER BY number LIMIT $2";

/// The next rows behind a value.
fn next<R: Stored>(driver: &mut dyn Driver, sql: &str, mut after: Values<'_>) -> Result<Vec<R>, StoreError> {
    after.integer(ROWS);
    let sql = sql.replace("{columns}", &R::shape().columns().join(", "));
    let mut rows = Vec::new();
    driver.query(&sql, &after.0, &mut |row| {
        rows.push(R::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    Ok(rows)
}
