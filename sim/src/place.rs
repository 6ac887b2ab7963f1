//! A place for one test: a private folder for the store, a checkout, and nothing of the environment around it.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::daemon::{self, Daemon};

/// The project that tests work in.
pub const PROJECT: &str = "afc";

/// A root folder with everything of one test below it.
#[derive(Debug)]
pub struct Place {
    root: TempDir,
    state: PathBuf,
}

impl Place {
    /// An empty place.
    #[must_use]
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("the temporary folder is writable");
        let state = root.path().join("state");
        let place = Self { root, state };
        let git = place.checkout().join(".git");
        std::fs::create_dir_all(&git).expect("the root is ours");
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("the root is ours");
        let config = "[remote \"origin\"]\n\turl = git@example.org:team/afc.git\n";
        std::fs::write(git.join("config"), config).expect("the root is ours");
        place
    }

    /// The same with the store in another folder, e.g. on a disk of its own.
    #[must_use]
    pub fn with_state(mut self, state: &Path) -> Self {
        self.state = state.to_owned();
        self
    }

    /// The folder of the store.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The root of the place.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// A Git checkout, bound to no project yet.
    #[must_use]
    pub fn checkout(&self) -> PathBuf {
        self.root.path().join("checkout")
    }

    /// A further private folder in the place.
    #[must_use]
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.root.path().join(name);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .expect("the root of a place is ours");
        folder
    }

    /// Starts the daemon of this place.
    #[must_use]
    pub fn daemon(&self) -> Daemon {
        Daemon::start(&self.state, &[], &[])
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Place {
    /// A daemon that some client started here ends with the place.
    fn drop(&mut self) {
        if let Some(pid) = daemon::found_in(&self.state) {
            daemon::kill(pid);
        }
    }
}
