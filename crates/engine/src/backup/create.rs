//! Taking a backup while the store serves: a consistent copy, checked before it gets its name, then its manifest.

use std::path::Path;

use tenure_core::model::backup::{MANIFEST_VERSION, Manifest};
use tenure_core::model::ids::Digest;
use tenure_core::model::time::WallTime;

use super::BackupError;
use super::check::{Found, look, measure};
use super::pair::Pair;
pub use super::pair::Step;
use crate::store::driver::Driver;
use crate::store::fleet;

/// Writes the last committed state and its manifest. The manifest comes last: a file without one is no backup.
///
/// `replace` takes the place of an earlier backup of the same fleet that is whole, and of nothing else. `reached` hears of each step when it is done.
pub fn create(
    driver: &mut dyn Driver,
    file: &Path,
    replace: bool,
    now: WallTime,
    reached: &mut dyn FnMut(Step),
) -> Result<Manifest, BackupError> {
    let own = fleet::existing_of_any_schema(driver).map_err(BackupError::store(file))?;
    let mut pair = Pair::begin(file, replace.then_some(own.id.as_str()))?;
    driver.backup(pair.copy.path()).map_err(BackupError::unless_damaged(file, BackupError::Damaged))?;
    let Found { fleet, schema, database } = look(pair.copy.path()).map_err(of_the_store)?;
    let measured = measure(pair.copy.file(), file, &mut |_, _| Ok(()))?;
    let manifest = Manifest {
        v: MANIFEST_VERSION,
        fleet: fleet.id,
        epoch: fleet.epoch,
        event: fleet.event,
        head: fleet.head,
        schema,
        bytes: measured.bytes,
        sha256: measured.sha256,
        taken_at: now,
        tenure: env!("CARGO_PKG_VERSION").to_owned(),
        database,
        seal: Digest([0; 32]),
    }
    .sealed();
    pair.publish(&manifest, reached)?;
    Ok(manifest)
}

/// What is wrong with a copy that was made just now is wrong with the store.
fn of_the_store(error: BackupError) -> BackupError {
    let BackupError::Altered(_, flaw) = error else { return error };
    BackupError::Damaged(flaw)
}
