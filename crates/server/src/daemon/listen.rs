//! The socket and the network beside it: who may have a connection, how many there are, how long they may be silent, and
//! how they end.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::connections::{asked_to_stop, speak, take};
use super::network;
use super::patient::Patient;
use crate::http::{App, peer_refused, router};

/// Most connections at once; further callers wait in the socket's queue.
const CONNECTIONS: usize = 1024;
/// How long a connection may be silent before and within a request's headers.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a caller may leave its answer lying. Until then the answer fills the daemon's memory.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest head of a request, and the size of the buffer that it is read into.
const HEAD_BYTES: usize = 64 * 1024;
/// How often it is checked that the folder and the socket are still there.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// What a daemon listens on.
pub(super) struct Listeners {
    pub(super) socket: std::os::unix::net::UnixListener,
    pub(super) network: Option<network::Open>,
}

/// Answers until it is asked to stop or the socket is lost, then finishes what was asked. Returns what `going` gave
/// at the moment when no further connection was taken.
pub(super) async fn serve<T>(
    listeners: Listeners,
    app: Arc<App>,
    signals: bool,
    finish: Duration,
    still_ours: impl Fn() -> bool,
    going: impl FnOnce() -> T,
) -> io::Result<T> {
    let graceful = Arc::new(GracefulShutdown::new());
    let stop = app.stop();
    let mut stopping = stop.subscribe();
    // Whoever is answered can stop what answers.
    if signals {
        stop_on_signal(stop.clone());
    }
    let outside = match listeners.network {
        Some(network) => network.serve(app.clone(), &graceful, &stopping)?,
        None => Vec::new(),
    };
    let socket = UnixListener::from_std(listeners.socket)?;
    let (own, router, watched) = (rustix::process::geteuid().as_raw(), router(app.clone()), graceful.clone());
    let inside = move |stream, permit| {
        let stream = Patient::new(stream, WRITE_TIMEOUT);
        converse(stream, own, permit, router.clone(), watched.watcher())
    };
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let inside = tokio::spawn(take(socket, room, stopping.clone(), inside));
    let mut check = tokio::time::interval(CHECK_EVERY);
    loop {
        tokio::select! {
            () = asked_to_stop(&mut stopping) => break,
            _ = check.tick() => if !still_ours() {
                tracing::warn!("the folder, the socket or the database is no longer ours, or the disk failed");
                break;
            },
        }
    }
    // Whoever waits or follows hears that there is nothing more to come, and no further connection is taken.
    stop.send_replace(true);
    let inside = inside.await;
    let mut kept = Vec::new();
    for listener in outside {
        kept.push(listener.await);
    }
    let held = going();
    drop((inside, kept));
    let graceful = Arc::into_inner(graceful).expect("whoever took connections has ended");
    if tokio::time::timeout(finish, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still in flight when the time to finish was over");
    }
    Ok(held)
}

/// Serves one connection. Somebody who runs as another user hears why, whatever was asked.
async fn converse(
    stream: Patient<UnixStream>,
    own: u32,
    permit: OwnedSemaphorePermit,
    router: Router,
    watcher: Watcher,
) {
    let peer = stream.inner().peer_cred().map(|credentials| credentials.uid());
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS_TIMEOUT).max_buf_size(HEAD_BYTES);
    match peer {
        Ok(peer) if admits(own, peer) => {
            speak(&http, stream, TowerToHyperService::new(router), watcher).await;
        }
        Ok(_) | Err(_) => {
            tracing::warn!("a caller that runs as another user was refused");
            http.keep_alive(false);
            let refuse = service_fn(|_| async { Ok::<_, Infallible>(peer_refused()) });
            speak(&http, stream, refuse, watcher).await;
        }
    }
    drop(permit);
}

/// The store is one user's own. Not even root calls as somebody else.
fn admits(own: u32, peer: u32) -> bool {
    own == peer
}

/// From now on signals stop the daemon.
fn stop_on_signal(stop: watch::Sender<bool>) {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = kinds.map(signal) else {
        tracing::error!("signals cannot be received; only a request stops this daemon");
        return;
    };
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {},
            _ = interrupt.recv() => {},
            _ = hangup.recv() => {},
        }
        stop.send_replace(true);
    });
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream as Blocking;

    use super::*;

    #[test]
    fn only_the_owner_is_admitted() {
        assert!(admits(1000, 1000));
        assert!(!admits(1000, 1001) && !admits(1000, 0) && !admits(0, 1000));
    }

    /// A caller that has asked, and the daemon's end of its connection.
    fn asked(write_timeout: Duration) -> (Blocking, Patient<UnixStream>) {
        let (mut client, server) = Blocking::pair().expect("two ends");
        let request = b"GET /api/v1/stats HTTP/1.1\r\nHost: tenure\r\nConnection: close\r\n\r\n";
        client.write_all(request).expect("the socket holds a request");
        server.set_nonblocking(true).expect("a socket of the runtime");
        let server = UnixStream::from_std(server).expect("a socket of the runtime");
        (client, Patient::new(server, write_timeout))
    }

    /// What a caller hears on a socket of this user when the store belongs to `own`.
    async fn heard(own: u32) -> String {
        let (mut client, server) = asked(WRITE_TIMEOUT);
        let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.expect("a permit");
        let router = Router::new().fallback(|| async { "the store's own words" });
        let graceful = GracefulShutdown::new();
        converse(server, own, permit, router, graceful.watcher()).await;
        // The conversation is over, so the whole answer lies in the socket.
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        answer
    }

    #[tokio::test]
    async fn a_caller_of_another_user_hears_peer_refused_and_nothing_of_the_store() {
        let caller = rustix::process::geteuid().as_raw();
        assert!(heard(caller).await.contains("the store's own words"));
        let refused = heard(caller + 1).await;
        assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
        assert!(refused.contains("peer_refused") && !refused.contains("own words"), "{refused}");
    }

    #[tokio::test]
    async fn a_caller_that_leaves_its_answer_lying_is_let_go() {
        let own = rustix::process::geteuid().as_raw();
        let (client, server) = asked(Duration::from_millis(50));
        let connections = Arc::new(Semaphore::new(1));
        let permit = connections.clone().acquire_owned().await.expect("a permit");
        let router = Router::new().fallback(|| async { "much".repeat(4 << 20) });
        let graceful = GracefulShutdown::new();
        converse(server, own, permit, router, graceful.watcher()).await;
        // The conversation is over although nobody read, and its place is free.
        assert_eq!(connections.available_permits(), 1);
        drop(client);
    }
}
