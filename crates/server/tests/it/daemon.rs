//! A daemon of the test's own, in a folder of its own, stopped when the test is over.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use tempfile::TempDir;
use tenure_server::backend::Backend;
use tenure_server::daemon::{Failed, Started, start};
use tokio::sync::watch;

use crate::fake::Fake;
use crate::wire::{Answer, Request};

pub struct Served {
    pub socket: PathBuf,
    pub stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    pub fake: &'static Fake,
    _folder: Option<TempDir>,
}

/// A daemon in a fresh folder.
pub fn served() -> Served {
    let folder = private_folder();
    let mut served = served_in(folder.path());
    served._folder = Some(folder);
    served
}

/// A daemon in a folder.
pub fn served_in(folder: &Path) -> Served {
    let fake: &'static Fake = Box::leak(Box::default());
    let started = start(folder, |_: &Path| Ok(Arc::new(fake) as Arc<dyn Backend>));
    let daemon = match started.unwrap_or_else(|failed| panic!("{}", failed.error)) {
        Started::Daemon(daemon) => daemon,
        Started::AlreadyRunning(running) => panic!("already running: {running:?}"),
    };
    let (socket, stop) = (daemon.running().socket, daemon.stopper());
    let thread = std::thread::spawn(move || daemon.run());
    Served { socket, stop, thread: Some(thread), fake, _folder: None }
}

/// An engine that must not be opened.
pub fn nothing(_: &Path) -> Result<Arc<dyn Backend>, Failed> {
    Err(Failed::new("opened", "open nothing"))
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

    /// Waits until the daemon has ended.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the daemon ends well");
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the daemon panicked");
        }
    }
}
