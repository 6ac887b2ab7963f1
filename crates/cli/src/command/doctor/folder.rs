//! The state folder: whose it is, what can be read in it, and on what disk it lies.

use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use tenure_client::{private, session_file};
use tenure_engine::store::folder::{DATABASE, database_in, network_name};
use tenure_engine::store::sqlite::LOG_BYTES;

use super::check::Check;
use crate::shell;

/// With less room than the store's log may take, writes end at any moment.
const DISK_FREE_BYTES_MIN: u64 = LOG_BYTES.unsigned_abs();
/// Every session and every backup needs a few files.
const FILES_FREE_MIN: u64 = 100;
/// How much is flushed to see how long a flush takes: a page of the store.
const FLUSHED_BYTES: usize = 4096;

/// What its user must be allowed to do with the folder: read, write and enter it.
const ITS_USER: u32 = 0o700;

/// Where the state folder is, and that it is its user's alone.
pub fn folder(store: &Path) -> Check {
    match store.metadata() {
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => Check::failed(
            "folder",
            format!("{} belongs to another user", store.display()),
            "name another one with TENURE_STATE_DIR",
        ),
        Ok(found) if !found.is_dir() => Check::failed(
            "folder",
            format!("{} is no folder", store.display()),
            "name a folder with TENURE_STATE_DIR, or move that file away",
        ),
        Ok(found) => open_to_others("folder", store, &found, "700")
            .or_else(|| closed_to_its_user(store, &found))
            .unwrap_or_else(|| Check::passed("folder", store.display().to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Check::informs("folder", format!("{} is not there yet", store.display()))
        }
        Err(error) => {
            Check::failed("folder", format!("{}: {error}", store.display()), "make it readable for you")
        }
    }
}

/// What is said of a folder that its own user may not read, write or enter.
fn closed_to_its_user(store: &Path, found: &Metadata) -> Option<Check> {
    let mode = found.mode() & 0o777;
    (mode & ITS_USER != ITS_USER).then(|| {
        let told = format!("{} is closed to its own user (mode {mode:03o})", store.display());
        Check::failed("folder", told, format!("chmod 700 {}", shell::path(store)))
    })
}

/// Whether others may do anything with it.
fn is_open(found: &Metadata) -> bool {
    found.mode() & private::ANYTHING != 0
}

/// What is said of something that others may use, and the mode that keeps it from them.
pub fn open_to_others(name: &'static str, path: &Path, found: &Metadata, mode: &str) -> Option<Check> {
    is_open(found).then(|| {
        let told = format!("{} is open to others (mode {:o})", path.display(), found.mode() & 0o777);
        Check::failed(name, told, format!("chmod {mode} {}", shell::path(path)))
    })
}

/// Every file in the state folder is for its owner alone.
pub fn files(store: &Path) -> Option<Check> {
    let (mut open, mut links) = (Vec::new(), Vec::new());
    let mut count = 0;
    for folder in [store.to_owned(), session_file::folder(store)] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            count += 1;
            let path = entry.path().display().to_string();
            match found.is_symlink() {
                // The database may lie on another disk, and must be private there.
                true if entry.file_name() == DATABASE => {
                    open.extend(entry.path().metadata().is_ok_and(|found| is_open(&found)).then_some(path));
                }
                true => links.push(path),
                false => open.extend(is_open(&found).then_some(path)),
            }
        }
    }
    if !links.is_empty() {
        // A link has no mode of its own: what it leads to is not ours to close.
        let words: Vec<_> = links.iter().map(|path| shell::word(path)).collect();
        let next = format!("rm {}", words.join(" "));
        return Some(Check::failed(
            "files",
            format!("links, which nobody follows: {}", links.join(", ")),
            next,
        ));
    }
    match (count, open.is_empty()) {
        (0, _) => None,
        (_, true) => Some(Check::passed("files", format!("{count}, all private"))),
        (_, false) => {
            let words: Vec<_> = open.iter().map(|path| shell::word(path)).collect();
            let next = format!("chmod go= {}", words.join(" "));
            Some(Check::failed("files", format!("open to others: {}", open.join(", ")), next))
        }
    }
}

/// What kind of file system the store is on: its locks must hold between all who can reach it.
pub fn file_system(store: &Path) -> Option<Check> {
    // The database may be a link to another disk.
    let database = database_in(store);
    let kinds = [Some(store), database.parent()].into_iter().flatten();
    let kinds = kinds.filter_map(|folder| Some((folder, rustix::fs::statfs(folder).ok()?.f_type)));
    let checks = kinds.map(|(folder, kind)| {
        let name = device(folder).and_then(|device| named(&device, &mounts()));
        of_kind(kind.cast_unsigned() & 0xffff_ffff, name.as_deref())
    });
    checks.reduce(|one, other| if one.ok == Some(true) { other } else { one })
}

