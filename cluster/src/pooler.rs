//! A pooler in front of a cluster, as an organisation may have one.

use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::server::Cluster;

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often one that starts is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The port in its socket's name.
const PORT: u16 = 6432;

/// For how long a pooler lends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lending {
    /// Until its client goes.
    Session,
    /// For one transaction.
    Transaction,
}

/// A running pgbouncer. It ends with this value.
#[derive(Debug)]
pub struct Pooler {
    process: Child,
    url: String,
}

impl Pooler {
    /// Starts one in front of a cluster, with its socket beside the cluster's.
    pub fn start(cluster: &Cluster, lending: Lending) -> Result<Self, String> {
        let folder = cluster.folder().display().to_string();
        let mode = match lending {
            Lending::Session => "session",
            Lending::Transaction => "transaction",
        };
        let file = cluster.folder().join("pgbouncer.ini");
        let settings = format!(
            "[databases]\npostgres = host={folder} port=5432 user=tenure\n[pgbouncer]\nlisten_addr =\n\
             listen_port = {PORT}\nunix_socket_dir = {folder}\nauth_type = any\npool_mode = {mode}\n\
             default_pool_size = 10\nlogfile = {folder}/pgbouncer.log\n"
        );
        fs::write(&file, settings).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command: Command = cluster.place().guarded("/usr/sbin/pgbouncer");
        let process = command.arg("--quiet").arg(&file).spawn();
        let mut process = process
            .map_err(|error| format!("pgbouncer: {error}: install it (Debian's package is `pgbouncer`)"))?;
        let socket = cluster.folder().join(format!(".s.PGSQL.{PORT}"));
        let begun = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            let ended = process.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(cluster.folder().join("pgbouncer.log")).unwrap_or_default();
                return Err(format!("pgbouncer did not start: {log}"));
            }
            // waits because: a socket that is listened to tells nobody
            sleep(LOOK_EVERY);
        }
        let host = folder.replace('/', "%2F");
        Ok(Self { process, url: format!("postgres://tenure@{host}:{PORT}/postgres") })
    }

    /// The address of the cluster's database behind it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It keeps nothing.
        let _ = kill_process(Pid::from_child(&self.process), Signal::QUIT);
        let _ = self.process.wait();
    }
}
