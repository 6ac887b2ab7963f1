//! Wrong wall clocks: the real program under Debian's libfaketime, with the monotonic clock left true.

use std::path::PathBuf;

/// The library that moves a process's wall clock. It is part of the Debian package `faketime`; a machine without it
/// fails the test instead of skipping it.
#[must_use]
pub fn library() -> PathBuf {
    let roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];
    let mut folders: Vec<PathBuf> = roots.iter().map(|root| PathBuf::from(root).join("faketime")).collect();
    for entry in std::fs::read_dir("/usr/lib").into_iter().flatten().flatten() {
        folders.push(entry.path().join("faketime"));
    }
    let found = folders.into_iter().map(|folder| folder.join("libfaketime.so.1")).find(|path| path.exists());
    found.expect("libfaketime.so.1 is there: apt-get install faketime")
}

/// The variables under which a process believes that it is so many seconds later than it is.
#[must_use]
pub fn moved_by(seconds: i64) -> Vec<(String, String)> {
    let variables = [
        ("LD_PRELOAD", library().to_string_lossy().into_owned()),
        ("FAKETIME", format!("{seconds:+}")),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        // A process that is killed would leave its shared memory behind.
        ("FAKETIME_DISABLE_SHM", "1".to_owned()),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
