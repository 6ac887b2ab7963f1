//! The fleet row: one row that every batch writes.

use tenure_core::model::event::Fleet;
use tenure_core::model::ids::{Epoch, EventNumber};
use tenure_core::model::time::{FleetTime, WallTime};

use super::driver::{Driver, Fields, StoreError, Values};

/// Reads the fleet row, or nothing from a store that has none yet.
pub fn load(driver: &mut dyn Driver) -> Result<Option<Fleet>, StoreError> {
    let mut fleet = None;
    driver.query("SELECT id, epoch, time, wall, event, head FROM fleet", &[], &mut |row| {
        let mut fields = Fields::of(row);
        fleet = Some(Fleet {
            id: fields.text()?.to_owned(),
            epoch: Epoch(fields.count()?),
            time: FleetTime(fields.integer()?),
            wall: WallTime(fields.integer()?),
            event: EventNumber(fields.count()?),
            head: fields.parse()?,
        });
        Ok(())
    })?;
    Ok(fleet)
}

/// Reads the fleet row of a store that must have one.
pub fn existing(driver: &mut dyn Driver) -> Result<Fleet, StoreError> {
    load(driver)?.ok_or_else(|| StoreError::corrupt("the store has no fleet row"))
}

/// Writes the fleet row of a new store.
pub fn create(driver: &mut dyn Driver, fleet: &Fleet) -> Result<(), StoreError> {
    let sql = "INSERT INTO fleet (epoch, time, wall, event, head, id) VALUES ($1, $2, $3, $4, $5, $6)";
    driver.execute(sql, &values(fleet).0).map(|_| ())
}

/// Writes the fleet row.
pub fn save(driver: &mut dyn Driver, fleet: &Fleet) -> Result<(), StoreError> {
    let sql = "UPDATE fleet SET epoch = $1, time = $2, wall = $3, event = $4, head = $5 WHERE id = $6";
    let changed = driver.execute(sql, &values(fleet).0)?;
    if changed == 1 { Ok(()) } else { Err(StoreError::corrupt("the fleet row is gone")) }
}

fn values(fleet: &Fleet) -> Values<'_> {
    let mut values = Values::default();
    values.count(fleet.epoch.0);
    values.integer(fleet.time.0);
    values.integer(fleet.wall.0);
    values.count(fleet.event.0);
    values.shown(&fleet.head);
    values.text(&fleet.id);
    values
}
