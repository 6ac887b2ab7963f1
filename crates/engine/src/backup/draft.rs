//! A file that is written under another name first, so that its own name never stands for a part of it.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use super::BackupError;
use crate::store::folder::beside;

/// What the name of a file ends with as long as it is being written.
const DRAFT: &str = ".draft";

/// A file in the making, for this user alone. It is removed unless it is published.
pub struct Draft {
    path: PathBuf,
    target: PathBuf,
    file: File,
    is_published: bool,
}

impl Draft {
    /// An empty draft of a file. What a draft that was left behind held is dropped.
    pub fn of(target: &Path) -> Result<Self, BackupError> {
        let path = beside(target, DRAFT);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let file = options.open(&path).map_err(BackupError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(BackupError::Busy(target.to_owned())),
            Err(std::fs::TryLockError::Error(error)) => return Err(BackupError::Io(path, error)),
        }
        file.set_len(0).map_err(BackupError::io(&path))?;
        Ok(Self { path, target: target.to_owned(), file, is_published: false })
    }

    /// Where it is being written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Makes it durable and gives it its name. What has the name is replaced only if that is wished.
    pub fn publish(mut self, replace: bool) -> Result<(), BackupError> {
        self.file.sync_all().map_err(BackupError::io(&self.path))?;
        let flags = if replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, &self.path, CWD, &self.target, flags) {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(BackupError::Taken(self.target.clone())),
            // A file system that cannot promise it; whether the name is taken was asked before.
            Err(rustix::io::Errno::INVAL) if !replace => {
                std::fs::rename(&self.path, &self.target).map_err(BackupError::io(&self.target))?;
            }
            Err(error) => return Err(BackupError::Io(self.target.clone(), error.into())),
        }
        self.is_published = true;
        sync_folder_of(&self.target)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes the names in a file's folder durable.
pub fn sync_folder_of(path: &Path) -> Result<(), BackupError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(BackupError::io(folder))
}

/// Refuses a name that is taken.
pub fn refuse_taken(path: &Path) -> Result<(), BackupError> {
    match path.symlink_metadata() {
        Ok(_) => Err(BackupError::Taken(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BackupError::Io(path.to_owned(), error)),
    }
}
