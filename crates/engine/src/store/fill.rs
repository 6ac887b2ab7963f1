//! What a migration cannot say in SQL: rows that follow from others and were not kept by an older version.

use super::driver::{Driver, StoreError};
use super::{completion, label, rows, search};
use tenure_core::model::attempt::Entry;
use tenure_core::model::ids::EventNumber;
use tenure_core::model::task::Body;

/// The first schema that keeps labels, completions and words beside the texts.
const SINCE: u32 = 3;
/// How many rows are read at once.
const ROWS: u32 = 100;
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
    let mut after = None;
    loop {
        let bodies: Vec<Body> = rows::after(driver, after.as_ref(), ROWS)?;
        let Some(last) = bodies.last() else { break };
        after = Some(last.task.clone());
        label::add(driver, bodies.iter())?;
        search::add(driver, bodies.iter(), [].iter())?;
        went_on();
    }
    let mut after = EventNumber(0);
    loop {
        let entries: Vec<Entry> = rows::after(driver, Some(&after), ROWS)?;
        let Some(last) = entries.last() else { return Ok(()) };
        after = last.number;
        completion::keep(driver, entries.iter())?;
        search::add(driver, [].iter(), entries.iter())?;
        went_on();
    }
}
