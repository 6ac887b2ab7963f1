//! What all requests share: the engine, the count of requests in flight, and the wish to stop.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::model::ids::{Digest, EventNumber};
use tenure_core::model::limits::{EXPORTS, FOLLOWERS, IMPORTS_BYTES};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::WallTime;
use tenure_core::operation::Effect;
use tenure_core::secret::digest;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use tenure_engine::clock::{Clocks, MachineClocks};
use tenure_engine::store::driver::{Class, StoreError};
use tenure_engine::{Command, Engine, Failure, Info, Told};

use super::logins::Logins;
use super::people::People;
use super::waiters::Waiters;

/// How long one write probe answers for.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// How many imports may be read and applied at once: each takes several times the room of its text.
const IMPORTS_AT_ONCE: usize = 2;

/// What all requests share.
pub struct App {
    pub(super) engine: Engine,
    /// What the store said of itself when it was opened. Neither fleet nor epoch changes while it is open.
    pub(super) store: Info,
    /// Where the store is, to tell how much room is left there.
    pub(super) folder: PathBuf,
    pub(super) started_at: WallTime,
    /// Reading the whole store is worth one thread, not sixteen.
    whole_store: Arc<Semaphore>,
    imports: Semaphore,
    /// Room for exports that are written or sent.
    pub(super) exports: Arc<Semaphore>,
    /// Room for those who follow the record.
    pub(super) followers: Arc<Semaphore>,
    /// Who waits for something to happen.
    pub(super) waiters: Arc<Waiters>,
    /// The number of the last event that was heard of.
    pub(super) head: watch::Sender<EventNumber>,
    /// A byte of room for each byte of an import's request that is here.
    pub(super) import_room: Semaphore,
    /// Those who prove with a password who they are.
    pub(super) people: People,
    /// Those who have logged in with a browser.
    pub(super) logins: Logins,
    stop: watch::Sender<bool>,
    in_flight: AtomicUsize,
    queued: Arc<AtomicUsize>,
    requests: AtomicU64,
    /// What the names of requests are made of: they tell nobody which process this is, nor how many came between two.
    run: String,
    probed: Mutex<Option<(Instant, Result<(), StoreError>)>>,
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

/// A request that only waits; it counts again when this is dropped.
pub(super) struct AtRest<'a>(&'a AtomicUsize);

impl Drop for AtRest<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl App {
    /// Serves an open store that lies in a folder.
    pub fn new(engine: Engine, folder: PathBuf) -> Result<Arc<Self>, StoreError> {
        let waiters = Arc::<Waiters>::default();
        let head = watch::Sender::new(EventNumber(0));
        let (hearing, heads) = (waiters.clone(), head.clone());
        engine.hear(Box::new(move |news| {
            heads.send_if_modified(|head| std::mem::replace(head, news.event) != news.event);
            hearing.hear(news);
        }));
        Ok(Arc::new(Self {
            waiters,
            head,
            followers: Arc::new(Semaphore::new(FOLLOWERS)),
            store: engine.info()?,
            engine,
            folder,
            started_at: WallTime(MachineClocks.wall_ms()),
            whole_store: Arc::new(Semaphore::new(1)),
            imports: Semaphore::new(IMPORTS_AT_ONCE),
            exports: Arc::new(Semaphore::new(EXPORTS)),
            import_room: Semaphore::new(IMPORTS_BYTES),
            people: People::default(),
            logins: Logins::default(),
            stop: watch::Sender::new(false),
            in_flight: AtomicUsize::new(0),
            queued: Arc::default(),
            requests: AtomicU64::new(0),
            run: tenure_engine::draw_id()?,
            probed: Mutex::new(None),
        }))
    }

    /// The open store.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The one-time secret with which the first administrator is made, if there is none yet. It is for the console of who
    /// started this server, and only its hash is kept.
    pub fn console_secret(&self) -> Result<Option<String>, StoreError> {
        if self.engine.has_administrator()? { Ok(None) } else { self.people.draw_console_secret().map(Some) }
    }

