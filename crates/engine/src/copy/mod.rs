//! Copying a store into another one, which may be in another database: a state folder, or a schema of PostgreSQL.
//!
//! Both sides are held against everybody else. One committed state of the source is written into the target in one
//! transaction, from the target's first migration on. Before it is committed, the target is compared with the source,
//! table by table, and its record is walked through; then the next epoch begins in it, as after a restore. So there is
//! never a copy that is a part of a store, or one in which what was granted in the source counts. The source is left as
//! it is.

mod content;
mod error;
mod place;

use std::collections::BTreeMap;

use tenure_core::model::event::Fleet;
use tenure_core::model::ids::EventNumber;
use tenure_core::model::time::WallTime;
use tenure_core::rules::restore::{Floors, next_epoch};

use self::content::{Sum, carry_table, ready_queue, sum_of};
pub(crate) use self::place::Source;
use self::place::Target;
use crate::chain;
use crate::clock::Clocks;
use crate::execute::make;
use crate::restore::begin_epoch;
use crate::store::driver::{Driver, StoreError};
use crate::store::fill::fill_all;
use crate::store::shape::Shape;
use crate::store::{fleet, floors, schema_known, tables};

pub use error::CopyError;
pub use place::Place;

/// One side of a copy.
pub struct Side<'a> {
    /// What people call it.
    pub name: String,
    /// A connection to it.
    pub driver: &'a mut dyn Driver,
}

impl Side<'_> {
    pub(crate) fn wrong(&self, error: StoreError) -> CopyError {
        CopyError::Store(self.name.clone(), error)
    }
}

/// What a source holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its fleet row.
    pub fleet: Fleet,
    /// How many rows each table has.
    pub rows: BTreeMap<&'static str, u64>,
    /// How many tasks are ready.
    pub ready: u64,
}

/// What a copy would do, or has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// What the source holds.
    pub held: Held,
    /// The fleet row with which the next epoch begins in the target. What begins it are events too.
    pub begun: Fleet,
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many rows were written.
    Written {
        /// How many.
        done: u64,
        /// Of how many.
        all: u64,
    },
    /// What follows from these rows is being written: labels, completions, words.
    Following,
    /// So many rows of the target were compared.
    Compared {
        /// How many.
        done: u64,
        /// Of how many.
        all: u64,
    },
    /// So many events of the target's record were walked through.
    Walked(u64),
}

/// Says what a copy would do, and does nothing.
pub fn plan(from: &Place, to: &Place, clocks: &dyn Clocks) -> Result<Copied, CopyError> {
    from.refuse_same(to)?;
    let mut source = Source::open(from)?;
    let mut side = source.side();
    let (held, floors) = reading(&mut side, |side| {
        let held = look(side)?;
        Ok((held, floors::read(side.driver).map_err(|error| side.wrong(error))?))
    })?;
    Target::look(to, &held.fleet.id)?.map_or(Ok(()), Target::close)?;
    let begun = next_epoch(&held.fleet, &floors, WallTime(clocks.wall_ms()));
    source.close()?;
    Ok(Copied { held, begun: Fleet { event: EventNumber(begun.event.0 + 1), ..begun } })
}

/// Copies a store: all of it, or nothing. `heard` hears how far it is.
pub fn copy(
    from: &Place,
    to: &Place,
    clocks: &dyn Clocks,
    heard: &mut dyn FnMut(Progress),
) -> Result<Copied, CopyError> {
    from.refuse_same(to)?;
    let mut source = Source::open(from)?;
    let mut target = Target::open(to, &source.fleet()?)?;
    let copied = carry(&mut source.side(), &mut target.side(), clocks, heard)?;
    target.publish()?;
    source.close()?;
    Ok(copied)
}

/// Copies between two connections: the target's one transaction is durable afterwards, or left no trace.
///
/// This is a plain function of two stores and the clocks, so that tests can let every call of either side fail.
pub fn carry(
    from: &mut Side<'_>,
    to: &mut Side<'_>,
    clocks: &dyn Clocks,
    heard: &mut dyn FnMut(Progress),
) -> Result<Copied, CopyError> {
    refuse_occupied(to)?;
    let name = to.name.clone();
    reading(from, |from| {
        let held = look(from)?;
        let floors = floors::read(from.driver).map_err(|error| from.wrong(error))?;
        make(to.driver, |driver| {
            let mut to = Side { name, driver };
            write(from, &mut to, &held, heard)?;
            let begun = begin(&mut to, &held, clocks, &floors, heard)?;
            Ok(Copied { held, begun })
        })
        .map_err(|error: CopyError| error.at(&to.name))
    })
}

