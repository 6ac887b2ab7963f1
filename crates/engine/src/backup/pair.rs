//! The two files of a backup, which come to their names as one.
//!
//! At every moment there is the earlier backup, the new one, or a file whose manifest is missing; never a file beside
//! the manifest of another. What a run that was cut off left so is made whole by the next to the same place.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tenure_core::model::backup::Manifest;
use tenure_core::model::limits::MANIFEST_BYTES;

use super::check::{self, measured, open, refuse_foreign, refuse_other};
use super::draft::{Draft, earlier_of, refuse_taken, sync_folder_of};
use super::{BackupError, manifest_of};

/// A step of giving a backup its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Both files are durable under other names.
    Written,
    /// The manifest of the earlier backup has another name.
    Unvouched,
    /// The file has its name.
    Named,
    /// The manifest has its name.
    Vouched,
}

/// Both drafts. The manifest's is locked first and has its name last, so that nobody else writes to this place.
pub struct Pair {
    manifest: Draft,
    /// The draft of the file.
    pub copy: Draft,
    file: PathBuf,
    replaces: bool,
}

impl Pair {
    /// Empty drafts of a backup. A fleet whose earlier backup they take the place of has its own there, whole, or nothing.
    pub fn begin(file: &Path, replace: Option<&str>) -> Result<Self, BackupError> {
        let manifest = finished(file)?;
        let replaces = replace.is_some() && file.symlink_metadata().is_ok();
        if let Some(fleet) = replace.filter(|_| replaces) {
            let earlier = check::manifest(file).map_err(of_another)?;
            refuse_foreign(&earlier, fleet)?;
            refuse_other(file, &earlier, &measured(file)?)?;
        } else {
            refuse_taken(file)?;
            refuse_taken(&manifest_of(file))?;
        }
        let copy = Draft::of(file)?.emptied()?;
        Ok(Self { manifest: manifest.emptied()?, copy, file: file.to_owned(), replaces })
    }

    /// Gives both their names.
    pub fn publish(mut self, manifest: &Manifest, reached: &mut dyn FnMut(Step)) -> Result<(), BackupError> {
        let (path, earlier) = (manifest_of(&self.file), earlier_of(&self.file)?);
        let text = manifest.to_text();
        self.manifest.file().write_all(text.as_bytes()).map_err(BackupError::writing(&path))?;
        self.copy.sync()?;
        self.manifest.sync()?;
        reached(Step::Written);
        if self.replaces {
            fs::rename(&path, &earlier).map_err(BackupError::writing(&path))?;
            sync_folder_of(&path).map_err(BackupError::writing(&path))?;
            reached(Step::Unvouched);
        }
        if let Err(error) = self.copy.publish(self.replaces) {
            if self.copy.is_published() {
                self.manifest.leave();
            } else if self.replaces {
                let _ = fs::rename(&earlier, &path);
            }
            return Err(error);
        }
        reached(Step::Named);
        // Should it fail, the draft stays beside the new file, and the next run makes the two whole.
        self.manifest.leave();
        self.manifest.publish(false)?;
        reached(Step::Vouched);
        let _ = fs::remove_file(earlier);
        Ok(())
    }
}

/// What was ours for sure has its manifest by now.
fn of_another(error: BackupError) -> BackupError {
    let BackupError::Unvouched { file, manifest, .. } = error else { return error };
    BackupError::Unvouched { file, manifest, is_cut_off: false }
}

/// The draft of a file's manifest. If a run was cut off between its steps, the file gets the manifest first that is its
/// own: by its digest there is no doubt.
fn finished(file: &Path) -> Result<Draft, BackupError> {
    let (path, earlier) = (manifest_of(file), earlier_of(file)?);
    let mut draft = Draft::of(&path)?;
    if file.symlink_metadata().is_err() || path.symlink_metadata().is_ok() {
        return Ok(draft);
    }
    if vouches(&draft.held(MANIFEST_BYTES as u64 + 1)?, file)? {
        draft.sync()?;
        draft.publish(false)?;
        return Draft::of(&path);
    }
    if vouches(&held_by(&earlier), file)? {
        fs::rename(&earlier, &path).map_err(BackupError::writing(&path))?;
        sync_folder_of(&path).map_err(BackupError::writing(&path))?;
    }
    Ok(draft)
}

/// What a manifest that was put aside holds; nothing if there is none that can be read.
fn held_by(earlier: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let read = open(earlier).map(|file| file.take(MANIFEST_BYTES as u64 + 1).read_to_end(&mut text));
    if matches!(read, Ok(Ok(_))) { text } else { Vec::new() }
}

/// Whether this is the manifest of exactly this file.
fn vouches(text: &[u8], file: &Path) -> Result<bool, BackupError> {
    let manifest = std::str::from_utf8(text).ok().and_then(|text| Manifest::from_text(text).ok());
    let Some(manifest) = manifest else { return Ok(false) };
    Ok(refuse_other(file, &manifest, &measured(file)?).is_ok())
}
