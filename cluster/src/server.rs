//! A cluster of one server.

use std::fs::{self, OpenOptions};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::authority::Authority;
use crate::place::Place;
use crate::processes::{self, Still};
use crate::program::run;
use crate::version::versions;

/// How long a server may take to answer first, and to go.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a server that starts or ends is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The port in the socket's name of a server that does not listen elsewhere.
const PORT: u16 = 5432;
/// Where a server listens that is asked to.
pub(crate) const LOOPBACK: &str = "127.0.0.1";
/// Ports of servers: none of them is handed out for a connection while its server is down.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// What a server says that cannot encrypt, whatever it is told.
const BUILT_WITHOUT_TLS: &str = "SSL is not supported by this build";

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
    port: u16,
    listens: bool,
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
        Self::serving(place, data, false, settings)
    }

    /// Starts a server that also listens on the loopback.
    pub fn listening(settings: &[&str]) -> Result<Self, String> {
        Self::listening_at(Place::newest()?, settings)
    }

    /// Starts a server in a place that also listens on the loopback.
    pub fn listening_at(place: Place, settings: &[&str]) -> Result<Self, String> {
        let data = place.make_data("data")?;
        Self::serving(place, data, true, settings)
    }

    /// The same with its log in a folder elsewhere, e.g. on a disk of its own, that everybody may pass.
    pub fn logging_elsewhere(place: Place, log: &Path, settings: &[&str]) -> Result<Self, String> {
        let data = place.make_data("data")?;
        let (usual, there) = (data.join("pg_wal"), log.join("pg_wal"));
        run(Command::new("mv").arg(&usual).arg(&there))
            .and_then(|_| symlink(&there, &usual).map_err(|error| error.to_string()))
            .map_err(|error| format!("the log of PostgreSQL cannot be moved: {error}"))?;
        Self::serving(place, data, true, settings)
    }

    /// Starts a server that also listens on the loopback, and proves there to be a host by what an authority has signed: of
    /// the newest version that was built to do so.
    pub fn encrypted(authority: &Authority, host: &str, settings: &[&str]) -> Result<Self, String> {
        let mut built_without = String::new();
        for version in versions()?.into_iter().rev() {
            let place = Place::of(version)?;
            let identity = authority.identity(host, place.folder())?;
            let certificate = format!("ssl_cert_file={}", identity.certificate.display());
            let key = format!("ssl_key_file={}", identity.key.display());
            match Self::listening_at(place, &[settings, &["ssl=on", &certificate, &key]].concat()) {
                Err(why) if why.contains(BUILT_WITHOUT_TLS) => built_without = why,
                started => return started,
            }
        }
        Err(format!("no PostgreSQL that is there encrypts: {built_without}"))
    }

    pub(crate) fn serving(
        place: Place,
        data: PathBuf,
        listens: bool,
        settings: &[&str],
    ) -> Result<Self, String> {
        let port = if listens { free_port()? } else { PORT };
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut cluster = Self { place, data, port, listens, settings, server: None };
        cluster.serve()?;
        Ok(cluster)
    }

    /// Starts a server that has ended, as it was left.
    pub fn serve(&mut self) -> Result<(), String> {
        let log = OpenOptions::new().create(true).append(true).open(self.log_file());
        let log = log.map_err(|error| error.to_string())?;
        let mut command = self.place.command("postgres");
        command.arg("-D").arg(&self.data);
        command.args(["-c", &format!("listen_addresses={}", if self.listens { LOOPBACK } else { "" })]);
        command.args(["-c", &format!("port={}", self.port), "-c", "dynamic_shared_memory_type=mmap"]);
        command.arg("-c").arg(format!("unix_socket_directories={}", self.place.folder().display()));
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let output = log.try_clone().map_err(|error| error.to_string())?;
        let child = command.stdout(output).stderr(log).spawn();
        let child = self.server.insert(child.map_err(|error| format!("postgres: {error}"))?);
        let pid = Pid::from_child(child);
        let begun = Instant::now();
        while self.sql("SELECT 1").is_err() {
            let server = self.server.as_mut().expect("it was put there");
            let ended = server.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                return Err(format!("PostgreSQL ({}) did not start: {}", pid.as_raw_nonzero(), self.log()));
            }
            // waits because: the server says nowhere else that it answers
            sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// The address of its database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The address of another database that was made there.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        let folder = self.place.folder().display().to_string().replace('/', "%2F");
        format!("postgres://tenure@{folder}:{}/{database}", self.port)
    }

    /// Where it listens on the loopback, if it does.
    #[must_use]
    pub fn host(&self) -> Option<(&'static str, u16)> {
        self.listens.then_some((LOOPBACK, self.port))
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.place.folder()
    }

    /// Its data.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// The port in the name of its socket.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From its next start on it has this setting too.
    pub(crate) fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    /// Where its programs are.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Runs statements and returns what they print, a row in a line.
    pub fn sql(&self, statements: &str) -> Result<String, String> {
        run(&mut self.psql(statements)).map(|printed| printed.trim_end().to_owned())
    }

    /// The program that runs statements as [`Cluster::sql`] does, for whoever does not wait for them here.
    #[must_use]
    pub fn psql(&self, statements: &str) -> Command {
        self.place.psql(self.port, statements)
    }

    /// Ends the connections of everybody who calls themselves so, and says how many there were.
    pub fn terminate_backends(&self, application: &str) -> Result<usize, String> {
        let ended = self.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{application}'"
        ))?;
        Ok(ended.lines().count())
    }

    /// What the server has said since it was made.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.place.folder().join("log")
    }

    /// Whether the server has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.server.as_mut().is_none_or(|server| server.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// Makes all processes of the server stand still until the value is dropped.
    pub fn stand_still(&self) -> Result<Still, String> {
        let server = self.server.as_ref().ok_or("a server that has ended stands still already")?;
        Still::of(Pid::from_child(server))
    }

    /// Ends all processes of the server by force, each in the middle of whatever it does.
    pub fn kill(&mut self) -> Result<(), String> {
        self.server.take().map_or(Ok(()), |mut server| processes::kill(&mut server))
    }

    /// Ends the server, and waits until it has.
    pub fn end(&mut self, ending: Ending) -> Result<(), String> {
        let signal = match ending {
            Ending::Fast => Signal::INT,
            Ending::Immediate => Signal::QUIT,
        };
        let Some(mut server) = self.server.take() else { return Ok(()) };
        // One that has ended by itself needs no signal.
        kill_process(Pid::from_child(&server), signal).ok();
        let gone = until("PostgreSQL goes when it is asked", || {
            server.try_wait().is_ok_and(|status| status.is_some())
        });
        if gone.is_err() {
            processes::kill(&mut server)?;
        }
        gone
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its folder goes with it: nothing needs to be written any more.
        if let Err(error) = self.end(Ending::Immediate) {
            eprintln!("{error}");
        }
        processes::clear_memory(&self.data);
    }
}

/// A port on which nobody listens, another one each time.
pub(crate) fn free_port() -> Result<u16, String> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.end - PORTS.start;
    // Processes that look at the same time begin at different places.
    let begin =
        u16::try_from(std::process::id().wrapping_mul(61) % u32::from(count)).expect("below the count");
    for _ in PORTS {
        let port = PORTS.start + (begin + NEXT.fetch_add(1, Relaxed) % count) % count;
        if TcpListener::bind((LOOPBACK, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(format!("every port of {LOOPBACK} from {} to {} is taken", PORTS.start, PORTS.end))
}

/// Asks again until it is so, and not for ever.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > PATIENCE {
            return Err(format!("it never came to this: {what}"));
        }
        // waits because: the state is another process's and is only known by asking
        sleep(LOOK_EVERY);
    }
    Ok(())
}
