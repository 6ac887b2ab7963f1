//! Taking a backup while the store serves: a consistent copy, checked before it gets its name, then its manifest.

use std::path::Path;

use tenure_core::model::backup::{MANIFEST_VERSION, Manifest};
use tenure_core::model::ids::Digest;
use tenure_core::model::time::WallTime;

use super::BackupError;
use super::check::{Found, look, measure};
use super::pair::Pair;
pub use super::pair::Step;
use crate::store::driver::{Class, Driver};

/// Writes the last committed state and its manifest. The manifest comes last: a file without one is no backup.
///
/// `replace` takes the place of an earlier backup, and of nothing else. `reached` hears of each step when it is done.
pub fn create(
    driver: &mut dyn Driver,
    file: &Path,
    replace: bool,
    now: WallTime,
    reached: &mut dyn FnMut(Step),
) -> Result<Manifest, BackupError> {
    let mut pair = Pair::begin(file, replace)?;
    driver.backup(pair.copy.path()).map_err(|error| match error.class {
        Class::Corrupt => BackupError::Damaged(error.detail),
        Class::Busy
        | Class::Full
        | Class::ReadOnly
        | Class::NewerSchema
        | Class::Io
        | Class::Lost
        | Class::Sync
        | Class::Other => BackupError::Store(file.to_owned(), error),
    })?;
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
