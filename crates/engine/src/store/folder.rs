//! The folder that a store lives in: whose it is, on what disk, and that one engine alone opens it.
//!
//! The lock is a `flock` on the database file itself, held by one descriptor as long as the engine lives. A lock
//! file beside it would miss a second path to the same database (a symbolic link or a bind mount of the file); the
//! inode is what two engines must not share. SQLite's own locks on the same file are of another kind (POSIX
//! record locks) and do not meet this one. They have a trap: closing *any* descriptor of a file drops all record
//! locks that the process has on it. So a process that has the file open never opens it a second time: a list of
//! the inodes that are open here is asked first, and the lock's descriptor is closed after SQLite's.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use rustix::fs::{FlockOperation, flock, fstatfs};
use tenure_core::wire::{DAEMON_LOCK, DATABASE_MARKER, FLEET_MARKER};

/// The name of the database inside the folder.
pub const DATABASE: &str = "tenure.db";
/// What ends the name of a restored store until it takes the database's.
pub const RESTORING: &str = ".restoring";
/// What ends the name of a database's log.
pub const LOG: &str = "-wal";
/// What ends the name of the index of that log.
pub const SHARED: &str = "-shm";

/// Why a store was not opened. Nothing was written to it.
#[derive(Debug)]
pub enum FolderError {
    /// Another engine has it open.
    InUse(PathBuf),
    /// It lies on a file system whose locks do not reach other machines reliably.
    Network(PathBuf, &'static str),
    /// A fleet was founded here, and its database is missing or empty.
    Emptied {
        /// Where the database should be.
        database: PathBuf,
        /// The file that tells of the fleet.
        marker: PathBuf,
        /// The fleet's id.
        fleet: String,
    },
    /// The database is of another fleet than the one that was founded here.
    Foreign {
        /// The database.
        database: PathBuf,
        /// Its fleet's id.
        fleet: String,
        /// The file that tells of the fleet that was founded here.
        marker: PathBuf,
        /// That fleet's id.
        noted: String,
    },
    /// The store of this folder's server is not in the folder.
    Elsewhere {
        /// The folder.
        folder: PathBuf,
        /// Where the store is.
        place: String,
    },
    /// A folder that a server of another store was to use has a store of its own.
    Own(PathBuf),
    /// A restore was cut off when the database had left its place and the restored one had not taken it yet.
    CutOff {
        /// Where the database should be.
        database: PathBuf,
        /// The restored one.
        copy: PathBuf,
    },
    /// The operating system refused.
    Io(PathBuf, io::Error),
}

impl FolderError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::InUse(_) => {
                "end the process that has it open (`tenure doctor` names it), and repeat the command"
            }
            Self::Network(..) => "name a folder on a local disk with TENURE_STATE_DIR",
            Self::Emptied { .. } => {
                "put the database back from a backup, or remove that file to begin a new fleet"
            }
            Self::Foreign { .. } => {
                "put that fleet's database back, or remove that file to go on with this one"
            }
            Self::Elsewhere { .. } => {
                "start its server with `tenure serve --database URL`, or name another folder with TENURE_STATE_DIR"
            }
            Self::Own(_) => "name another folder with --folder",
            Self::CutOff { .. } => {
                "repeat `tenure restore FILE --confirm`: it begins anew, and keeps what was kept"
            }
            Self::Io(..) => {
                "make it usable for you (its disk, its permissions), or name another state folder with \
                 TENURE_STATE_DIR, and repeat the command"
            }
        }
    }
}

impl std::fmt::Display for FolderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InUse(path) => write!(f, "another engine has the store {} open", path.display()),
            Self::Network(path, name) => write!(
                f,
                "the store {} would lie on {name}, where file locks cannot be relied on; choose a local disk",
                path.display()
            ),
            Self::Emptied { database, marker, fleet } => write!(
                f,
                "{} is missing or empty, and {} says that the fleet {fleet} was founded here",
                database.display(),
                marker.display()
            ),
            Self::Foreign { database, fleet, marker, noted } => write!(
                f,
                "{} is of the fleet {fleet}, and {} says that the fleet {noted} was founded here",
                database.display(),
                marker.display()
            ),
            Self::Elsewhere { folder, place } => {
                write!(f, "the server of {} keeps its store in {place}", folder.display())
            }
            Self::Own(database) => write!(f, "{} is a store of its own", database.display()),
            Self::CutOff { database, copy } => write!(
                f,
                "{} is missing, and {} tells that a restore was cut off",
                database.display(),
                copy.display()
            ),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for FolderError {}

/// The databases that this process has open, by device and inode.
static OPEN_HERE: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// The right to open a store's database. Dropped after every connection to it.
#[derive(Debug)]
pub struct Hold {
    database: PathBuf,
    marker: PathBuf,
    inode: (u64, u64),
    /// The database's log, once it is there. No connection removes it (see `sqlite.rs`).
    log: OnceLock<(u64, u64)>,
    _file: File,
}

