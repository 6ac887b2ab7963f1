//! etcd: a claim is a lease and a transaction that creates the task's key under it if nobody has.

use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use http::Request;
use rustix::process::Signal;

use super::super::fleet::CLIENTS;
use super::super::process::Process;
use super::message::{Message, number_in};
use super::{Peer, connect, folder, free_port};

/// How many threads the clients share, as ours do.
const THREADS: u64 = 2;
/// How long a lease lives, in seconds.
const LEASE_S: u64 = 600;

/// Whose lease a claim stands under.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// Each claim's own, with a deadline of its own, as with us.
    OfTheClaim,
    /// One for all claims of a client, which ends them all at once.
    OfTheClient,
}

/// A running etcd, and how it is claimed there.
pub struct Etcd {
    _server: Process,
    port: u16,
    lease: Lease,
    version: String,
    /// How many slices there were: every slice claims keys of its own.
    slices: u64,
}

impl Etcd {
    /// Starts one below `root`.
    pub fn start(root: &Path, lease: Lease) -> Result<Self, String> {
        let name = match lease {
            Lease::OfTheClaim => "etcd",
            Lease::OfTheClient => "etcd-one-lease",
        };
        let (folder, _) = folder(root, name)?;
        let (port, peers) = (free_port()?, free_port()?);
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let mut serve = std::process::Command::new("etcd");
        serve.arg("--data-dir").arg(folder.join("data"));
        serve.args(["--listen-client-urls", &url(port), "--advertise-client-urls", &url(port)]);
        serve.args(["--listen-peer-urls", &url(peers), "--initial-advertise-peer-urls", &url(peers)]);
        serve.args(["--initial-cluster", &format!("default={}", url(peers))]);
        serve.env_clear().current_dir(&folder).stderr(Stdio::null());
        let server = Process::start(&mut serve, Signal::TERM, || Ok(grant_once(port).is_ok()))?;
        let version = super::version(Path::new("etcd"), "--version")?.replace("etcd Version:", "etcd");
        Ok(Self { _server: server, port, lease, version, slices: 0 })
    }
}

impl Peer for Etcd {
    fn slice(&mut self, long: Duration) -> Result<f64, String> {
        self.slices += 1;
        let (port, lease, slice) = (self.port, self.lease, self.slices);
        let begun = Instant::now();
        let claims = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let clients = (thread..CLIENTS).step_by(usize::try_from(THREADS).expect("few threads"));
                    scope.spawn(move || drive(clients.collect(), port, lease, slice, begun + long))
                })
                .collect();
            let mut claims = 0;
            for thread in threads {
                claims += thread.join().map_err(|_| "a client's thread ended early".to_owned())??;
            }
            Ok::<_, String>(claims)
        })?;
        Ok(claims as f64 / begun.elapsed().as_secs_f64())
    }

    fn version(&self) -> &str {
        &self.version
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}

/// Whether the server serves.
fn grant_once(port: u16) -> Result<(), String> {
    runtime()?.block_on(async {
        let mut client = Connection::open(port).await?;
        client.grant().await.map(drop)
    })
}

/// One thread's clients. How many claims were answered.
fn drive(clients: Vec<u64>, port: u16, lease: Lease, slice: u64, until: Instant) -> Result<u64, String> {
    runtime()?.block_on(async move {
        let mut tasks = tokio::task::JoinSet::new();
        for client in clients {
            tasks.spawn(async move {
                let mut connection = Connection::open(port).await?;
                let mut granted = connection.grant().await?;
                let mut claims = 0;
                while Instant::now() < until {
                    if lease == Lease::OfTheClaim && claims > 0 {
                        granted = connection.grant().await?;
                    }
                    connection.create(&format!("task/{slice}-{client}-{claims}"), granted).await?;
                    claims += 1;
                }
                Ok::<u64, String>(claims)
            });
        }
        let mut claims = 0;
        while let Some(task) = tasks.join_next().await {
            claims += task.map_err(|error| error.to_string())??;
        }
        Ok(claims)
    })
}

/// One client's connection.
struct Connection {
    sender: SendRequest<Bytes>,
    port: u16,
}

impl Connection {
    async fn open(port: u16) -> Result<Self, String> {
        let stream = connect(port).map_err(|error| error.to_string())?;
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        let stream = tokio::net::TcpStream::from_std(stream).map_err(|error| error.to_string())?;
        let (sender, connection) = h2::client::handshake(stream).await.map_err(|error| error.to_string())?;
        tokio::spawn(async move {
            // Its end is seen by whoever asks.
            let _ = connection.await;
        });
        Ok(Self { sender, port })
    }

    /// A new lease.
    async fn grant(&mut self) -> Result<u64, String> {
        let answer =
            self.call("etcdserverpb.Lease/LeaseGrant", Message::default().number(1, LEASE_S)).await?;
        number_in(&answer, 2).filter(|id| *id != 0).ok_or_else(|| "etcd granted no lease".to_owned())
    }

    /// Creates a key under a lease, if nobody has.
    async fn create(&mut self, key: &str, lease: u64) -> Result<(), String> {
        // Compare: the key's creation revision (target 1) equals (result 0) zero.
        let free = Message::default().number(2, 1).bytes(3, key.as_bytes()).number(5, 0);
        let put = Message::default().bytes(1, key.as_bytes()).bytes(2, b"held").number(3, lease);
        let then = Message::default().message(2, &put);
        let answer =
            self.call("etcdserverpb.KV/Txn", Message::default().message(1, &free).message(2, &then)).await?;
        let has_succeeded = number_in(&answer, 2) == Some(1);
        if has_succeeded { Ok(()) } else { Err("etcd says that somebody holds a new key".to_owned()) }
    }

    /// Calls a method and returns its framed answer.
    async fn call(&mut self, method: &str, message: Message) -> Result<Vec<u8>, String> {
        let failed = |error: h2::Error| format!("etcd: {error}");
        let request = Request::post(format!("http://127.0.0.1:{}/{method}", self.port))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .map_err(|error| error.to_string())?;
        let mut sender = self.sender.clone().ready().await.map_err(failed)?;
        let (answer, mut body) = sender.send_request(request, false).map_err(failed)?;
        body.send_data(Bytes::from(message.framed()), true).map_err(failed)?;
        let mut answer = answer.await.map_err(failed)?.into_body();
        let mut bytes = Vec::new();
        while let Some(some) = answer.data().await {
            let some = some.map_err(failed)?;
            answer.flow_control().release_capacity(some.len()).map_err(failed)?;
            bytes.extend_from_slice(&some);
        }
        let trailers = answer.trailers().await.map_err(failed)?;
        let status = trailers.as_ref().and_then(|trailers| trailers.get("grpc-status"));
        if status.is_some_and(|status| status == "0") {
            Ok(bytes)
        } else {
            Err(format!("etcd refused {method}: {trailers:?}"))
        }
    }
}
