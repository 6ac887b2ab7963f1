//! Where a copy comes from and where it goes, each held against everybody else while it is used.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{CopyError, Side, refuse_occupied};
use crate::store::driver::{Driver, StoreError};
use crate::store::fleet;
use crate::store::folder::{
    FolderError, Hold, LOG, SHARED, beside, daemons_lock, database_in, hold_existing, make_folder,
    may_receive, refuse_elsewhere,
};
use crate::store::postgres::Postgres;
use crate::store::postgres::address::Address;
use crate::store::sqlite::{Role, Sqlite};

/// What ends the name of a copied store until it takes the database's.
const COPYING: &str = ".copying";

/// Where a store is.
#[derive(Debug, Clone)]
pub enum Place {
    /// A state folder, with SQLite's file.
    Folder(PathBuf),
    /// A schema of PostgreSQL.
    Database(Box<Address>),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Database(address) => write!(f, "{address}"),
        }
    }
}

impl Place {
    /// Refuses a copy of a store onto itself.
    pub(super) fn refuse_same(&self, other: &Self) -> Result<(), CopyError> {
        let is_same = match (self, other) {
            (Self::Folder(one), Self::Folder(other)) => database_in(one) == database_in(other),
            (Self::Database(one), Self::Database(other)) => one.to_string() == other.to_string(),
            (Self::Folder(_), Self::Database(_)) | (Self::Database(_), Self::Folder(_)) => false,
        };
        if is_same { Err(CopyError::Same(self.to_string())) } else { Ok(()) }
    }

    fn wrong(&self) -> impl FnOnce(StoreError) -> CopyError {
        let name = self.to_string();
        move |error| CopyError::Store(name, error)
    }
}

/// A store that is there, held against everybody else.
pub struct Source {
    name: String,
    open: Open,
}

/// A connection, and what holds the store for it.
enum Open {
    /// The connection ends before the hold does.
    File {
        driver: Box<Sqlite>,
        _hold: Hold,
    },
    Database(Box<Postgres>),
}

impl Open {
    fn driver(&mut self) -> &mut dyn Driver {
        match self {
            Self::File { driver, .. } => &mut **driver,
            Self::Database(postgres) => &mut **postgres,
        }
    }
}

impl Source {
    /// One to be copied. Nothing is written to it.
    pub fn open(place: &Place) -> Result<Self, CopyError> {
        Self::with(place, Role::Reader, Sqlite::open_whole)
    }

    /// One that goes on where it is.
    pub fn to_go_on(place: &Place) -> Result<Self, CopyError> {
        Self::with(place, Role::Writer, |database| Sqlite::open(database, Role::Writer))
    }

    fn with(
        place: &Place,
        role: Role,
        open_file: impl FnOnce(&Path) -> Result<Sqlite, StoreError>,
    ) -> Result<Self, CopyError> {
        let open = match place {
            Place::Folder(folder) => {
                let hold = hold_existing(folder).map_err(CopyError::Folder)?;
                let Some(hold) = hold else {
                    refuse_elsewhere(folder).map_err(CopyError::Folder)?;
                    return Err(CopyError::Missing(place.to_string()));
                };
                let sqlite = open_file(hold.database()).map_err(place.wrong())?;
                Open::File { driver: Box::new(sqlite), _hold: hold }
            }
            Place::Database(address) => Open::Database(alone(address, role)?),
        };
        Ok(Self { name: place.to_string(), open })
    }

    pub fn side(&mut self) -> Side<'_> {
        Side { name: self.name.clone(), driver: self.open.driver() }
    }

    /// The id of its fleet.
    pub fn fleet(&mut self) -> Result<String, CopyError> {
        let side = self.side();
        let found = fleet::of_any_schema(side.driver);
        let found = found.map_err(|error| CopyError::Store(side.name.clone(), error))?;
        found.map(|fleet| fleet.id).ok_or(CopyError::Missing(side.name))
    }

    /// Lets others have it.
    pub fn close(self) -> Result<(), CopyError> {
        match self.open {
            Open::File { .. } => Ok(()),
            Open::Database(postgres) => left(*postgres, self.name),
        }
    }
}

/// A store that is written.
pub struct Target {
    name: String,
    open: Writing,
}

enum Writing {
    /// A file beside the database that it will be. No daemon starts there meanwhile.
    File {
        driver: Box<Sqlite>,
        copy: Unfinished,
        database: PathBuf,
        _no_daemon: File,
    },
    Database(Box<Postgres>),
}

impl Target {
    /// Refuses a place that is no place for this fleet's copy, and changes nothing. Of a database the connection is kept,
    /// which holds its schema.
    pub fn look(place: &Place, fleet: &str) -> Result<Option<Self>, CopyError> {
        match place {
            Place::Folder(folder) => refuse_taken(place, folder, fleet).map(|()| None),
            Place::Database(address) => {
                let mut open = alone(address, Role::Writer)?;
                refuse_occupied(&mut Side { name: place.to_string(), driver: &mut *open })?;
                Ok(Some(Self { name: place.to_string(), open: Writing::Database(open) }))
            }
        }
    }