impl Hold {
    /// The path of the database.
    #[must_use]
    pub fn database(&self) -> &Path {
        &self.database
    }

    /// Refuses a new fleet where an earlier one was founded.
    pub fn may_found(&self) -> Result<(), FolderError> {
        may_found(&self.database, &self.marker)
    }

    /// Notes which fleet lives here, and which file its log is. Refuses a database that is of another fleet than the
    /// one that was noted before: its clients' session files are of that one.
    pub fn founded(&self, fleet: &str) -> Result<(), FolderError> {
        if let Some(found) = inode(&self.log_path()) {
            let _ = self.log.set(found);
        }
        note(&self.marker, &self.database, fleet)
    }

    /// Whether the paths still name the files that are open.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        inode(&self.database) == Some(self.inode)
            && self.log.get().is_none_or(|log| inode(&self.log_path()) == Some(*log))
    }

    fn log_path(&self) -> PathBuf {
        log_path(&self.database)
    }
}

/// Notes which fleet lives in a place, unless another one was noted before.
pub(super) fn note(marker: &Path, database: &Path, fleet: &str) -> Result<(), FolderError> {
    let noted = fs::read_to_string(marker).unwrap_or_default();
    match noted.trim() {
        noted if noted == fleet => Ok(()),
        // None, or one whose writing was interrupted.
        "" => write(marker, fleet).map_err(|error| FolderError::Io(marker.to_owned(), error)),
        noted => Err(FolderError::Foreign {
            database: database.to_owned(),
            fleet: fleet.to_owned(),
            marker: marker.to_owned(),
            noted: noted.to_owned(),
        }),
    }
}

/// Writes a line into a file of its own, so that it is there for good.
pub(super) fn write(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn log_path(database: &Path) -> PathBuf {
    beside(database, LOG)
}

/// The file whose name is this one's with an ending.
#[must_use]
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn may_found(database: &Path, marker: &Path) -> Result<(), FolderError> {
    match fs::read_to_string(marker) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FolderError::Io(marker.to_owned(), error)),
        Ok(fleet) => Err(FolderError::Emptied {
            database: database.to_owned(),
            marker: marker.to_owned(),
            fleet: fleet.trim().to_owned(),
        }),
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Ok(mut open) = OPEN_HERE.lock() {
            open.remove(&self.inode);
        }
    }
}

/// Makes the folder and the empty database if they are not there, closes them to other users, and takes the lock.
pub fn hold(folder: &Path) -> Result<Hold, FolderError> {
    let (folder, directory) = make_folder(folder)?;
    let (database, marker) = places(&folder);
    if is_empty(&database) {
        refuse_elsewhere(&folder)?;
        refuse_cut_off(&database)?;
        may_found(&database, &marker)?;
        flush_above(&folder);
    }
    let hold = lock(database, marker)?;
    directory.sync_all().map_err(|error| FolderError::Io(folder, error))?;
    Ok(hold)
}

/// A store is not begun beside the note of one that is elsewhere.
pub fn refuse_elsewhere(folder: &Path) -> Result<(), FolderError> {
    match fs::read_to_string(folder.join(DATABASE_MARKER)) {
        Ok(place) => {
            Err(FolderError::Elsewhere { folder: folder.to_owned(), place: place.trim().to_owned() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FolderError::Io(folder.join(DATABASE_MARKER), error)),
    }
}

/// Makes the folder if it is not there, and closes it to other users. Returns where it is without detours.
pub fn make_folder(folder: &Path) -> Result<(PathBuf, File), FolderError> {
    let failed = |error| FolderError::Io(folder.to_owned(), error);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(failed)?;
    let folder = folder.canonicalize().map_err(failed)?;
    let directory = File::open(&folder).map_err(|error| FolderError::Io(folder.clone(), error))?;
    refuse_network(&folder, &directory)?;
    Ok((folder, directory))
}

/// Refuses a folder without a database for that of a fleet which comes from elsewhere, if another one was founded there, if
/// it notes a store that is elsewhere, and where a restore was cut off.
pub fn may_receive(folder: &Path, fleet: &str) -> Result<(), FolderError> {
    let (database, marker) = places(folder);
    refuse_elsewhere(folder)?;
    refuse_cut_off(&database)?;
    match may_found(&database, &marker) {
        Err(FolderError::Emptied { fleet: noted, .. }) if noted != fleet => {
            Err(FolderError::Foreign { database, fleet: fleet.to_owned(), marker, noted })
        }
        Err(FolderError::Emptied { .. }) => Ok(()),
        may => may,
    }
}

/// Keeps daemons from starting, and waits for none: one that starts or stops now is in the way.
pub fn daemons_lock(folder: &Path) -> Result<File, FolderError> {
    let path = folder.join(DAEMON_LOCK);
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(|error| FolderError::Io(path.clone(), error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(FolderError::InUse(folder.to_owned())),
        Err(fs::TryLockError::Error(error)) => Err(FolderError::Io(path, error)),
    }
}

/// Where a restore was cut off, the present store has another name, and a new fleet would stand in the restored one's
/// place.
fn refuse_cut_off(database: &Path) -> Result<(), FolderError> {
    let copy = beside(database, RESTORING);
    match fs::symlink_metadata(&copy) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FolderError::Io(copy, error)),
        Ok(_) => Err(FolderError::CutOff { database: database.to_owned(), copy }),
    }
}

/// Takes the lock of a database that is there, and makes none. Where there is none, or an empty one, there is nothing to
/// lock.
pub fn hold_existing(folder: &Path) -> Result<Option<Hold>, FolderError> {
    let failed = |path: &Path, error| FolderError::Io(path.to_owned(), error);
    let folder = match folder.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(|error| failed(folder, error))?,
    };
    let named = folder.join(DATABASE);
    // A link to a place that cannot be looked at is not nothing.
    match fs::symlink_metadata(&named) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(|error| failed(&named, error))?,
    };
    let (database, marker) = places(&folder);
    match fs::metadata(&named) {
        Ok(found) if found.len() == 0 => return Ok(None),
        Ok(_) => {}
        // A restore was cut off where the link leads to.
        Err(error) if error.kind() == io::ErrorKind::NotFound && refuse_cut_off(&database).is_err() => {
            return Ok(None);
        }
        Err(error) => return Err(failed(&named, error)),
    }
    lock(database, marker).map(Some)
}

