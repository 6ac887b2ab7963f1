//! Why there is no copy, and what that is for whoever asked.

use std::fmt;
use std::path::PathBuf;

use tenure_core::model::refusal::{Code, Refusal};

use crate::chain::Flaw;
use crate::store::driver::{Class, StoreError};
use crate::store::folder::FolderError;
use crate::store::schema_known;

/// Why there is no copy. Nothing was changed, unless the commit of a database was not confirmed.
#[derive(Debug)]
pub enum CopyError {
    /// Both sides are the same store.
    Same(String),
    /// Somebody serves a schema, or copies it.
    Served(String),
    /// There is no store to copy.
    Missing(String),
    /// The source was written by an older version.
    Outdated {
        /// The source.
        from: String,
        /// Its schema.
        schema: u32,
    },
    /// A fleet lives in the target.
    Occupied {
        /// The target.
        to: String,
        /// That fleet's id.
        fleet: String,
    },
    /// A file is where the target's database would be, or its log, and no store.
    InTheWay(PathBuf),
    /// A text of the source has no place in the target's database.
    Unholdable {
        /// The target.
        to: String,
        /// The text's table.
        table: &'static str,
        /// The key of its row.
        key: String,
    },
    /// The record of the source is damaged.
    Broken(Flaw),
    /// What the target has is not what was written there.
    Differs {
        /// The target.
        to: String,
        /// What it is.
        what: String,
    },
    /// A state folder cannot be used, or somebody has its store open.
    Folder(FolderError),
    /// The database of a side could not be read or written, or is of a newer version.
    Store(String, StoreError),
}

/// An error of a side that says itself who it is: [`CopyError::at`].
impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        Self::Store(String::new(), error)
    }
}

impl CopyError {
    /// The same, of a side with this name if none was told.
    #[must_use]
    pub(crate) fn at(mut self, side: &str) -> Self {
        if let Self::Store(name, _) = &mut self
            && name.is_empty()
        {
            side.clone_into(name);
        }
        self
    }

    fn answer(&self) -> (Code, &'static str) {
        match self {
            Self::Same(_) => (Code::InvalidInput, "name another place with --to"),
            Self::Served(_) => (
                Code::InUse,
                "end every `tenure serve` that serves it, and any other copy of it, and repeat the command",
            ),
            Self::Missing(_) => (
                Code::NotFound,
                "name a state folder, or the URL of a database with the `schema` that the fleet lives in",
            ),
            Self::Outdated { .. } => (
                Code::StateConflict,
                "serve it once with this version, which brings it up to date, end its daemon, and copy it then",
            ),
            Self::Occupied { .. } => (
                Code::AlreadyExists,
                "name an empty place with --to: another state folder, or another `schema` in the URL",
            ),
            Self::InTheWay(_) => {
                (Code::AlreadyExists, "move that file away, or name another place with --to")
            }
            Self::Unholdable { .. } => (
                Code::StateConflict,
                "no version of tenure writes such a text: look at the source with `tenure doctor --offline`",
            ),
            Self::Broken(_) => (
                Code::StateConflict,
                "put a whole backup in the source's place with `tenure restore FILE`, and copy that",
            ),
            Self::Differs { .. } => (
                Code::CannotTell,
                "look at the disks and the database's own log, and repeat the command; nothing was committed",
            ),
            Self::Folder(error) => of_folder(error),
            Self::Store(_, error) => of_store(error.class),
        }
    }
}

fn of_folder(error: &FolderError) -> (Code, &'static str) {
    match error {
        FolderError::InUse(_) => (Code::InUse, error.remedy()),
        FolderError::Network(..) => (Code::InvalidInput, "name a folder on a local disk"),
        FolderError::Elsewhere { .. } => (
            Code::StateConflict,
            "name the URL of that database instead, or another folder; this one stays its server's",
        ),
        FolderError::Emptied { .. }
        | FolderError::Foreign { .. }
        | FolderError::Own(_)
        | FolderError::CutOff { .. } => (Code::StateConflict, error.remedy()),
        FolderError::Io(_, why) if why.kind() == std::io::ErrorKind::StorageFull => MAKE_ROOM,
        FolderError::Io(..) => (
            Code::CannotTell,
            "make it usable for you (its disk, its permissions), or name another folder, and repeat the command",
        ),
    }
}

const MAKE_ROOM: (Code, &str) = (Code::DiskFull, "make room, and repeat the command");

