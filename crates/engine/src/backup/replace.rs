//! Putting a backup in the place of a store that nobody serves.
//!
//! The backup is copied beside the store, begins its next epoch there, and takes the store's name in one step. Whatever
//! ends the process before that step leaves the store as it was; after it there is only the restored one. The store
//! that was there keeps another name; see [`super::aside`].

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tenure_core::model::backup::Manifest;
use tenure_core::model::event::Fleet;
use tenure_core::model::ids::{Epoch, EventNumber};
use tenure_core::model::time::WallTime;
use tenure_core::rules::restore::{Floors, Told, next_epoch};
use tenure_core::wire::FLEET_MARKER;

pub use super::aside::Step;
use super::aside::{self, free_name, put_aside, remove};
use super::check::{self, measure, open, refuse_foreign, refuse_other};
use super::draft::sync_folder_of;
use super::past::{self, Lost};
use super::{BackupError, Progress};
use crate::clock::Clocks;
use crate::execute::prepare;
use crate::restore;
use crate::store::driver::{Class, Driver, StoreError};
use crate::store::folder::{
    FolderError, Hold, LOG, RESTORING, SHARED, beside, daemons_lock, database_in, hold_existing,
};
use crate::store::sqlite::{Role, Sqlite};
use crate::store::{fleet, floors};

/// What a restore would do.
#[derive(Debug)]
pub struct Plan {
    /// The backup.
    pub manifest: Manifest,
    /// The store that is there now, if one can be read.
    pub present: Option<Present>,
    /// Why the store that is there cannot be read.
    pub unreadable: Option<String>,
    /// The epoch that begins.
    pub epoch: Epoch,
    /// The number of its first event.
    pub event: EventNumber,
    /// Whether the present store tells everything that was handed out since the backup. Otherwise every counter moves
    /// far on.
    pub is_known: bool,
    /// What the present store will be called, if there is one.
    pub kept_as: Option<PathBuf>,
    /// Whether a daemon has the present store open. It goes on meanwhile, so more may be lost than is told.
    pub is_served: bool,
}

/// The store that a backup takes the place of.
#[derive(Debug)]
pub struct Present {
    /// Its fleet row.
    pub fleet: Fleet,
    /// What it has and the backup has not.
    pub lost: Lost,
}

/// How a folder is looked at.
enum Access {
    /// Held against daemons, if there is a store.
    Alone(Option<Hold>),
    /// Beside the daemon that has the store open, and only to read.
    Beside,
}

/// What is in a folder.
struct Place {
    database: PathBuf,
    floors: Floors,
    plan: Plan,
    _access: Access,
}

/// Says what a restore would do, and does nothing, also where a daemon serves the store. `heard` hears how far it is.
pub fn plan(
    folder: &Path,
    file: &Path,
    clocks: &dyn Clocks,
    heard: &mut dyn FnMut(Progress),
) -> Result<Plan, BackupError> {
    let manifest = verified(folder, file, heard)?;
    let access = match hold_existing(folder) {
        Err(FolderError::InUse(_)) => Access::Beside,
        held => Access::Alone(held.map_err(BackupError::Folder)?),
    };
    examine(folder, file, manifest, clocks, access).map(|place| place.plan)
}

/// Restores a backup: all of it, or nothing. `heard` hears how far it is, and of each step when it is done.
pub fn restore(
    folder: &Path,
    file: &Path,
    clocks: &dyn Clocks,
    heard: &mut dyn FnMut(Progress),
) -> Result<Plan, BackupError> {
    let manifest = verified(folder, file, heard)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(BackupError::folder(folder))?;
    let _no_daemon_starts = daemons_lock(folder).map_err(BackupError::Folder)?;
    let access = Access::Alone(hold_existing(folder).map_err(BackupError::Folder)?);
    let Place { database, floors, plan, _access } = examine(folder, file, manifest, clocks, access)?;

    let copy = beside(&database, RESTORING);
    clear(&copy)?;
    let done = copy_checked(file, &plan.manifest, &copy, heard).and_then(|()| {
        heard(Progress::Reached(Step::Copied));
        let fleet = begin_epoch(&copy, clocks, &floors)?;
        debug_assert_eq!(fleet.epoch, plan.epoch, "what was told is what is done");
        heard(Progress::Reached(Step::Restored));
        if plan.present.is_some() { aside::settle(&database) } else { Ok(()) }
    });
    // Whoever is told to make room shall not find a whole store in the way.
    done.inspect_err(|_| drop(clear(&copy)))?;
    put_aside(&database, plan.kept_as.as_deref(), plan.epoch, &mut |step| heard(Progress::Reached(step)))?;
    fs::rename(&copy, &database).map_err(BackupError::folder(&database))?;
    sync_folder_of(&database).map_err(BackupError::folder(&database))?;
    heard(Progress::Reached(Step::Replaced));
    Ok(plan)
}