/// Refuses a target that a fleet lives in.
fn refuse_occupied(to: &mut Side<'_>) -> Result<(), CopyError> {
    match fleet::of_any_schema(to.driver).map_err(|error| to.wrong(error))? {
        Some(fleet) => Err(CopyError::Occupied { to: to.name.clone(), fleet: fleet.id }),
        None => Ok(()),
    }
}

/// Does something with one committed state of a source.
fn reading<T>(
    from: &mut Side<'_>,
    within: impl FnOnce(&mut Side<'_>) -> Result<T, CopyError>,
) -> Result<T, CopyError> {
    from.driver.begin_read().map_err(|error| from.wrong(error))?;
    let done = within(from);
    let ended = from.driver.rollback().map_err(|error| from.wrong(error));
    let done = done?;
    ended.map(|()| done)
}

/// Looks at what a source holds. One of an older schema would have to be changed to be read.
fn look(from: &mut Side<'_>) -> Result<Held, CopyError> {
    let schema = from.driver.schema().map_err(|error| from.wrong(error))?;
    let found = fleet::of_any_schema(from.driver).map_err(|error| from.wrong(error))?;
    let Some(fleet) = found else { return Err(CopyError::Missing(from.name.clone())) };
    if schema != schema_known() {
        return Err(CopyError::Outdated { from: from.name.clone(), schema });
    }
    let mut rows = BTreeMap::new();
    for shape in tables::all() {
        rows.insert(shape.table(), content::count(from, shape)?);
    }
    Ok(Held { fleet, rows, ready: ready_queue(from)?.rows })
}

/// Writes everything into the target, and compares what it has then.
fn write(
    from: &mut Side<'_>,
    to: &mut Side<'_>,
    held: &Held,
    heard: &mut dyn FnMut(Progress),
) -> Result<(), CopyError> {
    let all = held.rows.values().sum();
    let mut done = 0;
    let mut sums: Vec<(&'static Shape, Sum)> = Vec::new();
    for shape in tables::all() {
        let sum =
            carry_table(from, to, shape, &mut |rows| heard(Progress::Written { done: done + rows, all }))?;
        done += sum.rows;
        sums.push((shape, sum));
    }
    heard(Progress::Following);
    fill_all(to.driver, &mut || heard(Progress::Following)).map_err(|error| to.wrong(error))?;
    let mut done = 0;
    for (shape, sum) in sums {
        let there = sum_of(to, shape, &mut |rows| heard(Progress::Compared { done: done + rows, all }))?;
        done += there.rows;
        if there != sum || Some(&sum.rows) != held.rows.get(shape.table()) {
            return Err(CopyError::Differs {
                to: to.name.clone(),
                what: format!("the table {}", shape.table()),
            });
        }
    }
    if ready_queue(from)? != ready_queue(to)? {
        return Err(CopyError::Differs { to: to.name.clone(), what: "the ready queue".to_owned() });
    }
    Ok(())
}

/// Walks through the target's record, and begins the next epoch behind it.
fn begin(
    to: &mut Side<'_>,
    held: &Held,
    clocks: &dyn Clocks,
    floors: &Floors,
    heard: &mut dyn FnMut(Progress),
) -> Result<Fleet, CopyError> {
    let record = chain::walk(to.driver, None, &mut |events| heard(Progress::Walked(events)));
    let record = record.map_err(|error| to.wrong(error))?;
    // What the target has is what the source has.
    if let Some(flaw) = record.flaw {
        return Err(CopyError::Broken(flaw));
    }
    if record.head != held.fleet.head {
        return Err(CopyError::Differs { to: to.name.clone(), what: "the end of the record".to_owned() });
    }
    begin_epoch(to.driver, clocks, floors).map_err(|error| to.wrong(error))
}
