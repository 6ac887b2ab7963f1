//! The store: how records become rows and rows records. SQL finds, keeps and counts; rules decide.
//!
//! Each noun has a file with its columns and statements. [`load`] brings what rules need into a working set;
//! [`flush`] writes what a batch changed. Neither begins or ends a transaction. A batch sees all this as a
//! [`batch::Store`].

pub mod account;
pub mod attempt;
pub mod batch;
pub mod body;
pub mod completion;
pub mod driver;
pub mod entry;
pub mod event;
pub mod fill;
pub mod fleet;
pub mod floors;
pub mod folder;
pub mod graph;
pub mod label;
pub mod load;
pub mod page;
pub mod postgres;
pub mod project;
pub mod queue;
pub mod receipt;
pub mod reporter;
pub mod rows;
pub mod search;
pub mod seat;
pub mod session;
pub mod shape;
pub mod sqlite;
pub mod state;
pub mod tables;
pub mod task;
pub mod token;

use tenure_core::working_set::WorkingSet;
use tenure_core::working_set::table::{Record, Table};

use driver::{Driver, StoreError};

/// The migrations, in order. A store that has seen more than these is of a newer version and is not touched.
pub const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
];

/// The number of the last migration that this version knows.
#[must_use]
pub fn schema_known() -> u32 {
    u32::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Writes everything that a batch changed: what others refer to first, and the fleet row last.
pub fn flush(driver: &mut dyn Driver, set: &WorkingSet) -> Result<(), StoreError> {
    rows::flush(driver, &set.principals)?;
    rows::flush(driver, &set.accounts)?;
    rows::flush(driver, &set.tokens)?;
    rows::flush(driver, &set.sessions)?;
    rows::flush(driver, &set.projects)?;
    rows::flush(driver, &set.bindings)?;
    rows::flush(driver, &set.tallies)?;
    rows::flush(driver, &set.served)?;
    rows::flush(driver, &set.tasks)?;
    rows::flush(driver, &set.bodies)?;
    label::keep(driver, written(&set.bodies))?;
    rows::flush(driver, &set.aliases)?;
    rows::flush(driver, &set.dependencies)?;
    rows::flush(driver, &set.blockers)?;
    rows::flush(driver, &set.attempts)?;
    rows::flush(driver, &set.reporters)?;
    rows::flush(driver, &set.entries)?;
    completion::keep(driver, written(&set.entries))?;
    search::keep(driver, written(&set.bodies), written(&set.entries))?;
    event::append(driver, &set.events)?;
    rows::flush(driver, &set.receipts)?;
    fleet::save(driver, &set.fleet)
}

/// The rows of a table that a batch writes.
fn written<R: Record>(table: &Table<R>) -> impl Iterator<Item = &R> + Clone {
    table.dirty().filter_map(|(_, row)| row)
}

/// Whether a working set holds anything that [`flush`] would write besides the fleet row.
#[must_use]
pub fn is_changed(set: &WorkingSet) -> bool {
    !set.events.is_empty()
        || set.has_drafts()
        || set.principals.dirty().next().is_some()
        || set.accounts.dirty().next().is_some()
        || set.tokens.dirty().next().is_some()
        || set.sessions.dirty().next().is_some()
        || set.projects.dirty().next().is_some()
        || set.bindings.dirty().next().is_some()
        || set.tallies.dirty().next().is_some()
        || set.served.dirty().next().is_some()
        || set.tasks.dirty().next().is_some()
        || set.bodies.dirty().next().is_some()
        || set.aliases.dirty().next().is_some()
        || set.dependencies.dirty().next().is_some()
        || set.blockers.dirty().next().is_some()
        || set.attempts.dirty().next().is_some()
        || set.reporters.dirty().next().is_some()
        || set.entries.dirty().next().is_some()
        || set.receipts.dirty().next().is_some()
}