/// The manifest of a backup that is whole and no file of the folder's own store.
fn verified(folder: &Path, file: &Path, heard: &mut dyn FnMut(Progress)) -> Result<Manifest, BackupError> {
    refuse_own(&database_in(folder), file)?;
    check::verify(file, heard)
}

/// Refuses a backup under a name that the store itself uses, or a restore: such a file would be taken for a part of it.
pub fn refuse_own(database: &Path, file: &Path) -> Result<(), BackupError> {
    let real = |path: &Path| path.parent().and_then(|folder| folder.canonicalize().ok());
    let name =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_beside = real(file).is_some() && real(file) == real(database);
    if is_beside && name(file).starts_with(&name(database)) {
        return Err(BackupError::Own(file.to_owned()));
    }
    Ok(())
}

/// Looks at what is there.
fn examine(
    folder: &Path,
    file: &Path,
    manifest: Manifest,
    clocks: &dyn Clocks,
    access: Access,
) -> Result<Place, BackupError> {
    let role = match &access {
        Access::Alone(hold) => hold.as_ref().map(|_| Role::Writer),
        Access::Beside => Some(Role::Reader),
    };
    let database = database_in(folder);
    let marker = folder.join(FLEET_MARKER);
    match fs::read_to_string(&marker) {
        Ok(noted) => refuse_foreign(&manifest, noted.trim())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(BackupError::Folder(FolderError::Io(marker, error))),
    }
    let mut backup = Sqlite::open_whole(file).map_err(BackupError::store(file))?;
    let known = floors::read(&mut backup).map_err(BackupError::store(file))?;
    let before = fleet::existing_of_any_schema(&mut backup).map_err(BackupError::store(file))?;
    let (present, unreadable, told) = match role.map(|role| meet(&database, role, &mut backup)) {
        None => (None, None, Told::Nothing),
        Some(Ok((present, floors))) => {
            let told = Told::by(floors, present.lost.unknown_here);
            (Some(present), None, told)
        }
        Some(Err(error)) if error.class == Class::Corrupt => (None, Some(error.detail), Told::Nothing),
        Some(Err(error)) => return Err(BackupError::store(&database)(error)),
    };
    if let Some(present) = &present {
        refuse_foreign(&manifest, &present.fleet.id)?;
    }
    let wall = WallTime(clocks.wall_ms());
    let is_known = told.is_all();
    let floors = Floors::after(known, before.wall, told, wall);
    let next = next_epoch(&before, &floors, wall);
    let (epoch, event) = (next.epoch, EventNumber(next.event.0 + 1));
    let kept_as = role.is_some().then(|| free_name(&database, epoch));
    let is_served = matches!(access, Access::Beside);
    let plan = Plan { manifest, present, unreadable, epoch, event, is_known, kept_as, is_served };
    Ok(Place { database, floors, plan, _access: access })
}

/// Reads the present store beside the backup. A log that an ended daemon left is moved into the database, which loses
/// nothing.
fn meet(database: &Path, role: Role, backup: &mut dyn Driver) -> Result<(Present, Floors), StoreError> {
    let mut driver = Sqlite::open(database, role)?;
    let fleet = fleet::existing_of_any_schema(&mut driver)?;
    let lost = past::lost(&mut driver, backup)?;
    let floors = floors::read(&mut driver)?;
    Ok((Present { fleet, lost }, floors))
}

/// Copies the backup, and checks that what was copied is what was checked.
fn copy_checked(
    file: &Path,
    manifest: &Manifest,
    copy: &Path,
    heard: &mut dyn FnMut(Progress),
) -> Result<(), BackupError> {
    let mut options = OpenOptions::new();
    let to = options.write(true).create_new(true).mode(0o600).open(copy);
    let mut to = to.map_err(BackupError::folder(copy))?;
    let measured = measure(&mut open(file)?, file, &mut |piece, done| {
        heard(Progress::Copied { done, all: manifest.bytes });
        to.write_all(piece).map_err(BackupError::folder(copy))
    })?;
    refuse_other(file, manifest, &measured)
}

/// Brings the copy up to this version and into its next epoch, as one file that is durable.
fn begin_epoch(copy: &Path, clocks: &dyn Clocks, floors: &Floors) -> Result<Fleet, BackupError> {
    let run = || {
        let mut driver = Sqlite::open(copy, Role::Writer)?;
        let driver: &mut dyn Driver = &mut driver;
        prepare(driver, clocks, || Err(StoreError::corrupt("the backup holds no fleet")))?;
        let fleet = restore::restore(driver, clocks, floors)?;
        driver.settle()?;
        Ok(fleet)
    };
    let fleet = run().map_err(BackupError::store(copy))?;
    remove(&beside(copy, LOG))?;
    remove(&beside(copy, SHARED))?;
    File::open(copy).and_then(|file| file.sync_all()).map_err(BackupError::folder(copy))?;
    Ok(fleet)
}

/// Removes what an earlier restore left of its copy.
fn clear(copy: &Path) -> Result<(), BackupError> {
    for ending in ["", LOG, SHARED] {
        remove(&beside(copy, ending))?;
    }
    Ok(())
}
