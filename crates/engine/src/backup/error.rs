//! Why there is no backup, or no restore, and what that is for whoever asked.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tenure_core::model::refusal::{Code, Refusal};

use crate::store::driver::{Class, StoreError};
use crate::store::folder::FolderError;

/// Why there is no backup, or no restore. What was there before is there, though a restore that failed late may have
/// left it under its other name.
#[derive(Debug)]
pub enum BackupError {
    /// The store is in a database with backups of its own kind.
    Elsewhere(String),
    /// Something is in the file's place already.
    Taken(PathBuf),
    /// The name is one that the store itself uses.
    Own(PathBuf),
    /// Another backup is being written to this file.
    Busy(PathBuf),
    /// There is no such backup.
    Missing(PathBuf),
    /// A file stands without the manifest that would make it a backup.
    Unvouched {
        /// The file.
        file: PathBuf,
        /// Where its manifest should be.
        manifest: PathBuf,
        /// Whether a backup into this file was cut off.
        is_cut_off: bool,
    },
    /// A file is not what was written there.
    Altered(PathBuf, String),
    /// The store that a backup was to be of is damaged.
    Damaged(String),
    /// The backup is of another fleet than the one that lives in the folder.
    Foreign {
        /// The backup's fleet.
        backup: String,
        /// The folder's fleet.
        present: String,
    },
    /// The state folder cannot be used, or somebody has its store open.
    Folder(FolderError),
    /// A database could not be read or written, or is of a newer version.
    Store(PathBuf, StoreError),
    /// A backup could not be read.
    Unreadable(PathBuf, io::Error),
    /// A backup could not be written.
    Unwritable(PathBuf, io::Error),
}