    /// The wish to stop: who listens and who asks share it.
    #[must_use]
    pub fn stop(&self) -> &watch::Sender<bool> {
        &self.stop
    }

    /// Logs that the store failed. A commit that the disk did not confirm ends the writer for good, so the daemon goes
    /// and the next caller's daemon opens the store anew.
    pub(super) fn store_failed(&self, error: &StoreError) {
        tracing::error!(%error, "the store failed");
        if error.class == Class::Sync {
            self.stop.send_replace(true);
        }
    }

    /// What a caller hears of a failure.
    pub(super) fn refusal(&self, failure: Failure) -> Refusal {
        if let Failure::CannotTell(error) = &failure {
            self.store_failed(error);
        }
        failure.into()
    }

    pub(super) fn enter(self: &Arc<Self>) -> Ticket {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let Digest([a, b, c, d, e, f, g, h, ..]) =
            digest("tenure request name v1", &[self.run.as_bytes(), &number.to_be_bytes()]);
        Ticket { app: self.clone(), id: format!("{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h])) }
    }

    /// Whether requests besides the one that asks are in flight, or commands wait for their commit.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > 1 || self.queued() > 0
    }

    /// How many commands wait for their commit, also those whose callers have gone away.
    pub(super) fn queued(&self) -> usize {
        self.queued.load(Ordering::SeqCst)
    }

    /// Does not count the request that calls as one in flight while it only waits.
    pub(super) fn rest(&self) -> AtRest<'_> {
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        AtRest(&self.in_flight)
    }

    /// Asks for an operation: a question on a thread that may block, a mutation of the writer.
    pub(super) async fn ask(self: &Arc<Self>, command: Command) -> Told {
        if command.operation.spec().effect != Effect::Read {
            return self.submit(command).await;
        }
        let Command { operation, envelope } = command;
        let answered = self.blocking(move |app| app.engine.ask(&operation, &envelope)).await;
        answered.unwrap_or_else(|refusal| Err(Failure::Refused(refusal)).into())
    }

    /// Hands a mutation to the writer and waits for its commit.
    async fn submit(&self, command: Command) -> Told {
        let (reply, answer) = tokio::sync::oneshot::channel();
        // A caller that has gone away does not take its command back: it asks again with the same operation id.
        let queued = self.queued.clone();
        queued.fetch_add(1, Ordering::SeqCst);
        let tell = Box::new(move |told| {
            queued.fetch_sub(1, Ordering::SeqCst);
            drop(reply.send(told));
        });
        self.engine.submit(command, tell);
        let gone = || Failure::CannotTell(StoreError::new(Class::Lost, "the writer dropped a command"));
        answer.await.unwrap_or_else(|_| Err(gone()).into())
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

    /// Does something that reads the whole store, one at a time. The turn ends with the work, also when the caller has left
    /// before.
    pub(super) async fn in_turn<T, F>(self: &Arc<Self>, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> T + Send + 'static,
    {
        let turn = self.whole_store.clone().acquire_owned().await.expect("nobody closes it");
        self.blocking(move |app| (work(app), turn).0).await
    }

    /// A turn to read and apply an import, until it is dropped.
    pub(super) async fn import_turn(&self) -> SemaphorePermit<'_> {
        self.imports.acquire().await.expect("nobody closes it")
    }

    /// Whether writing works, found out at most once a second. It blocks; those who ask at once share one probe.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*probed {
            Some((at, result)) if at.elapsed() < PROBE_EVERY => result.clone(),
            _ => {
                let result = self.engine.probe();
                *probed = Some((Instant::now(), result.clone()));
                result
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_busy_with_other_requests_and_with_commands_whose_callers_have_gone() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let engine = Engine::open(folder.path(), tenure_engine::Options::default()).expect("a store");
        let app = App::new(engine, folder.path().to_owned()).expect("a store that can be read");
        let asking = app.enter();
        assert!(!app.is_busy(), "whoever asks does not count");
        let other = app.enter();
        assert!(app.is_busy());
        drop(other);
        assert!(!app.is_busy());
        app.queued.fetch_add(1, Ordering::SeqCst);
        assert!(app.is_busy());
        drop(asking);
    }
}
