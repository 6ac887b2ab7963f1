//! Taking a backup while the store serves: a consistent copy, checked before it gets its name, then its manifest.

use std::io::{self, Write};
use std::path::Path;

use tenure_core::model::backup::{MANIFEST_VERSION, Manifest};
use tenure_core::model::ids::Digest;
use tenure_core::model::time::WallTime;

use super::check::{self, look, measure};
use super::draft::{Draft, refuse_taken};
use super::{BackupError, manifest_of};
use crate::store::driver::Driver;

/// Writes the last committed state and its manifest. The manifest comes last: a file without one is no backup.
///
/// `replace` takes the place of an earlier backup, and of nothing else.
pub fn create(
    driver: &mut dyn Driver,
    file: &Path,
    replace: bool,
    now: WallTime,
) -> Result<Manifest, BackupError> {
    let manifest_path = manifest_of(file);
    let replace = replace && file.symlink_metadata().is_ok();
    if replace {
        check::manifest(file)?;
    } else {
        refuse_taken(file)?;
        refuse_taken(&manifest_path)?;
    }
    let mut copy = Draft::of(file)?;
    driver.backup(copy.path()).map_err(BackupError::store(file))?;
    let found = look(copy.path())?;
    let measured = measure(copy.file(), &mut io::sink()).map_err(BackupError::io(file))?;
    let manifest = Manifest {
        v: MANIFEST_VERSION,
        fleet: found.fleet.id,
        epoch: found.fleet.epoch,
        event: found.fleet.event,
        head: found.fleet.head,
        schema: found.schema,
        bytes: measured.bytes,
        sha256: measured.sha256,
        taken_at: now,
        tenure: env!("CARGO_PKG_VERSION").to_owned(),
        database: found.database,
        seal: Digest([0; 32]),
    }
    .sealed();
    let mut beside = Draft::of(&manifest_path)?;
    beside.file().write_all(manifest.to_text().as_bytes()).map_err(BackupError::io(&manifest_path))?;
    copy.publish(replace)?;
    beside.publish(replace)?;
    Ok(manifest)
}
