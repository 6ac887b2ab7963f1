//! A store that was restored by other means than ours: a database from a dump, or from a base backup and its log up to a
//! moment; a machine or a disk from a snapshot. Nothing in it says so, and whoever serves it would believe leases, cursors
//! and sessions of a future that is lost. Whoever restored it says so here, and the next epoch begins.
//!
//! The store may be of an older version than this one. Its migrations, the walk through its record and the next epoch are
//! one transaction. What was handed out after the moment that it was restored to, nobody tells: every number goes far on.

use std::fmt;

use tenure_core::model::event::{Event, EventKind, Fleet};
use tenure_core::model::ids::{Epoch, EventNumber};
use tenure_core::model::refusal::Refusal;
use tenure_core::model::time::WallTime;
use tenure_core::rules::restore::{Floors, Told};

use crate::chain;
use crate::clock::Clocks;
use crate::copy::{CopyError, Place, Side, Source};
use crate::execute::make;
use crate::restore::begin_epoch;
use crate::store::driver::{Class, StoreError};
use crate::store::fill::fill;
use crate::store::{event, fleet, floors};

/// What would become of a restored store, or has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Its fleet row as it was found.
    pub found: Fleet,
    /// The last event that it has.
    pub last: Event,
    /// How many leases ended.
    pub leases: u64,
    /// How many sessions ended.
    pub sessions: u64,
    /// The epoch that begins.
    pub epoch: Epoch,
    /// The number of its first event.
    pub event: EventNumber,
}

/// Whether something is done, or only said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Only say what would be done.
    Plan,
    /// Do it.
    Begin,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A store of an older version is brought up to this one.
    Upgrading,
    /// So many events of its record were walked through.
    Walked(u64),
}

/// Why no epoch began. Nothing was changed, unless the commit of a database was not confirmed.
#[derive(Debug)]
pub struct RestoredError(CopyError);

impl From<CopyError> for RestoredError {
    fn from(error: CopyError) -> Self {
        Self(error)
    }
}

/// How the transaction ends without a commit.
enum Undone {
    Failed(CopyError),
    Planned(Box<Restored>),
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Begins the next epoch of a store that was restored, or does all of it and takes it back. `heard` hears how far it is.
pub fn restored(
    place: &Place,
    wish: Wish,
    clocks: &dyn Clocks,
    heard: &mut dyn FnMut(Progress),
) -> Result<Restored, RestoredError> {
    let mut source = Source::to_go_on(place)?;
    let done =
        go_on(&mut source.side(), wish, clocks, heard).map_err(|error| error.at(&place.to_string()))?;
    // The epoch has begun, or was only planned. What is held goes with the connection.
    let _ = source.close();
    Ok(done)
}

/// The same on a connection. Tests let every call of it fail.
pub fn go_on(
    side: &mut Side<'_>,
    wish: Wish,
    clocks: &dyn Clocks,
    heard: &mut dyn FnMut(Progress),
) -> Result<Restored, CopyError> {
    let name = side.name.clone();
    let from = side.driver.schema()?;
    if fleet::of_any_schema(side.driver)?.is_none() {
        return Err(CopyError::Missing(name));
    }
    let done = make(side.driver, |driver| {
        fill(driver, from, &mut || heard(Progress::Upgrading))?;
        let mut side = Side { name, driver };
        let restored = begin(&mut side, clocks, heard).map_err(Undone::Failed)?;
        match wish {
            Wish::Plan => Err(Undone::Planned(Box::new(restored))),
            Wish::Begin => Ok(restored),
        }
    });
    match done {
        Ok(restored) => {
            // The epoch has begun. What could not be moved is still in the log, and whoever serves it reads it there.
            let _ = side.driver.settle();
            Ok(restored)
        }
        Err(Undone::Planned(restored)) => Ok(*restored),
        Err(Undone::Failed(error)) => Err(error),
    }
}

/// Walks through the record, and begins the next epoch behind it.
fn begin(
    side: &mut Side<'_>,
    clocks: &dyn Clocks,
    heard: &mut dyn FnMut(Progress),
) -> Result<Restored, CopyError> {
    let found = fleet::existing(side.driver)?;
    if let Some(flaw) = chain::walk(side.driver, None, &mut |events| heard(Progress::Walked(events)))?.flaw {
        return Err(CopyError::Broken(flaw));
    }
    let last = event::newest(side.driver, None, 1)?.0.pop();
    let last = last.ok_or_else(|| StoreError::corrupt("the record has no event"))?.event;
    let known = floors::read(side.driver)?;
    let floors = Floors::after(known, found.wall, Told::Nothing, WallTime(clocks.wall_ms()));
    let event = EventNumber(floors.event.0 + 1);
    let epoch = begin_epoch(side.driver, clocks, &floors)?.epoch;
    let kinds = event::kinds_after(side.driver, found.event)?;
    let count = |kind: EventKind| kinds.get(kind.as_str()).copied().unwrap_or_default();
    let (leases, sessions) = (count(EventKind::AttemptVoided), count(EventKind::SessionClosed));
    Ok(Restored { found, last, leases, sessions, epoch, event })
}

impl fmt::Display for RestoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for RestoredError {}

/// What can be done about it is another thing than for a copy where the store itself is to blame.
impl From<RestoredError> for Refusal {
    fn from(RestoredError(error): RestoredError) -> Self {
        let next = match &error {
            CopyError::Served(_) => {
                "end every `tenure serve` that serves it, also those that wait for it, and repeat the command"
            }
            CopyError::Broken(_) => {
                "restore it to another moment or from another backup, and repeat the command"
            }
            CopyError::Store(_, StoreError { class: Class::Lost | Class::Sync, .. }) => {
                "nobody knows whether the epoch began: repeat the command, which begins another one at worst"
            }
            CopyError::Same(_)
            | CopyError::Missing(_)
            | CopyError::Outdated { .. }
            | CopyError::Occupied { .. }
            | CopyError::InTheWay(_)
            | CopyError::Unholdable { .. }
            | CopyError::Differs { .. }
            | CopyError::Folder(_)
            | CopyError::Store(..) => return error.into(),
        };
        let mut refusal = Self::from(error);
        refusal.next_actions = vec![next.to_owned()];
        refusal
    }
}
