//! How the present store goes out of the way: it keeps another name.
//!
//! A store that can be read is made one file first, so that one step replaces it. One that cannot be read may need its
//! log, and two files do not change their names in one step. So both get their other names first, durably; then the
//! database loses its own, and until the backup has taken it every daemon refuses to start (`FolderError::CutOff`).
//! At no moment does a database stand without its log, or beside the log of another.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tenure_core::model::ids::Epoch;

use super::BackupError;
use super::draft::sync_folder_of;
use crate::store::driver::Driver;
use crate::store::folder::{LOG, SHARED, beside};
use crate::store::sqlite::{Role, Sqlite};

/// A step that a restore has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The backup is copied beside the store.
    Copied,
    /// The copy is in its next epoch.
    Restored,
    /// The present store has another name besides its own, and so has its log, if it still needs one.
    Kept,
    /// A present store that needs its log has its other name alone, so that daemons refuse to start.
    Vacated,
    /// No log is in the way of the copy.
    Cleared,
    /// The copy has taken the store's name.
    Replaced,
}

/// A name for the present store that no other file has, nor its log. One that was cut off gave it this name already.
pub fn free_name(database: &Path, epoch: Epoch) -> PathBuf {
    let inode = |path: &Path| path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()));
    let first = format!(".before-epoch-{epoch}");
    let further = (2..).map(|number: u64| format!("{first}-{number}"));
    let mut names = std::iter::once(first.clone()).chain(further).map(|ending| beside(database, &ending));
    let is_free = |name: &PathBuf| {
        ["", LOG].into_iter().all(|ending| {
            let found = inode(&beside(name, ending));
            found.is_none() || found == inode(&beside(database, ending))
        })
    };
    names.find(is_free).expect("a folder does not hold every name")
}

/// Moves what the log of a store that can be read holds into its database.
pub fn settle(database: &Path) -> Result<(), BackupError> {
    Sqlite::open(database, Role::Writer)
        .and_then(|mut driver| driver.settle())
        .map_err(BackupError::store(database))
}

/// Gives the present store another name, and takes its log out of the way of the database that comes. `kept` is the
/// name, if there is a store.
pub fn put_aside(
    database: &Path,
    kept: Option<&Path>,
    epoch: Epoch,
    reached: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    let log = beside(database, LOG);
    let links = match log.symlink_metadata() {
        Ok(found) if found.len() > 0 => Some(found.nlink()),
        Ok(_) => None,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(BackupError::folder(&log)(error)),
    };
    if let Some(kept) = kept {
        link(database, kept)?;
    }
    match (links, kept) {
        (Some(_), Some(kept)) => link(&log, &beside(kept, LOG))?,
        // A log without a database, which nobody has kept yet.
        (Some(1), None) => link(&log, &beside(&free_name(database, epoch), LOG))?,
        (Some(_) | None, _) => {}
    }
    sync_folder_of(database).map_err(BackupError::folder(database))?;
    reached(Step::Kept);
    if links.is_some() {
        remove(database)?;
        sync_folder_of(database).map_err(BackupError::folder(database))?;
        reached(Step::Vacated);
    }
    remove(&log)?;
    remove(&beside(database, SHARED))?;
    sync_folder_of(database).map_err(BackupError::folder(database))?;
    reached(Step::Cleared);
    Ok(())
}

/// Gives a file a second name, which may be its already.
fn link(file: &Path, name: &Path) -> Result<(), BackupError> {
    match fs::hard_link(file, name) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(BackupError::folder(name)(error)),
    }
}

/// Removes a file of the state folder, if it is there.
pub fn remove(path: &Path) -> Result<(), BackupError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BackupError::folder(path)(error)),
    }
}