impl BackupError {
    /// A file of a backup could not be read.
    pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Unreadable(path, error)
    }

    /// A file of a backup could not be written.
    pub(super) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Unwritable(path, error)
    }

    /// Something in the state folder could not be used.
    pub(super) fn folder(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Folder(FolderError::Io(path, error))
    }

    /// A database in this file could not be used.
    pub(super) fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        let path = path.to_owned();
        |error| Self::Store(path, error)
    }

    /// The same, except that a database which is damaged is told by another name.
    pub(super) fn unless_damaged<'a>(
        path: &'a Path,
        damaged: impl Fn(String) -> Self + Copy + 'a,
    ) -> impl Fn(StoreError) -> Self + Copy + 'a {
        move |error| match error.class {
            Class::Corrupt => damaged(error.detail),
            Class::Busy
            | Class::Full
            | Class::ReadOnly
            | Class::NewerSchema
            | Class::Io
            | Class::Lost
            | Class::Sync
            | Class::Other => Self::Store(path.to_owned(), error),
        }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere(place) => write!(f, "the store is in {place}, which is not backed up from here"),
            Self::Taken(path) => write!(f, "{} is there already", path.display()),
            Self::Own(path) => write!(f, "{} is a name that the store itself uses", path.display()),
            Self::Busy(path) => write!(f, "another backup is being written to {}", path.display()),
            Self::Missing(path) => write!(f, "there is no {}", path.display()),
            Self::Unvouched { file, manifest, is_cut_off: false } => {
                write!(f, "there is no {}, so {} is no backup", manifest.display(), file.display())
            }
            Self::Unvouched { file, manifest, is_cut_off: true } => {
                write!(f, "there is no {}: a backup to {} was cut off", manifest.display(), file.display())
            }
            Self::Altered(path, why) => write!(f, "{} is not what was written there: {why}", path.display()),
            Self::Damaged(why) => write!(f, "the store itself is damaged: {why}"),
            Self::Foreign { backup, present } => {
                write!(f, "the backup is of the fleet {backup}, and the fleet {present} lives here")
            }
            Self::Folder(error) => error.fmt(f),
            Self::Store(path, error) => write!(f, "{}: {}", path.display(), error.detail),
            Self::Unreadable(path, error) | Self::Unwritable(path, error) => {
                write!(f, "{}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for BackupError {}

/// What is worth a repetition says so, and its code too.
impl From<BackupError> for Refusal {
    fn from(error: BackupError) -> Self {
        let (code, next) = error.answer();
        Self::new(code, error.to_string()).next(next)
    }
}

const MAKE_ROOM: (Code, &str) = (Code::DiskFull, "make room, and repeat the command");
const CHECK_DISK: (Code, &str) = (Code::CannotTell, "check the disk, and repeat the command");

impl BackupError {
    fn answer(&self) -> (Code, &'static str) {
        match self {
            Self::Elsewhere(_) => (
                Code::NotYetBuilt,
                "back it up with PostgreSQL's own means: `pg_dump` with the schema, or a base backup with its log",
            ),
            Self::Taken(_) => {
                (Code::AlreadyExists, "name another file, or replace an earlier backup with --replace")
            }
            Self::Own(_) => (Code::InvalidInput, "name a file in another folder"),
            Self::Busy(_) => (Code::InUse, "wait until it is done, and repeat the command"),
            Self::Missing(_) => {
                (Code::NotFound, "check the name; a backup is a file and its manifest, FILE.json beside it")
            }
            Self::Unvouched { is_cut_off: false, .. } => (
                Code::NotFound,
                "name a backup that has its manifest, FILE.json beside it; nothing else is restored or replaced",
            ),
            Self::Unvouched { is_cut_off: true, .. } => (
                Code::NotFound,
                "if a backup was cut off here, take it anew with `tenure backup create FILE --replace`",
            ),
            Self::Altered(..) => (
                Code::InvalidInput,
                "copy the backup and its manifest again from where they were written, or name another backup; one that \
                 is not whole is neither restored nor replaced",
            ),
            Self::Damaged(_) => DAMAGED,
            Self::Foreign { .. } => (
                Code::StateConflict,
                "name another state folder with TENURE_STATE_DIR; an empty one takes any backup",
            ),
            Self::Folder(error) => of_folder(error),
            Self::Store(_, error) => of_store(error.class),
            Self::Unreadable(_, error) => {
                if is_of_the_name(error.kind()) {
                    (Code::InvalidInput, "name a file that you can read")
                } else {
                    CHECK_DISK
                }
            }
            Self::Unwritable(_, error) => {
                if is_of_the_name(error.kind()) {
                    (Code::InvalidInput, "name a file in a folder that you can write to")
                } else if is_full(error.kind()) {
                    MAKE_ROOM
                } else {
                    CHECK_DISK
                }
            }
        }
    }
}

const DAMAGED: (Code, &str) = (
    Code::StateConflict,
    "keep the backups that you have, end the daemon, look with `tenure doctor --offline`, and put \
        one of them in the store's place with `tenure restore FILE`",
);

fn of_folder(error: &FolderError) -> (Code, &'static str) {
    match error {
        FolderError::InUse(_) => (Code::InUse, error.remedy()),
        FolderError::Network(..) => (Code::InvalidInput, error.remedy()),
        FolderError::Emptied { .. }
        | FolderError::Foreign { .. }
        | FolderError::Elsewhere { .. }
        | FolderError::Own(_)
        | FolderError::CutOff { .. } => (Code::StateConflict, error.remedy()),
        FolderError::Io(_, why) if is_full(why.kind()) => MAKE_ROOM,
        FolderError::Io(..) => (Code::CannotTell, error.remedy()),
    }
}

fn of_store(class: Class) -> (Code, &'static str) {
    match class {
        Class::Full => MAKE_ROOM,
        Class::Busy => (Code::InUse, "end what has the database open, and repeat the command"),
        Class::Corrupt => DAMAGED,
        Class::NewerSchema => (Code::NotYetBuilt, "use the version of tenure that wrote it, or a newer one"),
        Class::ReadOnly => (Code::CannotTell, "make it writable for you, and repeat the command"),
        Class::Io | Class::Lost | Class::Sync | Class::Other => {
            (Code::CannotTell, "look at the daemon's log, or run `tenure doctor`, and repeat the command")
        }
    }
}

/// Whether another name would be better.
fn is_of_the_name(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
    )
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::assert_agrees;

    #[test]
    fn code_exit_and_text_of_every_failure_agree_on_whether_to_repeat() {
        let path = || PathBuf::from("/b/monday.db");
        let io = |kind: ErrorKind| io::Error::from(kind);
        let reading = |kind| BackupError::Unreadable(path(), io(kind));
        let writing = |kind| BackupError::Unwritable(path(), io(kind));
        let own = |kind| BackupError::Folder(FolderError::Io(path(), io(kind)));
        let folder = BackupError::Folder;
        let store = |class| BackupError::Store(path(), StoreError::new(class, "as the test demands"));
        let unvouched = |is_cut_off| BackupError::Unvouched { file: path(), manifest: path(), is_cut_off };
        let word = || "f".to_owned();
        let emptied = FolderError::Emptied { database: path(), marker: path(), fleet: word() };
        let foreign = FolderError::Foreign { database: path(), fleet: word(), marker: path(), noted: word() };
        let cut_off = FolderError::CutOff { database: path(), copy: path() };
        let cases = [
            (BackupError::Taken(path()), Code::AlreadyExists, 8),
            (BackupError::Own(path()), Code::InvalidInput, 1),
            (BackupError::Busy(path()), Code::InUse, 3),
            (BackupError::Missing(path()), Code::NotFound, 7),
            (unvouched(false), Code::NotFound, 7),
            (unvouched(true), Code::NotFound, 7),
            (BackupError::Altered(path(), word()), Code::InvalidInput, 1),
            (BackupError::Damaged(word()), Code::StateConflict, 8),
            (BackupError::Foreign { backup: word(), present: word() }, Code::StateConflict, 8),
            (folder(FolderError::InUse(path())), Code::InUse, 3),
            (folder(FolderError::Network(path(), "NFS")), Code::InvalidInput, 1),
            (folder(emptied), Code::StateConflict, 8),
            (folder(foreign), Code::StateConflict, 8),
            (folder(cut_off), Code::StateConflict, 8),
            (own(ErrorKind::PermissionDenied), Code::CannotTell, 2),
            (own(ErrorKind::ReadOnlyFilesystem), Code::CannotTell, 2),
            (own(ErrorKind::StorageFull), Code::DiskFull, 4),
            (own(ErrorKind::Other), Code::CannotTell, 2),
            (store(Class::Full), Code::DiskFull, 4),
            (store(Class::Busy), Code::InUse, 3),
            (store(Class::Corrupt), Code::StateConflict, 8),
            (store(Class::NewerSchema), Code::NotYetBuilt, 1),
            (store(Class::ReadOnly), Code::CannotTell, 2),
            (store(Class::Io), Code::CannotTell, 2),
            (store(Class::Lost), Code::CannotTell, 2),
            (store(Class::Sync), Code::CannotTell, 2),
            (store(Class::Other), Code::CannotTell, 2),
            (reading(ErrorKind::PermissionDenied), Code::InvalidInput, 1),
            (reading(ErrorKind::Other), Code::CannotTell, 2),
            (writing(ErrorKind::NotFound), Code::InvalidInput, 1),
            (writing(ErrorKind::NotADirectory), Code::InvalidInput, 1),
            (writing(ErrorKind::PermissionDenied), Code::InvalidInput, 1),
            (writing(ErrorKind::ReadOnlyFilesystem), Code::InvalidInput, 1),
            (writing(ErrorKind::InvalidFilename), Code::InvalidInput, 1),
            (writing(ErrorKind::StorageFull), Code::DiskFull, 4),
            (writing(ErrorKind::QuotaExceeded), Code::DiskFull, 4),
            (writing(ErrorKind::Other), Code::CannotTell, 2),
        ];
        cases.into_iter().for_each(|(error, code, exit)| assert_agrees(error, code, exit));
    }
}
