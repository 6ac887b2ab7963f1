//! The daemon's folder: private to one user, and one starter at a time in it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tenure_core::wire;

use super::report::Failed;

/// Creates the folder, or makes sure that it belongs to the caller and to nobody else. Returns its full path.
pub(super) fn prepare(folder: &Path) -> Result<PathBuf, Failed> {
    let shown = folder.display();
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        Failed::new(
            format!("the state folder {shown} cannot be created: {error}"),
            "name another one with TENURE_STATE_DIR",
        )
    })?;
    let unreadable = |error: io::Error| {
        Failed::new(
            format!("the state folder {shown} cannot be read: {error}"),
            "name another one with TENURE_STATE_DIR",
        )
    };
    let found = std::fs::metadata(folder).map_err(unreadable)?;
    check_private(&shown.to_string(), found.uid(), found.mode(), rustix::process::geteuid().as_raw())?;
    folder.canonicalize().map_err(unreadable)
}

fn check_private(shown: &str, owner: u32, mode: u32, caller: u32) -> Result<(), Failed> {
    if owner != caller {
        return Err(Failed::new(
            format!("the state folder {shown} belongs to user {owner}, not to the caller ({caller})"),
            "name a folder of your own with TENURE_STATE_DIR",
        ));
    }
    if mode & 0o077 != 0 {
        return Err(Failed::new(
            format!("the state folder {shown} is open to other users (mode {:03o})", mode & 0o777),
            format!("close it: chmod 700 {shown}"),
        ));
    }
    Ok(())
}

/// Takes the daemons' lock: whoever holds it may look at the socket and replace it. The lock ends with the file.
pub(super) fn lock(folder: &Path, deadline: Instant) -> Result<File, Failed> {
    let path = folder.join(wire::DAEMON_LOCK);
    let failed = |error: io::Error| {
        Failed::new(format!("{} cannot be locked: {error}", path.display()), "check the state folder's disk")
    };
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(failed)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(Failed::new(
                    format!("another process has been starting or stopping a daemon in {}", folder.display()),
                    "look at daemon.log there; end the process that holds daemon.lock if it hangs",
                ));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_somebody_else_or_open_to_others_is_refused_with_the_remedy() {
        assert_eq!(check_private("/s", 7, 0o40700, 7), Ok(()));
        assert!(check_private("/s", 8, 0o40700, 7).is_err_and(|failed| failed.error.contains("user 8")));
        for mode in [0o40750, 0o40701, 0o40707] {
            assert!(
                check_private("/s", 7, mode, 7).is_err_and(|failed| failed.next.contains("chmod 700 /s"))
            );
        }
    }
}
