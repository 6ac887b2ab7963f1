//! Whether a backup is what was written: every byte of it, and what it says of itself.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use tenure_core::model::backup::Manifest;
use tenure_core::model::event::Fleet;
use tenure_core::model::ids::Digest;
use tenure_core::model::limits::MANIFEST_BYTES;

use super::draft::is_cut_off;
use super::{BackupError, Progress, manifest_of};
use crate::chain;
use crate::store::driver::Driver;
use crate::store::fleet;
use crate::store::sqlite::Sqlite;

/// How much of a file is read at once.
const PIECE: usize = 256 * 1024;

/// Checks a backup against its manifest: its digest, every page of its database, and its whole record.
pub fn verify(file: &Path, heard: &mut dyn FnMut(Progress)) -> Result<Manifest, BackupError> {
    let manifest = manifest(file)?;
    let all = manifest.bytes;
    let measured = measure(&mut open(file)?, file, &mut |_, done| {
        heard(Progress::Compared { done, all });
        Ok(())
    })?;
    refuse_other(file, &manifest, &measured)?;
    heard(Progress::Walking);
    let found = look(file)?;
    let stored = (&found.fleet.id, found.fleet.epoch, found.fleet.event, found.fleet.head, found.schema);
    if stored != (&manifest.fleet, manifest.epoch, manifest.event, manifest.head, manifest.schema) {
        return Err(BackupError::Altered(file.to_owned(), "its manifest is of another store".to_owned()));
    }
    Ok(manifest)
}

/// Reads a backup's manifest.
pub fn manifest(file: &Path) -> Result<Manifest, BackupError> {
    let path = manifest_of(file);
    // Whoever names a backup that is not there should hear that first.
    open(file)?;
    let beside = match open(&path) {
        Err(BackupError::Missing(manifest)) => {
            let is_cut_off = is_cut_off(file);
            return Err(BackupError::Unvouched { file: file.to_owned(), manifest, is_cut_off });
        }
        opened => opened?,
    };
    let mut bytes = Vec::new();
    let read = beside.take(MANIFEST_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(BackupError::reading(&path))?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no text".to_owned());
    text.and_then(|text| Manifest::from_text(&text)).map_err(|why| BackupError::Altered(path, why))
}

/// Opens a regular file to read it.
pub(super) fn open(path: &Path) -> Result<File, BackupError> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(BackupError::Missing(path.to_owned()));
        }
        Err(error) => return Err(BackupError::Unreadable(path.to_owned(), error)),
    };
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(file),
        Ok(_) => Err(BackupError::Altered(path.to_owned(), "it is no regular file".to_owned())),
        Err(error) => Err(BackupError::Unreadable(path.to_owned(), error)),
    }
}

/// How long a file is, and its digest.
pub(super) struct Measured {
    pub bytes: u64,
    pub sha256: Digest,
}

/// What hears each piece of a file, and how many bytes were read with it.
pub(super) type Piece<'a> = dyn FnMut(&[u8], u64) -> Result<(), BackupError> + 'a;

/// Measures a file. `piece` hears of it as it is read.
pub(super) fn measure(from: &mut File, path: &Path, piece: &mut Piece<'_>) -> Result<Measured, BackupError> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; PIECE];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(Measured { bytes, sha256: Digest(hasher.finalize().into()) }),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
                piece(&buffer[..read], bytes)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(BackupError::Unreadable(path.to_owned(), error)),
        }
    }
}

/// The same of a file that nobody has open, without word of its pieces.
pub(super) fn measured(file: &Path) -> Result<Measured, BackupError> {
    measure(&mut open(file)?, file, &mut |_, _| Ok(()))
}

/// Refuses a backup of another fleet than one that is there.
pub(super) fn refuse_foreign(manifest: &Manifest, present: &str) -> Result<(), BackupError> {
    if present.is_empty() || present == manifest.fleet {
        return Ok(());
    }
    Err(BackupError::Foreign { backup: manifest.fleet.clone(), present: present.to_owned() })
}

/// Refuses a file that is not the one that a manifest is of.
pub(super) fn refuse_other(file: &Path, manifest: &Manifest, found: &Measured) -> Result<(), BackupError> {
    let altered = |why| Err(BackupError::Altered(file.to_owned(), why));
    if found.bytes != manifest.bytes {
        return altered(format!("it has {} bytes, not {}", found.bytes, manifest.bytes));
    }
    if found.sha256 != manifest.sha256 {
        return altered(format!("its SHA-256 is {}, not {}", found.sha256, manifest.sha256));
    }
    Ok(())
}

/// What a database file holds.
pub(super) struct Found {
    pub fleet: Fleet,
    pub schema: u32,
    pub database: String,
}

/// Looks into a database that nobody has open, and walks through its record.
pub(super) fn look(file: &Path) -> Result<Found, BackupError> {
    let altered = |detail| BackupError::Altered(file.to_owned(), detail);
    let wrong = BackupError::unless_damaged(file, altered);
    let mut driver = Sqlite::open_whole(file).map_err(wrong)?;
    if let Some(flaw) = chain::verify(&mut driver, &mut |_| {}).map_err(wrong)?.flaw {
        return Err(BackupError::Altered(file.to_owned(), flaw.to_string()));
    }
    Ok(Found {
        fleet: fleet::existing_of_any_schema(&mut driver).map_err(wrong)?,
        schema: driver.schema().map_err(wrong)?,
        database: driver.version().map_err(wrong)?,
    })
}
