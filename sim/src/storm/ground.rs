//! What the store of a storm stands on: it outlives each connection, and is kept and put back as a whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tempfile::TempDir;
use tenure_cluster::Cluster;
use tenure_engine::store::driver::Driver;
use tenure_engine::store::folder::{Hold, hold};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;
use tenure_engine::store::sqlite::{Role, Sqlite};

/// The databases that a storm's store may be in.
#[derive(Debug, Clone)]
pub enum Database {
    /// In memory, and under every eighth seed on file. It is slower there, and a kill is the end of a real connection.
    Sqlite,
    /// A real server. Storms do not take its power away.
    Postgres(Arc<Cluster>),
}

impl Database {
    /// A PostgreSQL of its own.
    pub fn postgres() -> Result<Self, String> {
        Cluster::start(&["fsync=off", "synchronous_commit=on"]).map(Arc::new).map(Self::Postgres)
    }

    /// The option of `cargo xtask storm` that stands for it, with a space before it.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres(_) => " --postgresql",
        }
    }

    /// Ground for the empty store of a seed's storm.
    #[must_use]
    pub(super) fn ground(&self, seed: u64) -> Box<dyn Ground> {
        match self {
            Self::Sqlite if seed.is_multiple_of(8) => Box::new(Files::on_file()),
            Self::Sqlite => Box::new(Files::default()),
            Self::Postgres(cluster) => Box::new(Server::new(cluster.clone())),
        }
    }
}

/// What a store stands on.
pub trait Ground: Send {
    /// Ends a connection, with whatever was not committed, and opens another. The first one has none before it.
    fn reconnect(&mut self, last: Option<Box<dyn Driver>>) -> Box<dyn Driver>;

    /// Keeps the last committed state beside the store, and goes on with the connection or another.
    fn keep(&mut self, connection: Box<dyn Driver>) -> Box<dyn Driver>;

    /// From the next connection on, the store is what was kept last.
    fn put_back(&mut self);
}

/// Files of SQLite.
#[derive(Default)]
pub(super) struct Files {
    /// Where the store is; nowhere for one in memory, whose one connection stands for all.
    path: Option<PathBuf>,
    kept: Option<TempDir>,
    _files: Option<(Hold, TempDir)>,
}

/// What a kept store is called in its folder.
const KEPT: &str = "backup";

impl Files {
    fn on_file() -> Self {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let hold = hold(&folder.path().join("store")).expect("a new store");
        Self { path: Some(hold.database().to_owned()), kept: None, _files: Some((hold, folder)) }
    }
}

impl Ground for Files {
    fn reconnect(&mut self, last: Option<Box<dyn Driver>>) -> Box<dyn Driver> {
        match (&self.path, last) {
            (Some(path), last) => {
                drop(last);
                Box::new(Sqlite::open(path, Role::Writer).expect("the store opens again"))
            }
            (None, Some(mut last)) => {
                last.rollback().expect("what was not committed is dropped");
                last
            }
            (None, None) => Box::new(Sqlite::in_memory().expect("a database in memory")),
        }
    }

    fn keep(&mut self, mut connection: Box<dyn Driver>) -> Box<dyn Driver> {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        connection.backup(&folder.path().join(KEPT)).expect("a backup of a sound store");
        self.kept = Some(folder);
        connection
    }

    fn put_back(&mut self) {
        self.path = self.kept.as_ref().map(|folder| folder.path().join(KEPT));
    }
}

/// Databases of a PostgreSQL: one for the store, and one for what is kept of it.
struct Server {
    cluster: Arc<Cluster>,
    number: u64,
    /// How often it was kept.
    copies: u64,
    /// Which of the copies is the store.
    present: u64,
}

impl Server {
    fn new(cluster: Arc<Cluster>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let server = Self { cluster, number: NUMBER.fetch_add(1, Relaxed), copies: 0, present: 0 };
        server.sql(&format!("CREATE DATABASE {}", server.name(0)));
        server
    }

    fn name(&self, copy: u64) -> String {
        format!("storm_{}_{copy}", self.number)
    }

    fn sql(&self, statement: &str) {
        self.cluster.sql(statement).expect("the server is sound");
    }
}

impl Ground for Server {
    fn reconnect(&mut self, last: Option<Box<dyn Driver>>) -> Box<dyn Driver> {
        drop(last);
        let url = self.cluster.url_of(&self.name(self.present));
        let address = Address::parse(&url, None).expect("an address");
        Box::new(Postgres::open(&address, Role::Writer).expect("the server answers again"))
    }

    fn keep(&mut self, connection: Box<dyn Driver>) -> Box<dyn Driver> {
        // A database is copied while nobody is connected to it.
        drop(connection);
        self.copies += 1;
        let (copy, store) = (self.name(self.copies), self.name(self.present));
        self.sql(&format!("CREATE DATABASE {copy} TEMPLATE {store}"));
        self.reconnect(None)
    }

    fn put_back(&mut self) {
        self.present = self.copies;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for copy in 0..=self.copies {
            // Where it cannot be dropped, it goes with the server.
            self.cluster.sql(&format!("DROP DATABASE {} WITH (FORCE)", self.name(copy))).ok();
        }
    }
}
