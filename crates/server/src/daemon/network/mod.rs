//! Listening on the network beside the socket: who may connect, with what certificate, and how long a caller may take.

mod certificate;
mod places;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tenure_core::model::limits::{
    NETWORK_CONNECTIONS, NETWORK_CONNECTIONS_PER_ADDRESS, NETWORK_HANDSHAKE_MS, NETWORK_HEAD_BYTES,
    NETWORK_HEADERS, NETWORK_HEADERS_MS, NETWORK_WRITE_MS, WRITES_PER_SECOND,
};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::connections::{Source, asked_to_stop, speak, take};
use super::patient::Patient;
use super::report::Failed;
use crate::http::{self, App, Block, Door, HostName, Origin, Peer, Proxies};
use certificate::Certificate;
pub use certificate::Files;
use places::Places;

/// How often it is looked whether the certificate's files have changed.
const CERTIFICATE_EVERY: Duration = Duration::from_secs(2);

/// How a server listens on the network.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// Where. Without an address there is nothing but the socket.
    pub listen: Vec<SocketAddr>,
    /// What connections are encrypted with. Without it only this machine can connect.
    pub certificate: Option<Files>,
    /// The names that it goes by, besides its addresses and this machine's names to itself.
    pub hosts: Vec<HostName>,
    /// The origins whose pages may ask it, besides its own.
    pub origins: Vec<Origin>,
    /// The proxies that are believed whose requests they pass on.
    pub proxies: Vec<Block>,
    /// How patient it is.
    pub limits: Limits,
}

/// How many connections there may be, how long each may take, and how much may be written. Tests shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once.
    pub connections: usize,
    /// Most of them from one address.
    pub per_address: usize,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long a connection may be silent before and within a request's headers.
    pub headers: Duration,
    /// How long a caller may take nothing of its answer.
    pub write: Duration,
    /// How often in a second each who is known may write, in the long run.
    pub writes_per_second: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: NETWORK_CONNECTIONS,
            per_address: NETWORK_CONNECTIONS_PER_ADDRESS,
            handshake: Duration::from_millis(NETWORK_HANDSHAKE_MS),
            headers: Duration::from_millis(NETWORK_HEADERS_MS),
            write: Duration::from_millis(NETWORK_WRITE_MS),
            writes_per_second: WRITES_PER_SECOND,
        }
    }
}

/// Listeners that nobody is answered on yet.
pub(super) struct Open {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    certificate: Option<Arc<Certificate>>,
    tls: Option<TlsAcceptor>,
    network: Network,
}

/// Listens as it was asked to, or says why not.
pub(super) fn open(network: Network) -> Result<Open, Failed> {
    let foreign = network.listen.iter().find(|address| !address.ip().to_canonical().is_loopback());
    if let (Some(address), None) = (foreign, &network.certificate) {
        return Err(Failed::new(
            format!(
                "{address} can be reached from other machines, and without TLS tokens could be read on the way"
            ),
            "name a certificate with --certificate and --key, or listen on 127.0.0.1 behind a proxy that has one",
        ));
    }
    let certificate = network.certificate.clone().map(Certificate::read).transpose()?;
    let no_tls =
        |error: rustls::Error| Failed::new(format!("TLS cannot be used: {error}"), "run `tenure doctor`");
    let config = certificate.as_ref().map(Certificate::config).transpose().map_err(no_tls)?;
    let bind = |address: &SocketAddr| {
        let bound = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        bound.map_err(|error| {
            let next = "name a free port of an address that this machine has";
            Failed::new(format!("cannot listen on {address}: {error}"), next)
        })
    };
    let bound = network.listen.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
    let (addresses, listeners) = bound.into_iter().unzip();
    Ok(Open { listeners, addresses, certificate, tls: config.map(TlsAcceptor::from), network })
}

