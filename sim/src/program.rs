//! Where the program under test is: the `tenure` that Cargo built beside the tests and the proofs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The workspace's own `tenure`. A missing or outdated one fails the test instead of being tested.
pub fn tenure() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let own = std::env::current_exe().expect("a program knows its own executable");
        let beside = own.parent().expect("a program lies in a folder");
        // Tests lie in target/PROFILE/deps.
        let built = if beside.ends_with("deps") { beside.parent().unwrap_or(beside) } else { beside };
        let program = built.join("tenure");
        let built_at = changed(&program);
        assert!(built_at.is_some(), "{} is missing: cargo build -p tenure", program.display());
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let newest = newest_source(&crates);
        assert!(built_at >= newest, "{} is older than its sources: cargo build -p tenure", program.display());
        program
    })
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|found| found.modified()).ok()
}

/// When the newest file of the program's sources was written.
fn newest_source(crates: &Path) -> Option<SystemTime> {
    let mut newest = None;
    let mut folders: Vec<PathBuf> = ["cli", "client", "core", "engine", "server"]
        .iter()
        .map(|name| crates.join(name).join("src"))
        .filter(|folder| folder.is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                newest = newest.max(changed(&path));
            }
        }
    }
    newest
}