/// The database and the marker in a folder. The canonical path of the file, so that its journal lies beside it
/// whichever way it was reached.
fn places(folder: &Path) -> (PathBuf, PathBuf) {
    (database_in(folder), folder.join(FLEET_MARKER))
}

/// Where the database of a folder is, or would be: where a link leads to, also if nothing is there.
#[must_use]
pub fn database_in(folder: &Path) -> PathBuf {
    let named = folder.join(DATABASE);
    let linked = || {
        let target = folder.join(fs::read_link(&named).ok()?);
        Some(target.parent()?.canonicalize().ok()?.join(target.file_name()?))
    };
    named.canonicalize().ok().or_else(linked).unwrap_or(named)
}

pub(super) fn is_empty(database: &Path) -> bool {
    fs::metadata(database).map_or(true, |found| found.len() == 0)
}

/// Locks a database, which is made if it is not there.
fn lock(database: PathBuf, marker: PathBuf) -> Result<Hold, FolderError> {
    let failed = |error| FolderError::Io(database.clone(), error);
    let mut open = OPEN_HERE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if fs::metadata(&database).is_ok_and(|found| open.contains(&(found.dev(), found.ino()))) {
        return Err(FolderError::InUse(database));
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&database);
    let file = file.map_err(failed)?;
    refuse_network(&database, &file)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Err(FolderError::InUse(database)),
        Err(error) => return Err(failed(error.into())),
    }
    // SQLite gives its journal and its shared memory the permissions of the database.
    file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let inode = (found.dev(), found.ino());
    open.insert(inode);
    drop(open);
    Ok(Hold { database, marker, inode, log: OnceLock::new(), _file: file })
}

/// A new folder is there for good once those above it are flushed, whoever made them. One that cannot be opened is not
/// ours and was not made just now.
fn flush_above(folder: &Path) {
    for above in folder.ancestors().skip(1).filter_map(|above| File::open(above).ok()) {
        let _ = above.sync_all();
    }
}

fn refuse_network(path: &Path, file: &File) -> Result<(), FolderError> {
    let kind = fstatfs(file).map_err(|error| FolderError::Io(path.to_owned(), error.into()))?.f_type;
    match network_name(kind.cast_unsigned() & 0xffff_ffff) {
        Some(name) => Err(FolderError::Network(path.to_owned(), name)),
        None => Ok(()),
    }
}

/// The name of a file system that is shared between machines, by the number that `statfs` gives it.
#[must_use]
pub fn network_name(kind: u64) -> Option<&'static str> {
    NETWORK.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

/// From statfs(2) and the kernel's `magic.h`. FUSE is among them: what stands behind it cannot be told, and
/// most of what does is remote.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB2"),
    (0xff53_4d42, "CIFS"),
    (0x564c, "NCP"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x786f_4256, "VirtualBox shared folders"),
    (0xbacb_acbc, "VMware shared folders"),
    (0x6573_5546, "FUSE"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_number() {
        for (kind, name) in
            [(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0xfe53_4d42, "SMB2"), (0x6573_5546, "FUSE")]
        {
            assert_eq!(network_name(kind), Some(name));
        }
    }

    #[test]
    fn local_file_systems_are_not_refused() {
        // ext4, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS, bcachefs
        for kind in [
            0xef53_u64,
            0x5846_5342,
            0x9123_683e,
            0x0102_1994,
            0x794c_7630,
            0x2fc1_2fc1,
            0xf2f5_2010,
            0xca45_1a4e,
        ] {
            assert_eq!(network_name(kind), None, "{kind:x}");
        }
    }
}