impl Open {
    /// Where it listens, as URLs.
    pub(super) fn urls(&self) -> Vec<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.addresses.iter().map(|address| format!("{scheme}://{address}")).collect()
    }

    /// Begins to answer. What is returned ends when it is asked to stop, and gives back the listeners.
    pub(super) fn serve(
        self,
        app: Arc<App>,
        graceful: &Arc<GracefulShutdown>,
        stopping: &watch::Receiver<bool>,
    ) -> std::io::Result<Vec<JoinHandle<tokio::net::TcpListener>>> {
        let Self { listeners, addresses, certificate, tls, network } = self;
        let Network { hosts, origins, proxies, limits, .. } = network;
        let proxies = Proxies::new(proxies);
        let door = Door::new(&addresses, hosts, origins, proxies.clone(), limits.writes_per_second);
        let answering = Arc::new(Answering {
            router: http::router_behind(Arc::new(door), app),
            tls,
            places: Places::new(limits.per_address),
            proxies,
            limits,
            stopping: stopping.clone(),
        });
        if let Some(certificate) = certificate {
            tokio::spawn(keep_fresh(certificate, stopping.clone()));
        }
        let room = Arc::new(Semaphore::new(limits.connections));
        let serve = |listener| {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (answering, watched) = (answering.clone(), graceful.clone());
            let converse = move |(stream, from), permit| {
                converse(answering.clone(), stream, from, permit, watched.watcher())
            };
            Ok(tokio::spawn(take(listener, room.clone(), stopping.clone(), converse)))
        };
        listeners.into_iter().map(serve).collect()
    }
}

/// Reads the certificate again when its files have changed.
async fn keep_fresh(certificate: Arc<Certificate>, mut stopping: watch::Receiver<bool>) {
    let mut look = tokio::time::interval(CERTIFICATE_EVERY);
    loop {
        tokio::select! {
            () = asked_to_stop(&mut stopping) => return,
            _ = look.tick() => {}
        }
        let certificate = certificate.clone();
        // A thread that panicked has said so in the log.
        let _ = tokio::task::spawn_blocking(move || certificate.read_again()).await;
    }
}

impl Source for tokio::net::TcpListener {
    type Stream = (TcpStream, SocketAddr);

    async fn accept(&self) -> std::io::Result<Self::Stream> {
        Self::accept(self).await
    }
}

/// What all connections by the network share.
struct Answering {
    router: Router,
    tls: Option<TlsAcceptor>,
    places: Arc<Places>,
    proxies: Proxies,
    limits: Limits,
    stopping: watch::Receiver<bool>,
}

/// Serves one connection.
async fn converse(
    answering: Arc<Answering>,
    stream: TcpStream,
    from: SocketAddr,
    permit: OwnedSemaphorePermit,
    watcher: Watcher,
) {
    let caller = http::caller(from.ip());
    // Whoever comes through a proxy of ours shares its address with everybody else.
    let is_proxy = answering.proxies.has(from.ip());
    let place = if is_proxy { None } else { answering.places.take(caller) };
    if place.is_none() && !is_proxy {
        tracing::debug!(client = %caller, "an address has more connections than it may have");
        return;
    }
    // Small answers leave at once. Where that cannot be set they leave later.
    let _ = stream.set_nodelay(true);
    let Limits { handshake, headers, write, .. } = answering.limits;
    let stream = Patient::new(stream, write);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(headers)
        .max_buf_size(NETWORK_HEAD_BYTES)
        .max_header_size(NETWORK_HEAD_BYTES)
        .max_headers(NETWORK_HEADERS);
    let service = |is_encrypted| FromPeer {
        peer: Peer { address: from.ip(), is_encrypted },
        router: TowerToHyperService::new(answering.router.clone()),
    };
    match &answering.tls {
        None => speak(&http, stream, service(false), watcher).await,
        Some(tls) => {
            let mut stopping = answering.stopping.clone();
            let shaken = tokio::select! {
                shaken = tokio::time::timeout(handshake, tls.accept(stream)) => shaken,
                () = asked_to_stop(&mut stopping) => return,
            };
            match shaken {
                Ok(Ok(stream)) => speak(&http, stream, service(true), watcher).await,
                Ok(Err(error)) => tracing::debug!(client = %caller, %error, "a TLS handshake failed"),
                Err(_) => tracing::debug!(client = %caller, "a TLS handshake took too long"),
            }
        }
    }
    drop((permit, place));
}

/// The routes for one connection: each request says whose it is.
struct FromPeer {
    peer: Peer,
    router: TowerToHyperService<Router>,
}

impl Service<Request<Incoming>> for FromPeer {
    type Response = Response<Body>;
    type Error = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.router.call(request)
    }
}
