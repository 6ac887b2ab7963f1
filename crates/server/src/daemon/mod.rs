//! The private daemon: one process that owns one folder's store and answers on the socket in it.
//!
//! Who starts a daemon reads one line of JSON from its standard output: it is ready, another one was already there,
//! or it could not start and what to do about it. Standard output is closed after that line. Descriptors from 3 up
//! are the starter's business: it marks them close-on-exec before it starts a daemon, as Rust's standard library
//! does with all it opens, so that nothing of the starter is kept open by a process that outlives it. So is the current
//! folder: the starter sets the state folder on its child, so that no other place is kept busy.

mod connections;
mod folder;
mod listen;
mod log;
pub mod network;
mod patient;
mod report;
mod socket;

use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_core::wire;
use tenure_engine::store::driver::{Class, StoreError};
use tenure_engine::store::folder::FolderError;
use tenure_engine::{Engine, OpenError};
use tokio::sync::watch;

use crate::http::App;

use listen::Listeners;
use network::Network;
pub use report::{Failed, Running};
use socket::{Listening, Present};

/// How long a starting daemon waits for another one, or for one that is going. Its client waits for ten seconds and
/// should hear the reason.
const START_TIMEOUT: Duration = Duration::from_secs(8);
/// How long what was asked may take to finish when a daemon goes. Whoever waits for it to end waits no longer.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
/// What a store that is not stuck needs at most to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Threads for questions and audits. More would only wait for each other.
const BLOCKING_THREADS: usize = 16;

/// How a daemon is started.
#[derive(Clone, Default)]
pub struct Options {
    /// Leave the starter's terminal and process group, and outlive it.
    pub detach: bool,
    /// What to log: a level, or levels per target as `tenure_engine=debug,info`.
    pub log: Option<String>,
    /// How the store is opened: the demo and tests shorten durations.
    pub engine: tenure_engine::Options,
    /// How it listens on the network, if it does.
    pub network: Network,
}

impl Options {
    /// Options with what the environment says: `TENURE_LOG`.
    #[must_use]
    pub fn from_environment() -> Self {
        Self { log: std::env::var("TENURE_LOG").ok(), ..Self::default() }
    }
}

/// Runs the daemon of a folder until it is asked to stop. It speaks to its starter on standard output.
pub fn serve(folder: &Path, options: &Options) -> ExitCode {
    if options.detach {
        // It fails only for a process that leads a group already, and then there is nothing to leave.
        let _ = rustix::process::setsid();
    }
    let engine = tenure_engine::Options { upgrading: report::upgrading, ..options.engine.clone() };
    let started = prepare(folder, options).and_then(|folder| {
        let started = start(&folder, &engine)?;
        on_the_network(started, &options.network)
    });
    let started = match started {
        Ok(Started::Daemon(daemon)) => daemon,
        Ok(Started::AlreadyRunning(running)) => {
            report::ready(&running);
            if !options.detach {
                report::there_before(&running);
            }
            return ExitCode::SUCCESS;
        }
        Err(failed) => {
            // Whoever started it may be gone, and whoever looks for the reason looks into the log.
            tracing::error!(next = failed.next, "the daemon could not start: {}", failed.error);
            report::failed(&failed);
            return ExitCode::from(2);
        }
    };
    report::ready(&started.running());
    if !options.detach {
        started.print_secret();
    }
    report::let_go(options.detach);
    match started.listen_for_signals().run() {
        Ended::Closed => ExitCode::SUCCESS,
        Ended::StoreLost | Ended::Unconfirmed | Ended::Unfinished => ExitCode::FAILURE,
    }
}

/// Lets a daemon that was started listen on the network as well. One that was there before cannot be told to.
fn on_the_network(started: Started, network: &Network) -> Result<Started, Failed> {
    match started {
        started if network.listen.is_empty() => Ok(started),
        Started::Daemon(daemon) => Ok(Started::Daemon(Box::new(daemon.listening_on(network.clone())?))),
        Started::AlreadyRunning(running) => Err(Failed::new(
            format!("process {} serves this folder already, so nothing was changed", running.pid),
            format!("end it (kill {}), and repeat the command at once", running.pid),
        )),
    }
}

/// Makes the folder and starts the log in it.
fn prepare(folder: &Path, options: &Options) -> Result<PathBuf, Failed> {
    let folder = folder::prepare(folder)?;
    log::start(&folder, options.log.as_deref())?;
    Ok(folder)
}

/// What became of a start.
pub enum Started {
    /// This process owns the folder now.
    Daemon(Box<Daemon>),
    /// Another one does, and answers.
    AlreadyRunning(Running),
}

/// A daemon that listens and has not begun to answer.
pub struct Daemon {
    app: Arc<App>,
    folder: PathBuf,
    listening: Listening,
    network: Option<network::Open>,
    signals: bool,
    finish: Duration,
}

/// How a daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything that was asked is committed and the store is closed.
    Closed,
    /// The store's files were deleted or replaced under it.
    StoreLost,
    /// The disk did not confirm a commit. Whoever waited for it was told that nobody can tell.
    Unconfirmed,
    /// The store did not finish in time. What it did not commit, nobody was told.
    Unfinished,
}

/// Takes possession of a folder, unless somebody answers there already.
pub fn start(folder: &Path, options: &tenure_engine::Options) -> Result<Started, Failed> {
    let folder = folder::prepare(folder)?;
    let deadline = Instant::now() + START_TIMEOUT;
    let _lock = folder::lock(&folder, deadline)?;
    match socket::look(&folder)? {
        Present::Answering(running) => return Ok(Started::AlreadyRunning(running)),
        Present::Nobody => {}
    }
    let app = App::new(open_when_free(&folder, options, deadline)?, folder.clone())
        .map_err(|error| Failed::new(format!("the store cannot be read: {error}"), remedy_of(error.class)))?;
    let listening = socket::bind(&folder)?;
    tracing::info!(pid = std::process::id(), version = env!("CARGO_PKG_VERSION"), "ready");
    let daemon = Daemon { app, folder, listening, network: None, signals: false, finish: FINISH_TIMEOUT };
    Ok(Started::Daemon(Box::new(daemon)))
}

