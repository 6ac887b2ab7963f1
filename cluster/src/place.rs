//! Where PostgreSQL's programs are, and who runs them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::getuid;

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The user that runs a server which refuses to run as root: nobody.
const NOBODY: u32 = 65_534;
/// How long a program may take that comes to an end by itself, in seconds: a server that stands still answers none.
const PATIENCE: &str = "30";
/// What the data folder of a new cluster is copied from, so that one is made in no time.
const TEMPLATE: &str = "tenure-postgres-template";

/// The versions that are there, the newest last.
#[must_use]
pub fn versions() -> Vec<u32> {
    let found = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut versions: Vec<u32> = found
        .filter(|version| version.path().join("bin/postgres").is_file())
        .filter_map(|version| version.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable();
    versions
}

/// The programs of one version, and a folder that whoever runs them can use.
#[derive(Debug)]
pub struct Place {
    programs: PathBuf,
    version: u32,
    folder: tempfile::TempDir,
}

impl Place {
    /// A place for a new cluster of the newest version.
    pub fn newest() -> Result<Self, String> {
        let newest = versions().pop().ok_or_else(|| {
            format!("no PostgreSQL is below {VERSIONS}: install it (Debian's package is `postgresql`)")
        })?;
        Self::of(newest)
    }

    /// A place for a new cluster of one version.
    pub fn of(version: u32) -> Result<Self, String> {
        Self::below(&std::env::temp_dir(), version)
    }

    /// The same below a folder, e.g. of a disk of its own, that everybody may pass.
    pub fn below(parent: &Path, version: u32) -> Result<Self, String> {
        let programs = Path::new(VERSIONS).join(version.to_string()).join("bin");
        let folder = tempfile::Builder::new().prefix("tenure-pg-").tempdir_in(parent);
        let folder = folder.map_err(|error| format!("a folder for PostgreSQL: {error}"))?;
        own(folder.path())?;
        Ok(Self { programs, version, folder })
    }

    /// The folder. The socket is in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The version of its programs.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// One of its programs, run by who may run it, that ends with the caller.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        self.guarded(self.programs.join(program))
    }

    /// The same for a program that comes to an end by itself. One that does not is ended.
    pub(crate) fn tool(&self, program: &str) -> Command {
        let mut command = self.guarded("timeout");
        command.args(["--kill-after", "5", PATIENCE]).arg(self.programs.join(program));
        command
    }

    /// Another program, run in the same way.
    #[must_use]
    pub fn guarded(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if getuid().is_root() {
            command.args(["--reuid", &NOBODY.to_string(), "--regid", &NOBODY.to_string(), "--clear-groups"]);
        }
        command.arg("--").arg(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
        command.current_dir(self.folder()).stdin(Stdio::null());
        command
    }

    /// Makes a cluster's data folder `name` within the place, or copies one that was made before.
    pub fn make_data(&self, name: &str) -> Result<PathBuf, String> {
        let template =
            std::env::temp_dir().join(format!("{TEMPLATE}-{}-{}", getuid().as_raw(), self.version));
        if !template.join("PG_VERSION").exists() {
            let made = self.initialise("template")?;
            // Somebody else may have been faster, with the same.
            let _ = fs::rename(&made, &template);
        }
        let data = self.folder().join(name);
        let copied = run(Command::new("cp").args(["--archive", "--reflink=auto"]).arg(&template).arg(&data));
        copied.map_err(|error| format!("the data folder of PostgreSQL cannot be copied: {error}"))?;
        Ok(data)
    }

    fn initialise(&self, name: &str) -> Result<PathBuf, String> {
        let data = self.folder().join(name);
        run(self
            .tool("initdb")
            .arg("--pgdata")
            .arg(&data)
            .args(["--username", "tenure", "--auth", "trust", "--encoding", "UTF8", "--locale", "C"])
            .args(["--no-instructions", "--no-sync"]))
        .map_err(|error| format!("initdb: {error}"))?;
        Ok(data)
    }
}

/// Gives a path to who runs the servers, and lets the caller in.
pub(crate) fn own(path: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(told)?;
    hand_over(path)
}

/// Gives a path to who runs the servers, with its permissions as they are.
pub(crate) fn hand_over(path: &Path) -> Result<(), String> {
    if !getuid().is_root() {
        return Ok(());
    }
    chown(path, Some(NOBODY), Some(NOBODY)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a program to its end and returns what it prints.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
    }
}