fn of_store(class: Class) -> (Code, &'static str) {
    match class {
        Class::Full => MAKE_ROOM,
        Class::Busy => (Code::InUse, "end what has the database locked, and repeat the command"),
        Class::Corrupt => (
            Code::StateConflict,
            "look at it with `tenure doctor --offline`; a whole backup takes its place with `tenure restore FILE`",
        ),
        Class::NewerSchema => (Code::NotYetBuilt, "use the version of tenure that wrote it, or a newer one"),
        Class::ReadOnly => (
            Code::CannotTell,
            "let the user of the URL read it, or create a schema there and write, and repeat the command",
        ),
        Class::Lost | Class::Sync => (
            Code::CannotTell,
            "nobody knows whether the copy is there: look at the database, and repeat the command; a whole copy is \
             refused as a place that a fleet lives in",
        ),
        Class::Io | Class::Other => (
            Code::CannotTell,
            "see whether the database runs and lets you in (address, password, sslmode), and repeat the command",
        ),
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(place) => write!(f, "{place} cannot be copied onto itself"),
            Self::Served(place) => write!(f, "{place} is being served or copied"),
            Self::Missing(place) => write!(f, "no fleet lives in {place}"),
            Self::Outdated { from, schema } => {
                write!(f, "{from} has schema {schema}, and {} is copied", schema_known())
            }
            Self::Occupied { to, fleet } => write!(f, "the fleet {fleet} lives in {to}"),
            Self::InTheWay(path) => write!(f, "{} is in the way, and is no store", path.display()),
            Self::Unholdable { to, table, key } => {
                write!(
                    f,
                    "a text of the row {key} of the table {table} has no place in {to}: it contains NUL"
                )
            }
            Self::Broken(flaw) => write!(f, "the record of the source is damaged: {flaw}"),
            Self::Differs { to, what } => write!(f, "{what} is not in {to} as it was written"),
            Self::Folder(error) => error.fmt(f),
            Self::Store(place, error) => write!(f, "{place}: {}", error.detail),
        }
    }
}

impl std::error::Error for CopyError {}

/// What is worth a repetition says so, and its code too.
impl From<CopyError> for Refusal {
    fn from(error: CopyError) -> Self {
        let (code, next) = error.answer();
        Self::new(code, error.to_string()).next(next)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use tenure_core::model::ids::EventNumber;

    use super::*;
    use crate::chain::FlawKind;
    use crate::outcome::assert_agrees;

    #[test]
    fn code_exit_and_text_of_every_failure_agree_on_whether_to_repeat() {
        let word = || "there".to_owned();
        let path = || PathBuf::from("/there/tenure.db");
        let store = |class| CopyError::Store(word(), StoreError::new(class, "as the test demands"));
        let file = |kind| CopyError::Folder(FolderError::Io(path(), io::Error::from(kind)));
        let foreign = FolderError::Foreign { database: path(), fleet: word(), marker: path(), noted: word() };
        let elsewhere = FolderError::Elsewhere { folder: path(), place: word() };
        let flaw = Flaw { event: EventNumber(7), kind: FlawKind::Broken };
        let cases = [
            (CopyError::Same(word()), Code::InvalidInput, 1),
            (CopyError::Served(word()), Code::InUse, 3),
            (CopyError::Missing(word()), Code::NotFound, 7),
            (CopyError::Outdated { from: word(), schema: 2 }, Code::StateConflict, 8),
            (CopyError::Occupied { to: word(), fleet: word() }, Code::AlreadyExists, 8),
            (CopyError::InTheWay(path()), Code::AlreadyExists, 8),
            (CopyError::Unholdable { to: word(), table: "body", key: word() }, Code::StateConflict, 8),
            (CopyError::Broken(flaw), Code::StateConflict, 8),
            (CopyError::Differs { to: word(), what: word() }, Code::CannotTell, 2),
            (CopyError::Folder(FolderError::InUse(path())), Code::InUse, 3),
            (CopyError::Folder(FolderError::Network(path(), "NFS")), Code::InvalidInput, 1),
            (CopyError::Folder(foreign), Code::StateConflict, 8),
            (CopyError::Folder(elsewhere), Code::StateConflict, 8),
            (file(ErrorKind::StorageFull), Code::DiskFull, 4),
            (file(ErrorKind::PermissionDenied), Code::CannotTell, 2),
            (store(Class::Full), Code::DiskFull, 4),
            (store(Class::Busy), Code::InUse, 3),
            (store(Class::Corrupt), Code::StateConflict, 8),
            (store(Class::NewerSchema), Code::NotYetBuilt, 1),
            (store(Class::ReadOnly), Code::CannotTell, 2),
            (store(Class::Lost), Code::CannotTell, 2),
            (store(Class::Sync), Code::CannotTell, 2),
            (store(Class::Io), Code::CannotTell, 2),
            (store(Class::Other), Code::CannotTell, 2),
        ];
        cases.into_iter().for_each(|(error, code, exit)| assert_agrees(error, code, exit));
    }
}
