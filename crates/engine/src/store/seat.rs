//! The folder of a server whose store is elsewhere: it has the socket, and notes of the fleet and of where the store is, so
//! that neither another fleet's server nor a store in a file takes its place in silence.

use std::fs;
use std::path::{Path, PathBuf};

use tenure_core::wire::{DATABASE_MARKER, FLEET_MARKER};

use super::folder::{FolderError, database_in, is_empty, note, write};

/// A folder for the server of a store that is elsewhere.
#[derive(Debug)]
pub struct Seat {
    folder: PathBuf,
    place: String,
}

/// Makes sure that no store lies in the folder. `place` is where the store is, for people.
pub fn take(folder: &Path, place: String) -> Result<Seat, FolderError> {
    let folder = folder.canonicalize().map_err(|error| FolderError::Io(folder.to_owned(), error))?;
    let database = database_in(&folder);
    if is_empty(&database) { Ok(Seat { folder, place }) } else { Err(FolderError::Own(database)) }
}

impl Seat {
    /// Notes which fleet is served here, and from where. Refuses another fleet than the one that was noted before: the
    /// session files of its clients are of that one.
    pub fn founded(&self, fleet: &str) -> Result<(), FolderError> {
        let marker = self.folder.join(DATABASE_MARKER);
        if fs::read_to_string(&marker).is_ok_and(|noted| noted.trim() == self.place) {
            return note(&self.folder.join(FLEET_MARKER), Path::new(&self.place), fleet);
        }
        note(&self.folder.join(FLEET_MARKER), Path::new(&self.place), fleet)?;
        write(&marker, &self.place).map_err(|error| FolderError::Io(marker, error))
    }
}