fn of_kind(kind: u64, name: Option<&str>) -> Check {
    match (network_name(kind), name) {
        (Some(network), _) => Check::failed(
            "file system",
            format!("the store lies on {network}, where file locks cannot be relied on"),
            "name a folder on a local disk with TENURE_STATE_DIR",
        ),
        (None, Some(name)) => Check::passed("file system", format!("local ({name})")),
        (None, None) => Check::passed("file system", format!("local ({kind:#x})")),
    }
}

/// The number of the device that a folder is on, as the kernel writes it.
fn device(folder: &Path) -> Option<String> {
    let device = folder.metadata().ok()?.dev();
    Some(format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device)))
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

/// The kind of file system that is mounted from a device. The kernel's list says more about a mount than its number does.
fn named(device: &str, mounts: &str) -> Option<String> {
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(device))?;
    let (_, kind) = line.split_once(" - ")?;
    kind.split(' ').next().map(str::to_owned)
}

/// The room that is left where the store is.
pub fn disk(store: &Path) -> Option<Check> {
    let database = database_in(store);
    let found = rustix::fs::statvfs(database.parent()?).ok()?;
    // Some file systems have no fixed number of files, and count none.
    let files = (found.f_files > 0).then_some(found.f_favail);
    Some(room(store, found.f_bavail.saturating_mul(found.f_frsize), files))
}

fn room(store: &Path, bytes: u64, files: Option<u64>) -> Check {
    let told = match files {
        Some(files) => format!("{} MiB and {files} files free", bytes >> 20),
        None => format!("{} MiB free", bytes >> 20),
    };
    let is_short = bytes < DISK_FREE_BYTES_MIN || files.is_some_and(|files| files < FILES_FREE_MIN);
    if !is_short {
        return Check::passed("disk", told);
    }
    let next = format!("make room there: df -h {}", shell::path(store));
    Check::failed("disk", format!("only {told}: without room nothing can be written"), next)
}

/// How long a flush takes, which is what a commit waits for.
pub fn flush(store: &Path) -> Option<Check> {
    if !store.is_dir() {
        return None;
    }
    let flushed = || -> std::io::Result<f64> {
        let mut file = tempfile::Builder::new().prefix(".doctor-").tempfile_in(store)?;
        file.write_all(&[0; FLUSHED_BYTES])?;
        let began = Instant::now();
        file.as_file().sync_data()?;
        Ok(began.elapsed().as_secs_f64() * 1000.0)
    };
    Some(match flushed() {
        Ok(ms) => Check::informs("flush", format!("a flush takes {ms:.1} ms, and a commit needs one")),
        Err(error) => {
            let next = match error.kind() {
                std::io::ErrorKind::PermissionDenied => format!("chmod 700 {}", shell::path(store)),
                _ => format!("look at the disk: df -h {}", shell::path(store)),
            };
            Check::failed("flush", format!("nothing can be written in {}: {error}", store.display()), next)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_file_system_is_told_by_its_name() {
        let check = of_kind(0x6969, Some("nfs4"));
        assert_eq!(check.ok, Some(false));
        assert!(check.found.contains("on NFS,"), "{check:?}");
        assert!(check.next.expect("a step").contains("TENURE_STATE_DIR"));
        assert_eq!(of_kind(0xef53, Some("ext4")), Check::passed("file system", "local (ext4)"));
        assert_eq!(of_kind(0xef53, None).found, "local (0xef53)");
    }

    #[test]
    fn a_mount_is_found_by_its_device_whatever_else_its_line_says() {
        let mounts = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/a rw\n\
            22 21 0:25 / /tmp rw shared:2 master:1 - tmpfs tmpfs rw,size=1k\n";
        assert_eq!(named("0:25", mounts).as_deref(), Some("tmpfs"));
        assert_eq!(named("8:2", mounts), None);
    }

    #[test]
    fn a_disk_with_little_room_or_few_files_left_is_told_before_it_is_full() {
        let store = Path::new("/state");
        let left = |bytes, files| room(store, bytes, files).ok;
        assert_eq!(left(DISK_FREE_BYTES_MIN, Some(FILES_FREE_MIN)), Some(true));
        assert_eq!(left(DISK_FREE_BYTES_MIN - 1, Some(FILES_FREE_MIN)), Some(false));
        assert_eq!(left(DISK_FREE_BYTES_MIN, Some(FILES_FREE_MIN - 1)), Some(false));
        assert_eq!(left(DISK_FREE_BYTES_MIN, None), Some(true), "it counts no files");
        let check = room(store, 1 << 20, Some(7));
        assert!(check.found.contains("only 1 MiB and 7 files free"), "{check:?}");
        assert_eq!(check.next.as_deref(), Some("make room there: df -h /state"));
    }
}
