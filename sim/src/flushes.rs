//! A disk under a real daemon that holds only what was flushed: `interpose/disk.c`, loaded before the daemon's libc.

use std::path::PathBuf;
use std::process::Command;

use crate::daemon::Daemon;
use crate::place::Place;

/// The exit code of a process whose power went.
pub const POWER_IS_OFF: i32 = 99;

/// What the disk does. Flushes of files are counted from 1, anew in each process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// The power goes before this flush, or before the first one after it that has something to write.
    pub off_at: u64,
    /// This flush fails.
    pub fails_at: u64,
    /// Every flush says that all is well and writes nothing.
    pub lies: bool,
    /// If not 0, some of what was not flushed reaches the disk all the same, as this seed says.
    pub keeps: u64,
}

/// The disk of a place.
#[derive(Debug)]
pub struct Disk {
    library: PathBuf,
    root: PathBuf,
    state: PathBuf,
    report: PathBuf,
}

impl Disk {
    /// Builds it with the C compiler that also builds the store.
    #[must_use]
    pub fn under(place: &Place) -> Self {
        let folder = place.folder("interposed");
        let library = folder.join("disk.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/interpose/disk.c");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o"]);
        let built = compiler.arg(&library).arg(source).output();
        let built = built.expect("the disk is written in C: install a C compiler that is called cc");
        assert!(built.status.success(), "cc {source}: {}", String::from_utf8_lossy(&built.stderr));
        let (root, state) = (place.root().to_owned(), place.state().to_owned());
        Self { library, root, state, report: folder.join("report") }
    }

    /// The variables that put the disk under a process.
    #[must_use]
    pub fn variables(&self, plan: Plan) -> Vec<(&'static str, String)> {
        let path = |path: &PathBuf| path.display().to_string();
        let mut variables = vec![
            ("LD_PRELOAD", path(&self.library)),
            ("TENURE_DISK_FOLDER", path(&self.root)),
            ("TENURE_DISK_REPORT", path(&self.report)),
        ];
        let numbers = [
            ("TENURE_DISK_OFF_AT", plan.off_at),
            ("TENURE_DISK_ERROR_AT", plan.fails_at),
            ("TENURE_DISK_LIES", u64::from(plan.lies)),
            ("TENURE_DISK_KEEPS", plan.keeps),
        ];
        variables.extend(numbers.map(|(name, number)| (name, number.to_string())));
        variables
    }

    /// Starts the daemon of the place on it.
    #[must_use]
    pub fn daemon(&self, plan: Plan) -> Daemon {
        let variables = self.variables(plan);
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Daemon::start(&self.state, &[], &variables)
    }

    /// What the disk said that it did, line by line.
    #[must_use]
    pub fn report(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.report).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
