//! The fleet row: one row that every batch writes.

use tenure_core::model::event::Fleet;
use tenure_core::model::ids::{Epoch, EventNumber};
use tenure_core::model::time::{FleetTime, WallTime};

use super::driver::{Driver, Fields, StoreError, Values};
use super::shape::Shape;

static FLEET: Shape = Shape::new("fleet", &["id", "epoch", "time", "wall", "event", "head", "floor"], 1, 1);

/// The table.
#[must_use]
pub fn shape() -> &'static Shape {
    &FLEET
}

/// From which schema on the row has a floor.
const FLOOR_SINCE: u32 = 2;

const ROW: &str = "SELECT id, epoch, time, wall, event, head, floor FROM fleet";

/// Reads the fleet row, or nothing from a store that has none yet.
pub fn load(driver: &mut dyn Driver) -> Result<Option<Fleet>, StoreError> {
    load_by(driver, ROW)
}

/// Says that the fleet row will be read.
pub fn foresee(driver: &mut dyn Driver) -> Result<(), StoreError> {
    driver.foresee(ROW, &[])
}

/// Reads the fleet row of a store that an older version may have left, as it is.
pub fn existing_of_any_schema(driver: &mut dyn Driver) -> Result<Fleet, StoreError> {
    of_any_schema(driver)?.ok_or_else(missing)
}

/// The same, or nothing from a store that no fleet lives in.
pub fn of_any_schema(driver: &mut dyn Driver) -> Result<Option<Fleet>, StoreError> {
    match driver.schema()? {
        0 => Ok(None),
        FLOOR_SINCE.. => load(driver),
        _ => load_by(driver, "SELECT id, epoch, time, wall, event, head, 0 FROM fleet"),
    }
}

fn load_by(driver: &mut dyn Driver, sql: &str) -> Result<Option<Fleet>, StoreError> {
    let mut fleet = None;
    driver.query(sql, &[], &mut |row| {
        let mut fields = Fields::of(row);
        fleet = Some(Fleet {
            id: fields.text()?.to_owned(),
            epoch: Epoch(fields.count()?),
            time: FleetTime(fields.integer()?),
            wall: WallTime(fields.integer()?),
            event: EventNumber(fields.count()?),
            head: fields.parse()?,
            floor: fields.count()?,
        });
        Ok(())
    })?;
    Ok(fleet)
}

/// Reads the fleet row of a store that must have one.
pub fn existing(driver: &mut dyn Driver) -> Result<Fleet, StoreError> {
    load(driver)?.ok_or_else(missing)
}

fn missing() -> StoreError {
    StoreError::corrupt("the store has no fleet row")
}

/// Writes the fleet row of a new store.
pub fn create(driver: &mut dyn Driver, fleet: &Fleet) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO fleet (epoch, time, wall, event, head, floor, id) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    driver.execute(sql, &values(fleet).0).map(|_| ())
}

/// Writes the fleet row.
pub fn save(driver: &mut dyn Driver, fleet: &Fleet) -> Result<(), StoreError> {
    let sql =
        "UPDATE fleet SET epoch = $1, time = $2, wall = $3, event = $4, head = $5, floor = $6 WHERE id = $7";
    driver.write(sql, &values(fleet).0, Some(1))
}

fn values(fleet: &Fleet) -> Values<'_> {
    let mut values = Values::default();
    values.count(fleet.epoch.0);
    values.integer(fleet.time.0);
    values.integer(fleet.wall.0);
    values.count(fleet.event.0);
    values.shown(&fleet.head);
    values.count(fleet.floor);
    values.text(&fleet.id);
    values
}
