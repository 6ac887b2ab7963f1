//! Where PostgreSQL's programs are, and who runs them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::getuid;

use crate::program::run;
use crate::version::{self, Version};

/// The user that runs a server which refuses to run as root: nobody.
const NOBODY: u32 = 65_534;
/// How long a program may take that comes to an end by itself, in seconds: a server that stands still answers none.
const PATIENCE: &str = "30";
/// What the data folder of a new cluster is copied from, so that one is made in no time.
const TEMPLATE: &str = "tenure-postgres-template";

/// The programs of one version, and a folder that whoever runs them can use.
#[derive(Debug)]
pub struct Place {
    version: Version,
    folder: tempfile::TempDir,
}

impl Place {
    /// A place for a new cluster of the newest version.
    pub fn newest() -> Result<Self, String> {
        Self::of(version::newest()?)
    }

    /// A place for a new cluster of one version.
    pub fn of(version: Version) -> Result<Self, String> {
        Self::below(&std::env::temp_dir(), version)
    }

    /// The same below a folder, e.g. of a disk of its own, that everybody may pass.
    pub fn below(parent: &Path, version: Version) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("tenure-pg-").tempdir_in(parent);
        let folder = folder.map_err(|error| format!("a folder for PostgreSQL: {error}"))?;
        own(folder.path())?;
        Ok(Self { version, folder })
    }

    /// The folder. The socket is in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The version of its programs.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// One of its programs, run by who may run it, that ends with the caller.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        self.guarded(self.programs().join(program))
    }

    /// The same for a program that comes to an end by itself. One that does not is ended.
    pub(crate) fn tool(&self, program: &str) -> Command {
        let mut command = self.guarded("timeout");
        command.args(["--kill-after", "5", PATIENCE]).arg(self.programs().join(program));
        command
    }

    /// A tool that talks to the server whose socket in this folder has that port in its name.
    pub(crate) fn client(&self, program: &str, port: u16) -> Command {
        let mut client = self.tool(program);
        client.arg("--host").arg(self.folder());
        client.args(["--port", &port.to_string(), "--username", "tenure"]);
        client
    }

    /// The program that runs statements on the server whose socket in this folder has that port in its name.
    pub(crate) fn psql(&self, port: u16, statements: &str) -> Command {
        let mut psql = self.client("psql", port);
        psql.args(["--dbname", "postgres"]);
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"]);
        psql.args(["--command", statements]);
        psql
    }

    /// The folder of its programs.
    pub(crate) fn programs(&self) -> &Path {
        &self.version.programs
    }

    /// Another program, run in the same way.
    #[must_use]
    pub fn guarded(&self, program: impl AsRef<OsStr>) -> Command {
        self.guarded_by("INT", program)
    }

    /// The same for a program that wants to be asked to end in its own way.
    pub(crate) fn guarded_by(&self, signal: &str, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", signal]);
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
        // Another build of the same version would not take it.
        let build = self.programs().display().to_string().replace('/', "-");
        let template = std::env::temp_dir().join(format!("{TEMPLATE}-{}{build}", getuid().as_raw()));
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