/// A daemon that is going closes its socket first and its store last; so a store in use is worth a moment.
fn open_when_free(
    folder: &Path,
    options: &tenure_engine::Options,
    deadline: Instant,
) -> Result<Engine, Failed> {
    loop {
        match Engine::open(folder, options.clone()) {
            Ok(engine) => return Ok(engine),
            Err(OpenError::Folder(FolderError::InUse(_))) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => return Err(Failed::new(error.to_string(), remedy(&error))),
        }
    }
}

fn remedy(error: &OpenError) -> &'static str {
    match error {
        OpenError::Folder(error) => error.remedy(),
        OpenError::Store(_, error) => remedy_of(error.class),
        OpenError::Thread(_) => "check how many processes and threads the user may have",
    }
}

fn remedy_of(class: Class) -> &'static str {
    match class {
        Class::NewerSchema => "use the newer version of tenure",
        Class::Corrupt => StoreError::DAMAGED,
        Class::Busy
        | Class::Full
        | Class::ReadOnly
        | Class::Io
        | Class::Lost
        | Class::Sync
        | Class::Other => "run `tenure doctor`",
    }
}

impl Daemon {
    /// Who this is, as its starter is told.
    #[must_use]
    pub fn running(&self) -> Running {
        Running {
            already: false,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            socket: self.folder.join(wire::SOCKET),
            listening: self.network.as_ref().map(network::Open::urls).unwrap_or_default(),
        }
    }

    /// Lets it listen on the network beside its socket.
    pub fn listening_on(mut self, network: Network) -> Result<Self, Failed> {
        let open = network::open(network)?;
        tracing::info!(listening = ?open.urls(), "the network is listened on");
        self.network = Some(open);
        Ok(self)
    }

    /// While there is no administrator: prints the one-time secret with which the first one is made, on the terminal that
    /// this server was started on. It is printed nowhere else, because a file or a log would keep it.
    fn print_secret(&self) {
        let is_seen = std::io::stderr().is_terminal();
        let secret = if is_seen { self.app.console_secret() } else { Ok(None) };
        match secret {
            Ok(Some(secret)) => report::secret(&secret),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "no secret for the first administrator could be drawn"),
        }
    }

    /// Lets SIGTERM, SIGINT and SIGHUP stop it.
    #[must_use]
    pub fn listen_for_signals(mut self) -> Self {
        self.signals = true;
        self
    }

    /// Changes how long what was asked may take to finish when it goes.
    #[must_use]
    pub fn finish_within(mut self, finish: Duration) -> Self {
        self.finish = finish;
        self
    }

    /// The open store.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        self.app.engine()
    }

    /// The wish to stop: send `true` and it goes as if it had been signalled.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.app.stop().clone()
    }

    /// Answers until it is asked to stop, its folder is gone or its socket is another's. What was asked before is
    /// finished first, for a bounded time.
    pub fn run(self) -> Ended {
        let Self { app, folder, listening, network, signals, finish } = self;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("tenure-http")
            .enable_all()
            .build();
        let going = match runtime {
            Ok(runtime) => {
                let listeners = Listeners { socket: listening.listener, network };
                let served = runtime.block_on(async {
                    let still_ours = || {
                        let engine = app.engine();
                        let sound = engine.is_intact() && !engine.is_unconfirmed();
                        sound && socket::is_ours(&folder, listening.identity)
                    };
                    let going = || (going_lock(&folder), Instant::now() + finish);
                    listen::serve(listeners, app.clone(), signals, finish, still_ours, going).await
                });
                // A blocked thread must not keep a process that has answered everybody it could.
                runtime.shutdown_timeout(CLOSE_TIMEOUT);
                served.unwrap_or_else(|error| {
                    tracing::error!(%error, "the daemon could not listen");
                    (None, Instant::now())
                })
            }
            Err(error) => {
                tracing::error!(%error, "no threads to answer with");
                (None, Instant::now())
            }
        };
        let (going, deadline) = going;
        let left = deadline.saturating_duration_since(Instant::now());
        let closed = app.engine().close_within(left.max(CLOSE_TIMEOUT));
        let ended = match (app.engine().is_intact(), app.engine().is_unconfirmed()) {
            (false, _) => Ended::StoreLost,
            (true, true) => Ended::Unconfirmed,
            (true, false) if closed => Ended::Closed,
            (true, false) => Ended::Unfinished,
        };
        match ended {
            Ended::Closed => {}
            Ended::StoreLost => tracing::error!(
                "the database or its log was deleted or replaced while it was open; put it back from a backup"
            ),
            Ended::Unconfirmed => tracing::error!(
                "the disk did not confirm a commit; what it holds is read when the next daemon opens the store"
            ),
            Ended::Unfinished => tracing::error!(
                "the store did not finish in time; what it did not commit was not acknowledged"
            ),
        }
        // The store is free once the last clone of its engine is gone.
        drop(app);
        socket::remove(&folder, listening.identity);
        tracing::info!(pid = std::process::id(), ?ended, "stopped");
        drop(going);
        ended
    }
}

/// A daemon that goes holds the daemons' lock if it is free, so that the next one waits until the store is closed.
fn going_lock(folder: &Path) -> Option<File> {
    folder::lock(folder, Instant::now()).ok()
}