    pub fn open(place: &Place, fleet: &str) -> Result<Self, CopyError> {
        let folder = match (Self::look(place, fleet)?, place) {
            (Some(target), _) => return Ok(target),
            (None, Place::Folder(folder)) => folder,
            (None, Place::Database(_)) => unreachable!("what was looked at is open"),
        };
        let (folder, _) = make_folder(folder).map_err(CopyError::Folder)?;
        let no_daemon = daemons_lock(&folder).map_err(CopyError::Folder)?;
        // Somebody may have been faster.
        refuse_taken(place, &folder, fleet)?;
        let database = database_in(&folder);
        let copy = Unfinished::beside(&database)?;
        let driver = Box::new(Sqlite::open(&copy.0, Role::Writer).map_err(place.wrong())?);
        let open = Writing::File { driver, copy, database, _no_daemon: no_daemon };
        Ok(Self { name: place.to_string(), open })
    }

    pub fn side(&mut self) -> Side<'_> {
        let driver: &mut dyn Driver = match &mut self.open {
            Writing::File { driver, .. } => &mut **driver,
            Writing::Database(postgres) => &mut **postgres,
        };
        Side { name: self.name.clone(), driver }
    }

    /// Lets others have it as it is.
    pub fn close(self) -> Result<(), CopyError> {
        match self.open {
            Writing::File { .. } => Ok(()),
            Writing::Database(postgres) => left(*postgres, self.name),
        }
    }

    /// Gives what was written its place. A database has it since the commit.
    pub fn publish(self) -> Result<(), CopyError> {
        let (mut driver, copy, database, _no_daemon) = match self.open {
            Writing::Database(_) => return self.close(),
            Writing::File { driver, copy, database, _no_daemon } => (driver, copy, database, _no_daemon),
        };
        driver.settle().map_err(|error| CopyError::Store(self.name, error))?;
        drop(driver);
        copy.publish(&database)
    }
}

/// A database file that has not taken its name yet. It goes with this value.
struct Unfinished(PathBuf);

impl Unfinished {
    /// An empty one, instead of what a copy that was killed left.
    fn beside(database: &Path) -> Result<Self, CopyError> {
        let unfinished = Self(beside(database, COPYING));
        remove_all(&unfinished.0, &["", LOG, SHARED])?;
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&unfinished.0);
        made.map_err(failed(&unfinished.0))?;
        Ok(unfinished)
    }

    /// Gives it the database's name, durably, as one whole file.
    fn publish(self, database: &Path) -> Result<(), CopyError> {
        // Its log was moved into it.
        remove_all(&self.0, &[LOG, SHARED])?;
        File::open(&self.0).and_then(|file| file.sync_all()).map_err(failed(&self.0))?;
        remove_all(database, &[LOG, SHARED])?;
        fs::rename(&self.0, database).map_err(failed(database))?;
        let folder = database.parent().unwrap_or(Path::new("/"));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Once it has its name, there is nothing under this one.
        let _ = remove_all(&self.0, &["", LOG, SHARED]);
    }
}

fn remove_all(path: &Path, endings: &[&str]) -> Result<(), CopyError> {
    for path in endings.iter().map(|ending| beside(path, ending)) {
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&path)(error)),
        }
    }
    Ok(())
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> CopyError {
    let path = path.to_owned();
    |error| CopyError::Folder(FolderError::Io(path, error))
}

/// Refuses a folder that has a store, or had one of another fleet.
fn refuse_taken(place: &Place, folder: &Path, fleet: &str) -> Result<(), CopyError> {
    let database = database_in(folder);
    if let Some(hold) = hold_existing(folder).map_err(CopyError::Folder)? {
        let mut there = Sqlite::open(hold.database(), Role::Reader).map_err(place.wrong())?;
        refuse_occupied(&mut Side { name: place.to_string(), driver: &mut there })?;
        return Err(CopyError::InTheWay(database));
    }
    may_receive(folder, fleet).map_err(CopyError::Folder)?;
    // The database that comes would take another one's log for its own.
    let log = beside(&database, LOG);
    if fs::metadata(&log).is_ok_and(|found| found.len() > 0) { Err(CopyError::InTheWay(log)) } else { Ok(()) }
}

fn alone(address: &Address, role: Role) -> Result<Box<Postgres>, CopyError> {
    let opened = Postgres::open_alone(address, role);
    let opened = opened.map_err(|error| CopyError::Store(address.to_string(), error))?;
    opened.map(Box::new).ok_or_else(|| CopyError::Served(address.to_string()))
}

fn left(postgres: Postgres, name: String) -> Result<(), CopyError> {
    postgres.leave().map_err(|error| CopyError::Store(name, error))
}
