//! A daemon of the test's own, in a folder of its own, stopped when the test is over.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tenure_core::secret::Proof;
use tenure_engine::{Engine, Options};
use tenure_server::daemon::network::Network;
use tenure_server::daemon::{Daemon, Ended, Started, start};
use tokio::sync::watch;

use crate::gate::Gate;
use crate::wire::{Answer, PROOF, Request, SESSION, mutation};

pub struct Served {
    pub socket: PathBuf,
    /// Where it listens on the network.
    pub urls: Vec<String>,
    pub stop: watch::Sender<bool>,
    pub gate: Arc<Gate>,
    pub engine: Option<Engine>,
    thread: Option<JoinHandle<Ended>>,
    _folder: Option<TempDir>,
}

/// A daemon in a fresh folder.
pub fn served() -> Served {
    let folder = private_folder();
    let mut served = served_in(folder.path());
    served._folder = Some(folder);
    served
}

/// A daemon in a fresh folder where the session of [`mutation`] is open and the project `afc` has a task.
pub fn served_with_a_task() -> Served {
    let served = served();
    open_session(&served.socket);
    for (path, body) in [
        ("/api/v1/projects", r#"{"key":"afc"}"#),
        ("/api/v1/tasks", r#"{"project":"afc","title":"the first"}"#),
    ] {
        let answer = served.ask(&mutation("POST", path, body));
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    served
}

/// Opens the session that [`mutation`] calls in.
pub fn open_session(socket: &Path) {
    let proof = Proof::from_wire(PROOF).expect("a proof").hash();
    let body = json!({ "session": SESSION, "proof_hash": proof, "name": "tester" });
    let answer = mutation("POST", "/api/v1/sessions", &body.to_string()).anonymous().send(socket);
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// A daemon in a folder.
pub fn served_in(folder: &Path) -> Served {
    served_for(folder, Duration::from_secs(10))
}

/// A daemon in a folder that waits for what was asked for so long when it goes.
pub fn served_for(folder: &Path, finish: Duration) -> Served {
    let gate = Arc::new(Gate::default());
    let options = Options { clocks: gate.clone(), ..Options::default() };
    let daemon = match start(folder, &options) {
        Ok(Started::Daemon(daemon)) => daemon,
        Ok(Started::AlreadyRunning(running)) => panic!("already running: {running:?}"),
        Err(failed) => panic!("{}", failed.error),
    };
    run(daemon.finish_within(finish), gate, None)
}

/// A daemon in a fresh folder that listens on the network as well.
pub fn served_on(network: Network) -> Served {
    let folder = private_folder();
    let gate = Arc::new(Gate::default());
    let options = Options { clocks: gate.clone(), ..Options::default() };
    let Ok(Started::Daemon(daemon)) = start(folder.path(), &options) else { panic!("it does not start") };
    let daemon = daemon.listening_on(network).unwrap_or_else(|failed| panic!("{}", failed.error));
    run(daemon, gate, Some(folder))
}

fn run(daemon: Daemon, gate: Arc<Gate>, folder: Option<TempDir>) -> Served {
    let running = daemon.running();
    let (socket, urls, stop) = (running.socket, running.listening, daemon.stopper());
    let engine = Some(daemon.engine().clone());
    let thread = Some(std::thread::spawn(move || daemon.run()));
    Served { socket, urls, stop, gate, engine, thread, _folder: folder }
}

pub fn private_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path(), mode).expect("its mode");
    folder
}

impl Served {
    pub fn ask(&self, request: &Request) -> Answer {
        request.send(&self.socket)
    }

    /// Waits until the daemon has ended, and says how unless that was told before.
    pub fn join(&mut self) -> Option<Ended> {
        self.engine = None;
        let ended = self.thread.take()?.join();
        assert!(ended.is_ok() || std::thread::panicking(), "the daemon panicked");
        ended.ok()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.gate.open();
        self.stop.send_replace(true);
        self.join();
    }
}
