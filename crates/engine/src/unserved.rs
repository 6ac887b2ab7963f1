//! A store looked at without its daemon, and left as it is.

use std::path::Path;

use tenure_core::model::event::Fleet;

use crate::OpenError;
use crate::chain::{self, ChainReport};
use crate::store::driver::{Driver, StoreError};
use crate::store::fleet;
use crate::store::folder::{database_in, hold_existing};
use crate::store::sqlite::Sqlite;

/// What was found of a store whose every page is whole.
#[derive(Debug)]
pub struct Looked {
    /// The number of its last migration.
    pub schema: u32,
    /// Its fleet row.
    pub fleet: Fleet,
    /// What the walk along its record found, if there was one.
    pub record: Option<ChainReport>,
}

/// Checks every page of the store in a folder, and its record if that is wished; `progress` hears how many events are
/// behind it. Nothing where there is no store. A store that somebody has open is refused, and none can open it
/// meanwhile.
pub fn look(
    folder: &Path,
    walks_record: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<Looked>, OpenError> {
    let Some(hold) = hold_existing(folder).map_err(OpenError::Folder)? else { return Ok(None) };
    let mut read = || -> Result<Looked, StoreError> {
        // The connection ends before the lock does.
        let mut driver = Sqlite::open_whole(hold.database())?;
        let record = if walks_record { Some(chain::verify(&mut driver, progress)?) } else { None };
        Ok(Looked { schema: driver.schema()?, fleet: fleet::existing_of_any_schema(&mut driver)?, record })
    };
    read().map(Some).map_err(|error| OpenError::Store(hold.database().display().to_string(), error))
}

/// Checks every page of the store in a folder, also while a daemon serves it. The record is the daemon's to walk along.
pub fn pages(folder: &Path) -> Result<(), OpenError> {
    let database = database_in(folder);
    Sqlite::open_whole(&database)
        .map(drop)
        .map_err(|error| OpenError::Store(database.display().to_string(), error))
}
