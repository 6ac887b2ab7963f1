//! A cluster of one server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Place, run};

/// How long a server may take to answer first, and to go.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a server that starts or ends is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The port in the socket's name.
const PORT: u16 = 5432;

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Connections are cut, everything is written.
    Fast,
    /// As a crash: nothing is written any more.
    Immediate,
}

/// A running PostgreSQL with one database.
#[derive(Debug)]
pub struct Cluster {
    place: Place,
    data: PathBuf,
    settings: Vec<String>,
    server: Option<Child>,
}

impl Cluster {
    /// Starts a server of the newest version with settings of its own (`name=value`).
    pub fn start(settings: &[&str]) -> Result<Self, String> {
        Self::at(Place::newest()?, settings)
    }

    /// Starts a server in a place.
    pub fn at(place: Place, settings: &[&str]) -> Result<Self, String> {
        let data = place.make_data("data")?;
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut cluster = Self { place, data, settings, server: None };
        cluster.serve()?;
        Ok(cluster)
    }

    /// Starts a server that has ended.
    pub fn serve(&mut self) -> Result<(), String> {
        let log = File::create(self.place.folder().join("log")).map_err(|error| error.to_string())?;
        let mut command = self.place.command("postgres");
        command.arg("-D").arg(&self.data).args(["-c", "listen_addresses="]);
        command.arg("-c").arg(format!("unix_socket_directories={}", self.place.folder().display()));
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let output = log.try_clone().map_err(|error| error.to_string())?;
        let child = command.stdout(output).stderr(log).spawn();
        let mut child = child.map_err(|error| format!("postgres: {error}"))?;
        let begun = Instant::now();
        while self.sql("SELECT 1").is_err() {
            let ended = child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                return Err(format!("PostgreSQL did not start: {}", self.log()));
            }
            // waits because: the server says nowhere else that it answers
            sleep(LOOK_EVERY);
        }
        self.server = Some(child);
        Ok(())
    }

    /// The address of its database.
    #[must_use]
    pub fn url(&self) -> String {
        let folder = self.place.folder().display().to_string().replace('/', "%2F");
        format!("postgres://tenure@{folder}:{PORT}/postgres")
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.place.folder()
    }

    /// Where its programs are.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Runs statements and returns what they print, a row in a line.
    pub fn sql(&self, statements: &str) -> Result<String, String> {
        let mut psql = self.place.command("psql");
        psql.arg("--host").arg(self.place.folder());
        psql.args(["--port", &PORT.to_string(), "--username", "tenure", "--dbname", "postgres"]);
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"]);
        run(psql.args(["--command", statements])).map(|printed| printed.trim_end().to_owned())
    }

    /// What the server has said since it was started last.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.place.folder().join("log")).unwrap_or_default()
    }

    /// Ends the server, and waits until it has.
    pub fn end(&mut self, ending: Ending) -> Result<(), String> {
        let signal = match ending {
            Ending::Fast => Signal::INT,
            Ending::Immediate => Signal::QUIT,
        };
        let Some(mut child) = self.server.take() else { return Ok(()) };
        kill_process(Pid::from_child(&child), signal).map_err(|error| error.to_string())?;
        let asked = Instant::now();
        while child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if asked.elapsed() > PATIENCE {
                child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
                return Err("PostgreSQL did not go when it was asked".to_owned());
            }
            // waits because: a child that ends tells nobody but who asks
            sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its folder goes with it: nothing needs to be written any more.
        if let Err(error) = self.end(Ending::Immediate) {
            eprintln!("{error}");
        }
    }
}
