//! What becomes of a backup's store before it serves again: the next epoch, in which nothing granted before counts.

use tenure_core::envelope::{Call, Envelope};
use tenure_core::model::event::Fleet;
use tenure_core::model::limits::Durations;
use tenure_core::model::time::{Now, WallTime};
use tenure_core::rules::restore::{Floors, next_epoch, void};
use tenure_core::working_set::{Stop, WorkingSet};

use crate::clock::Clocks;
use crate::execute::{ROUNDS_MAX, write};
use crate::store::batch::Store;
use crate::store::driver::StoreError;

/// Begins the next epoch of a store that holds what a backup held: attempts and sessions are voided, counters begin
/// after `floors`, and the record says so. One transaction: it happens whole or not at all.
///
/// This is a plain function of a store, the clocks and what may have been handed out, as `run_batch` is: simulation
/// calls exactly what `tenure restore` calls.
pub fn restore<S: Store + ?Sized>(
    store: &mut S,
    clocks: &dyn Clocks,
    floors: &Floors,
) -> Result<Fleet, StoreError> {
    write(store, |store| begin_epoch(store, clocks, floors))
}

/// The same within a write that has begun.
pub(crate) fn begin_epoch<S: Store + ?Sized>(
    store: &mut S,
    clocks: &dyn Clocks,
    floors: &Floors,
) -> Result<Fleet, StoreError> {
    let before = store.fleet()?;
    let mut set = WorkingSet::new(next_epoch(&before, floors, WallTime(clocks.wall_ms())));
    let now = Now { fleet: set.fleet.time, wall: set.fleet.wall };
    let call = Call::new(set.fleet.epoch, now, Envelope::default(), Durations::default());
    for _ in 0..ROUNDS_MAX {
        match void(&mut set, &call, &before, floors) {
            Ok(()) => {
                set.keep(&call, None);
                store.flush(&set)?;
                return Ok(set.fleet);
            }
            Err(Stop::Need(needs)) => {
                set.undo();
                store.load(&mut set, needs, call.now)?;
            }
            Err(Stop::Refused(refusal)) => return Err(StoreError::corrupt(refusal.detail)),
        }
    }
    Err(StoreError::corrupt("what the restore needs is not found, however often it is asked for"))
}
