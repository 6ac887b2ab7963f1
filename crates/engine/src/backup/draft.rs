//! A file that is written under another name first, so that its own name never stands for a part of it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use super::{BackupError, manifest_of};

/// What a file is called while it is written.
const DRAFT: &str = ".tenure-draft";
/// What the manifest of an earlier backup is called while that is replaced.
const EARLIER: &str = ".tenure-earlier";
/// How often a draft that took its name just when it was locked is looked for anew.
const LOOKS: u32 = 64;

/// A file in the making, for this user alone. It is locked as long as it is, and removed unless it is published.
pub struct Draft {
    path: PathBuf,
    target: PathBuf,
    file: File,
    /// Whether it goes with this value.
    is_ours: bool,
    is_published: bool,
}

impl Draft {
    /// The draft of a file, with what one that was cut off left in it.
    pub fn of(target: &Path) -> Result<Self, BackupError> {
        Self::opened(target, &mut open)
    }

    fn opened(
        target: &Path,
        open: &mut dyn FnMut(&Path) -> std::io::Result<File>,
    ) -> Result<Self, BackupError> {
        let path = hidden(target, DRAFT)?;
        for _ in 0..LOOKS {
            let file = open(&path).map_err(BackupError::writing(target))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(BackupError::Busy(target.to_owned())),
                Err(TryLockError::Error(error)) => return Err(BackupError::Unwritable(path, error)),
            }
            let found = file.metadata().map_err(BackupError::writing(&path))?;
            // Whoever held the lock before may have published or removed what was opened here.
            let is_there = path
                .symlink_metadata()
                .is_ok_and(|named| (named.dev(), named.ino()) == (found.dev(), found.ino()));
            if is_there && !found.is_file() {
                return Err(BackupError::Altered(path, "it is no regular file".to_owned()));
            }
            if is_there {
                return Ok(Self {
                    path,
                    target: target.to_owned(),
                    file,
                    is_ours: found.len() == 0,
                    is_published: false,
                });
            }
        }
        Err(BackupError::Busy(target.to_owned()))
    }

    /// What it holds, up to so many bytes.
    pub fn held(&self, bytes: u64) -> Result<Vec<u8>, BackupError> {
        let mut held = Vec::new();
        (&self.file).take(bytes).read_to_end(&mut held).map_err(BackupError::writing(&self.path))?;
        Ok(held)
    }

    /// Drops what it held.
    pub fn emptied(mut self) -> Result<Self, BackupError> {
        self.file.set_len(0).map_err(BackupError::writing(&self.path))?;
        std::io::Seek::rewind(&mut self.file).map_err(BackupError::writing(&self.path))?;
        self.is_ours = true;
        Ok(self)
    }

    /// Leaves it where it is, for the next run to the same place.
    pub fn leave(&mut self) {
        self.is_ours = false;
    }

    /// Where it is being written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Makes what it holds durable.
    pub fn sync(&self) -> Result<(), BackupError> {
        self.file.sync_all().map_err(BackupError::writing(&self.path))
    }

    /// Whether it has its name.
    pub fn is_published(&self) -> bool {
        self.is_published
    }

    /// Gives it its name, durably. What has the name is replaced only if that is wished.
    pub fn publish(&mut self, replace: bool) -> Result<(), BackupError> {
        let flags = if replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, &self.path, CWD, &self.target, flags) {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(BackupError::Taken(self.target.clone())),
            // A file system that cannot promise it; whether the name is taken was asked before.
            Err(rustix::io::Errno::INVAL) if !replace => {
                std::fs::rename(&self.path, &self.target).map_err(BackupError::writing(&self.target))?;
            }
            Err(error) => return Err(BackupError::Unwritable(self.target.clone(), error.into())),
        }
        (self.is_ours, self.is_published) = (false, true);
        sync_folder_of(&self.target).map_err(BackupError::writing(&self.target))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The lock is still held, and only its holder gives the name away.
        if self.is_ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).mode(0o600);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()).open(path)
}

/// A name beside a file that nobody gives a file of their own.
fn hidden(target: &Path, ending: &str) -> Result<PathBuf, BackupError> {
    let Some(name) = target.file_name() else {
        return Err(BackupError::Unwritable(target.to_owned(), ErrorKind::IsADirectory.into()));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(ending);
    Ok(target.with_file_name(hidden))
}

/// Makes the names in a file's folder durable.
pub fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Refuses a name that is taken.
pub fn refuse_taken(path: &Path) -> Result<(), BackupError> {
    match path.symlink_metadata() {
        Ok(_) => Err(BackupError::Taken(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BackupError::Unwritable(path.to_owned(), error)),
    }
}

/// The name that the manifest of an earlier backup has while that is replaced.
pub fn earlier_of(file: &Path) -> Result<PathBuf, BackupError> {
    hidden(&manifest_of(file), EARLIER)
}

/// Whether a run to this place was cut off.
pub fn is_cut_off(file: &Path) -> bool {
    let manifest = manifest_of(file);
    [DRAFT, EARLIER]
        .into_iter()
        .any(|ending| hidden(&manifest, ending).is_ok_and(|path| path.symlink_metadata().is_ok()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_draft_that_got_its_name_before_it_was_locked_is_not_written_to() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("backup.db");
        for is_published in [true, false] {
            let mut opened = 0;
            let mut draft = Draft::opened(&target, &mut |path| {
                opened += 1;
                let file = open(path)?;
                if opened == 1 {
                    // Another run ends in the moment between the two calls.
                    std::fs::write(path, "another's")?;
                    if is_published { std::fs::rename(path, &target)? } else { std::fs::remove_file(path)? }
                }
                Ok(file)
            })
            .and_then(Draft::emptied)
            .expect("a draft");
            draft.file().write_all(b"mine").expect("written");
            assert_eq!(opened, 2);
            assert_eq!(std::fs::read_to_string(draft.path()).expect("it is there"), "mine");
            assert_eq!(std::fs::read_to_string(&target).expect("it is there"), "another's");
        }
    }
}
