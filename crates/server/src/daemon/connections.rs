//! Connections wherever they come from: taking them, answering on them, and stopping.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Where connections come from.
pub(super) trait Source: Send + Sync + 'static {
    /// A connection, with what is known of its other end.
    type Stream: Send;

    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Source for UnixListener {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<UnixStream> {
        Ok(Self::accept(self).await?.0)
    }
}

/// Waits until the daemon is asked to stop.
pub(super) async fn asked_to_stop(stopping: &mut watch::Receiver<bool>) {
    // Who could ask is gone with the daemon.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Takes connections until it is asked to stop, as many at once as there is room for. Returns the source: until that is
/// dropped, whoever comes late waits in its queue.
pub(super) async fn take<S: Source, C: Future<Output = ()> + Send + 'static>(
    source: S,
    room: Arc<Semaphore>,
    mut stopping: watch::Receiver<bool>,
    converse: impl Fn(S::Stream, OwnedSemaphorePermit) -> C + Send,
) -> S {
    loop {
        tokio::select! {
            () = asked_to_stop(&mut stopping) => return source,
            accepted = accept(&source, &room) => match accepted {
                Ok((stream, permit)) => drop(tokio::spawn(converse(stream, permit))),
                Err(error) => {
                    // Out of descriptors, for example: what is open now will close.
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
}

async fn accept<S: Source>(
    source: &S,
    room: &Arc<Semaphore>,
) -> io::Result<(S::Stream, OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.map_err(io::Error::other)?;
    Ok((source.accept().await?, permit))
}

/// Answers on a connection until it ends.
pub(super) async fn speak<I, S>(http: &http1::Builder, stream: I, service: S, watcher: Watcher)
where
    I: AsyncRead + AsyncWrite + Unpin + 'static,
    S: Service<Request<Incoming>, Response = Response, Error = Infallible>,
{
    let conversation = http.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(conversation).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
