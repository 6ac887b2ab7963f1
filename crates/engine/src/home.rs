//! Where an open store is: in a file that nobody else may open, or in a database that several servers share.

use std::path::Path;
use std::sync::Arc;

use crate::OpenError;
use crate::store::driver::{Driver, Role, StoreError};
use crate::store::folder::{FolderError, Hold, hold};
use crate::store::postgres::address::Address;
use crate::store::postgres::{Postgres, checkup};
use crate::store::seat::{self, Seat};
use crate::store::sqlite::Sqlite;

/// The place of an open store. Dropped after every connection to it.
#[derive(Clone)]
pub(crate) enum Home {
    /// A file in the folder.
    File(Arc<Hold>),
    /// A database elsewhere; the folder is its server's.
    Server(Arc<Address>, Arc<Seat>),
}

impl Home {
    /// Takes possession of a folder for a store in it, or in a database.
    pub fn take(folder: &Path, database: Option<&Address>) -> Result<Self, OpenError> {
        let home = match database {
            None => hold(folder).map(|hold| Self::File(Arc::new(hold))),
            Some(address) => seat::take(folder, address.to_string())
                .map(|seat| Self::Server(Arc::new(address.clone()), Arc::new(seat))),
        };
        home.map_err(OpenError::Folder)
    }

    /// Opens a connection.
    pub fn connect(&self, role: Role) -> Result<Box<dyn Driver>, StoreError> {
        match self {
            Self::File(hold) => Ok(Box::new(Sqlite::open(hold.database(), role)?.held_by(hold.clone()))),
            Self::Server(address, _) => Ok(Box::new(Postgres::open(address, role)?)),
        }
    }

    /// Refuses a database on which a fleet cannot stand.
    pub fn refuse_unfit(&self) -> Result<(), StoreError> {
        match self {
            Self::File(_) => Ok(()),
            Self::Server(address, _) => checkup::refuse_unfit(address),
        }
    }

    /// Refuses a new fleet where an earlier one was founded.
    pub fn may_found(&self) -> Result<(), FolderError> {
        match self {
            Self::File(hold) => hold.may_found(),
            // Whichever server comes first founds the fleet; the others find it.
            Self::Server(..) => Ok(()),
        }
    }

    /// Notes which fleet lives here.
    pub fn founded(&self, fleet: &str) -> Result<(), FolderError> {
        match self {
            Self::File(hold) => hold.founded(fleet),
            Self::Server(_, seat) => seat.founded(fleet),
        }
    }

    /// Whether what is open is still what the folder names.
    pub fn is_intact(&self) -> bool {
        match self {
            Self::File(hold) => hold.is_intact(),
            Self::Server(..) => true,
        }
    }

    /// The file of the store, if it is in one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(hold) => Some(hold.database()),
            Self::Server(..) => None,
        }
    }

    /// The database that other servers may write to as well, if it is one.
    pub fn shared(&self) -> Option<&Arc<Address>> {
        match self {
            Self::File(_) => None,
            Self::Server(address, _) => Some(address),
        }
    }
}

/// For people.
impl std::fmt::Display for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(hold) => hold.database().display().fmt(f),
            Self::Server(address, _) => address.fmt(f),
        }
    }
}
