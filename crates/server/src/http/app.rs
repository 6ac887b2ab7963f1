//! What all requests share: the engine, the count of requests in flight, and the wish to stop.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::WallTime;
use tokio::sync::{Semaphore, watch};

use crate::backend::{Backend, Command, Failure, Outcome, Probe};

/// How long one write probe answers for.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// How many imports may hold their text in memory at once.
const IMPORTS_AT_ONCE: usize = 2;

/// What all requests share.
pub struct App {
    pub(super) backend: Arc<dyn Backend>,
    /// Where the store is, to tell how much room is left there.
    pub(super) folder: PathBuf,
    pub(super) started_at: WallTime,
    /// A walk along the whole event chain is worth one thread, not sixteen.
    pub(super) audits: Semaphore,
    pub(super) imports: Semaphore,
    stop: watch::Sender<bool>,
    in_flight: AtomicUsize,
    requests: AtomicU64,
    probed: Mutex<Option<(Instant, Result<Probe, Failure>)>>,
}

/// Proof that a request is counted; dropped with its answer.
pub(super) struct Ticket {
    app: Arc<App>,
    /// The request's name in the log.
    pub(super) id: String,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.app.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

impl App {
    /// Serves an open store that lies in a folder.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, folder: PathBuf) -> Arc<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Arc::new(Self {
            backend,
            folder,
            started_at: WallTime(i64::try_from(now.as_millis()).unwrap_or(i64::MAX)),
            audits: Semaphore::new(1),
            imports: Semaphore::new(IMPORTS_AT_ONCE),
            stop: watch::Sender::new(false),
            in_flight: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            probed: Mutex::new(None),
        })
    }

    /// The wish to stop: who listens and who asks share it.
    #[must_use]
    pub fn stop(&self) -> &watch::Sender<bool> {
        &self.stop
    }

    pub(super) fn enter(self: &Arc<Self>) -> Ticket {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        Ticket { app: self.clone(), id: format!("{:x}-{number:x}", std::process::id()) }
    }

    /// Whether anything is going on besides the request that asks.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > 1 || self.backend.info().queued > 0
    }

    /// Hands a mutation to the writer and waits for its commit.
    pub(super) async fn submit(&self, command: Command) -> Outcome {
        let (reply, answer) = tokio::sync::oneshot::channel();
        // A caller that has gone away does not take its command back: it asks again with the same operation id.
        self.backend.submit(command, Box::new(move |outcome| drop(reply.send(outcome))));
        answer.await.unwrap_or(Err(Failure::CannotTell))
    }

    /// Does something that blocks, on a thread that may.
    pub(super) async fn blocking<T, F>(self: &Arc<Self>, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> T + Send + 'static,
    {
        let app = self.clone();
        tokio::task::spawn_blocking(move || work(&app))
            .await
            .map_err(|_| Refusal::new(Code::CannotTell, "the request was interrupted inside the coordinator"))
    }

    /// Whether writing works, found out at most once a second. It blocks; those who ask at once share one probe.
    pub(super) fn probe(&self) -> Result<Probe, Failure> {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*probed {
            Some((at, result)) if at.elapsed() < PROBE_EVERY => result.clone(),
            _ => {
                let result = self.backend.probe();
                *probed = Some((Instant::now(), result.clone()));
                result
            }
        }
    }
}
