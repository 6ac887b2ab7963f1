//! How far a store's counters have come: what it may have handed out.

use tenure_core::model::task::Details;
use tenure_core::rules::restore::Floors;

use super::driver::{Driver, Fields, StoreError};
use super::fleet;

/// The highest number of each column that counts within its record.
const COUNTERS: [&str; 4] = [
    "SELECT coalesce(max(generation), 0) FROM task",
    "SELECT coalesce(max(revision), 0) FROM task",
    "SELECT coalesce(max(revision), 0) FROM project",
    "SELECT coalesce(max(number), 0) FROM blocker",
];

/// Reads how far every counter has come.
pub fn read(driver: &mut dyn Driver) -> Result<Floors, StoreError> {
    let fleet = fleet::existing_of_any_schema(driver)?;
    let mut floors = Floors {
        epoch: fleet.epoch,
        event: fleet.event,
        time: fleet.time,
        counters: fleet.floor,
        ..Floors::default()
    };
    for sql in COUNTERS {
        driver.query(sql, &[], &mut |row| {
            floors.counters = Fields::of(row).count::<u64>()?.max(floors.counters);
            Ok(())
        })?;
    }
    // The ids of criteria are counted within a task's details.
    driver.query("SELECT details FROM body WHERE details LIKE '%\"criteria_given\"%'", &[], &mut |row| {
        floors.counters = Fields::of(row).json::<Details>()?.criteria_given.max(floors.counters);
        Ok(())
    })?;
    driver.query("SELECT key, tasks_issued FROM project", &[], &mut |row| {
        let mut fields = Fields::of(row);
        floors.tasks.insert(fields.parse()?, fields.count()?);
        Ok(())
    })?;
    Ok(floors)
}
