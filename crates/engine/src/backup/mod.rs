//! Backups: written while the store serves, checked when written, and put in the place of a store that nobody serves.
//!
//! [`create`](create::create) and [`verify`](check::verify) are about the file and its manifest;
//! [`plan`](replace::plan) and [`restore`](replace::restore) are about a state folder. What becomes of the record itself
//! is [`crate::restore`].

pub mod check;
pub mod create;
mod draft;
mod past;
pub mod replace;

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tenure_core::model::refusal::{Code, Refusal};

use crate::outcome::Failure;
use crate::store::driver::{Class, StoreError};
use crate::store::folder::{FolderError, beside};

/// Why there is no backup, or no restore. Nothing that was there before was changed.
#[derive(Debug)]
pub enum BackupError {
    /// Something is in the file's place already.
    Taken(PathBuf),
    /// Another backup is being written to this file.
    Busy(PathBuf),
    /// There is no such backup, or its manifest is missing.
    Missing(PathBuf),
    /// A file is not what was written there.
    Altered(PathBuf, String),
    /// A store or backup of a newer version.
    Newer(PathBuf, StoreError),
    /// The backup is of another fleet than the one that lives in the folder.
    Foreign {
        /// The backup's fleet.
        backup: String,
        /// The folder's fleet.
        present: String,
    },
    /// The folder cannot be used, or somebody has its store open.
    Folder(FolderError),
    /// A database could not be read or written.
    Store(PathBuf, StoreError),
    /// The operating system refused.
    Io(PathBuf, io::Error),
}

impl BackupError {
    /// The operating system refused something about this file.
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Io(path, error)
    }

    /// A database in this file could not be used.
    fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        let path = path.to_owned();
        |error| match error.class {
            Class::NewerSchema => Self::Newer(path, error),
            Class::Busy
            | Class::Full
            | Class::ReadOnly
            | Class::Corrupt
            | Class::Io
            | Class::Lost
            | Class::Sync
            | Class::Other => Self::Store(path, error),
        }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(path) => write!(f, "{} is there already", path.display()),
            Self::Busy(path) => write!(f, "another backup is being written to {}", path.display()),
            Self::Missing(path) => write!(f, "there is no {}", path.display()),
            Self::Altered(path, why) => write!(f, "{} is not what was written there: {why}", path.display()),
            Self::Newer(path, error) => write!(f, "{}: {}", path.display(), error.detail),
            Self::Foreign { backup, present } => {
                write!(f, "the backup is of the fleet {backup}, and the fleet {present} lives here")
            }
            Self::Folder(error) => error.fmt(f),
            Self::Store(path, error) => write!(f, "{}: {}", path.display(), error.detail),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for BackupError {}

impl From<BackupError> for Refusal {
    fn from(error: BackupError) -> Self {
        let told = error.to_string();
        match error {
            BackupError::Taken(_) => {
                Self::new(Code::AlreadyExists, told).next("name another file, or replace an earlier backup")
            }
            BackupError::Busy(_) => Self::new(Code::StateConflict, told).next("wait until it is done"),
            BackupError::Missing(_) => Self::new(Code::NotFound, told)
                .next("a backup is a file and its manifest, FILE.json beside it"),
            BackupError::Altered(..) => Self::new(Code::InvalidInput, told).next("use another backup"),
            BackupError::Newer(..) => Self::new(Code::CannotTell, told)
                .next("use the version of tenure that wrote it, or a newer one"),
            BackupError::Foreign { .. } => Self::new(Code::StateConflict, told)
                .next("name another state folder with TENURE_STATE_DIR; an empty one takes any backup"),
            BackupError::Folder(FolderError::InUse(_)) => Self::new(Code::StateConflict, told)
                .next("end the daemon (`tenure doctor` names its process), then repeat the command"),
            BackupError::Folder(_) => Self::new(Code::CannotTell, told).next("check the folder"),
            BackupError::Store(_, StoreError { class: Class::Full, .. }) => full(told),
            BackupError::Store(_, error) => {
                let next = "look at the daemon's log, or run `tenure doctor`";
                Self::new(Self::from(Failure::from(error)).code, told).next(next)
            }
            BackupError::Io(_, error) => unusable(&error, told),
        }
    }
}

/// What the operating system refused is known not to have happened.
fn unusable(error: &io::Error, told: String) -> Refusal {
    let kind = error.kind();
    let is_of_the_name = matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
    );
    if matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        full(told)
    } else if is_of_the_name {
        Refusal::new(Code::InvalidInput, told).next("name a file in a folder that you can write to")
    } else {
        Refusal::new(Code::CannotTell, told).next("check the disk")
    }
}

fn full(told: String) -> Refusal {
    Refusal::new(Code::RequirementsMissing, told).next("make room, and repeat the command")
}

/// Where a backup's manifest is.
#[must_use]
pub fn manifest_of(file: &Path) -> PathBuf {
    beside(file, ".json")
}
