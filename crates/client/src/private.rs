//! Files and folders that are trusted: of this user alone, and never more than they should be.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::failure::Failure;

/// Most bytes that a file of settings is read for.
pub const SMALL_FILE_BYTES: usize = 1024 * 1024;

/// What others may not do in a state folder that somebody made beforehand: change it. Its files are private each.
pub const CHANGE: u32 = 0o022;
/// What others may not do in a folder of secrets: anything.
pub const ANYTHING: u32 = 0o077;

/// Creates a folder for this user alone. One that is there already must be this user's, and others may not do this.
pub fn create_folder(folder: &Path, forbidden: u32) -> Result<(), Failure> {
    // What stands in its place is told by its name.
    if check_folder(folder, forbidden)? {
        return Ok(());
    }
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| Failure::file("create", folder, &error))?;
    check_folder(folder, forbidden).map(|_| ())
}

/// Refuses a folder that is not this user's, or in which others may do this. Whether there is one.
pub fn check_folder(folder: &Path, forbidden: u32) -> Result<bool, Failure> {
    let found = match std::fs::metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Failure::file("look at", folder, &error)),
    };
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Failure::cannot_tell(
            format!("the folder {} belongs to another user, and secrets are kept in it", folder.display()),
            "name a state folder of yours with TENURE_STATE_DIR",
        ));
    }
    if !found.is_dir() {
        return Err(Failure::cannot_tell(
            format!("{} is no folder", folder.display()),
            "name a state folder with TENURE_STATE_DIR, or move that file away",
        ));
    }
    if found.mode() & forbidden != 0 {
        return Err(Failure::cannot_tell(
            format!("the folder {} is open to other users, and secrets are kept in it", folder.display()),
            format!("chmod go= {}", folder.display()),
        ));
    }
    Ok(true)
}

/// How files of ours are opened: for this user alone, and through no link.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(flags(OFlags::NOFOLLOW));
    options
}

/// Puts a text in a file's place as a whole, for this user alone. What was not finished is taken away: it may be a secret.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_added_extension(format!("draft-{}", std::process::id()));
    let written = write_new(&draft, text).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Reads a regular file of at most so many bytes. A pipe or a device is refused, not waited for.
pub fn read(path: &Path, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let (file, length) = open(path, OFlags::empty())?;
    bounded(file, length, bytes_max)
}

/// The same for a file of ours, through no link.
pub fn read_own(path: &Path, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let (file, length) = open(path, OFlags::NOFOLLOW)?;
    bounded(file, length, bytes_max)
}

/// The last bytes of such a file, at most so many, and how many stand before them.
pub fn read_own_end(path: &Path, bytes_max: usize) -> std::io::Result<(Vec<u8>, u64)> {
    let (file, length) = open(path, OFlags::NOFOLLOW)?;
    let before = length.saturating_sub(bytes_max as u64);
    let mut bytes = vec![0; bytes_max];
    let count = file.read_at(&mut bytes, before)?;
    bytes.truncate(count);
    Ok((bytes, before))
}

/// Reads a small regular text file.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    let bytes = read(path, SMALL_FILE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Opens a regular file, and tells its length. Opening a pipe does not wait for who writes into it.
fn open(path: &Path, more: OFlags) -> std::io::Result<(File, u64)> {
    let file = OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK | more)).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok((file, found.len()))
}

fn bounded(file: File, length: u64, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(bytes_max.min(length as usize) + 1);
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is longer than {bytes_max} bytes")));
    }
    Ok(bytes)
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_can_open_keeps_no_secrets() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("state");
        create_folder(&folder, ANYTHING).expect("created");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o750)).expect("set");
        let failure = create_folder(&folder, ANYTHING).expect_err("open to the group");
        create_folder(&folder, CHANGE).expect("nobody else can change it");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o770)).expect("set");
        create_folder(&folder, CHANGE).expect_err("the group can change it");
        assert!(failure.to_string().contains("open to other users"), "{failure}");
    }

    #[test]
    fn only_regular_files_are_read_and_never_more_than_they_may_be() {
        let root = tempfile::tempdir().expect("a folder");
        let pipe = root.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("runs");
        assert!(made.success());
        for path in [pipe.as_path(), Path::new("/dev/zero"), root.path()] {
            assert_eq!(read(path, 9).expect_err("no file").kind(), ErrorKind::InvalidInput, "{path:?}");
        }
        let (file, link) = (root.path().join("file"), root.path().join("link"));
        std::fs::write(&file, "0123456789").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        assert_eq!(read(&link, 10).expect("read"), b"0123456789");
        assert_eq!(read(&file, 9).expect_err("long").kind(), ErrorKind::FileTooLarge);
        read_own(&link, 10).expect_err("a link");
        options().append(true).open(&link).expect_err("a link");
    }
}
