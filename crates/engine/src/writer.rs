//! The thread that writes, and the bounded queue before it.
//!
//! What waits while a commit is in flight shares the next one; nobody lingers for fuller batches. Where another process
//! writes to the store too, what comes while its lock is waited for joins the batch that waits. Callers are
//! answered after the commit, also the refused ones. When the store fails, a whole batch hears that nobody can
//! tell, and each caller asks again with the same operation id. A commit that the disk did not confirm is the end
//! of the writer: what the disk holds is unknown until the store is opened anew, so everything later hears the
//! same until somebody restarts the engine.

use std::ops::ControlFlow;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, Release},
};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tenure_core::envelope::Envelope;
use tenure_core::model::event::Fleet;
use tenure_core::model::ids::OperationId;
use tenure_core::model::limits::{BATCH_COMMANDS, Durations, QUEUE_COMMANDS};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::record::RecordOverdue;
use tenure_core::working_set::News;

use crate::clock::{Clocks, FleetClock};
use crate::connection::{Connect, Connection};
use crate::execute::{Command, Committed, Join, run_batch};
use crate::outcome::{Failure, Told};
use crate::store::driver::{Class, Driver, StoreError};
use crate::store::queue;

/// How long commands whose connection was lost are tried again before their callers hear that nobody can tell.
const REPEAT: Duration = Duration::from_secs(5);
/// The first pause between two tries, and the longest.
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_millis(500);

/// How often the fleet's time is committed while leases live and nobody else writes.
const TICK: Duration = Duration::from_secs(1);

/// What is called with the outcome, once.
pub type Reply = Box<dyn FnOnce(Told) + Send>;

/// What is called with the news of every commit that has some, after its callers were answered. It must not block.
pub type Hear = Box<dyn Fn(&News) + Send + Sync>;

/// What is called with the result of a probe, once.
type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A command on its way, which is answered whatever happens to it.
struct Job {
    command: Option<Box<Command>>,
    reply: Option<Reply>,
}

impl Job {
    fn answer(mut self, told: Told) {
        if let Some(reply) = self.reply.take() {
            reply(told);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            reply(Err(Failure::CannotTell(stopped())).into());
        }
    }
}

fn stopped() -> StoreError {
    StoreError::new(Class::Lost, "the writer has stopped")
}

enum Message {
    Run(Job),
    /// An empty batch: proves that the store can be written to.
    Probe(Tell),
    Stop,
}

/// The way to the writer's thread.
pub struct Writer {
    queue: SyncSender<Message>,
    unconfirmed: Arc<AtomicBool>,
    hear: Arc<OnceLock<Hear>>,
    committed: Arc<AtomicU64>,
    thread: std::sync::Mutex<Option<Thread>>,
}

/// The thread, and a channel whose other end goes with it.
type Thread = (JoinHandle<()>, Receiver<()>);

/// How often a bounded stop tries to reach a thread whose queue is full.
const LOOK: Duration = Duration::from_millis(5);

impl Writer {
    /// Starts the thread on a connection that is open, in a fleet whose row is `fleet`.
    pub fn start(
        driver: Box<dyn Driver>,
        connect: Connect,
        fleet: Fleet,
        clocks: Arc<dyn Clocks>,
        durations: Durations,
    ) -> std::io::Result<Self> {
        let (queue, messages) = sync_channel(QUEUE_COMMANDS);
        let clock = FleetClock::join(&fleet, &*clocks);
        let unconfirmed = Arc::new(AtomicBool::new(false));
        let told = unconfirmed.clone();
        let hear = Arc::<OnceLock<Hear>>::default();
        let committed = Arc::new(AtomicU64::new(fleet.event.0));
        let shell = Shell {
            connection: Connection::new(driver, connect),
            fleet,
            clock,
            clocks,
            durations,
            is_shared: false,
            dead: None,
            unconfirmed: told,
            hear: hear.clone(),
            committed: committed.clone(),
        };
        let (alive, ended) = sync_channel(0);
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || {
            shell.run(&messages);
            drop::<SyncSender<()>>(alive);
        })?;
        let thread = std::sync::Mutex::new(Some((thread, ended)));
        Ok(Self { queue, unconfirmed, hear, committed, thread })
    }

    /// Queues a command. `reply` is called once: after the commit, or at once when too much is waiting.
    pub fn submit(&self, command: Command, reply: Reply) {
        let job = Job { command: Some(Box::new(command)), reply: Some(reply) };
        match self.queue.try_send(Message::Run(job)) {
            Ok(()) => {}
            Err(TrySendError::Full(Message::Run(job))) => {
                let detail = format!("{QUEUE_COMMANDS} commands are waiting to be written");
                job.answer(Err(Failure::Refused(Refusal::new(Code::Overloaded, detail))).into());
            }
            // The job answers by itself when it is dropped.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// Tells somebody the news of every commit from now on. Only the first who asks is told.
    pub fn hear(&self, hear: Hear) {
        let _ = self.hear.set(hear);
    }

    /// Who is told the news, once somebody wants to be.
    pub(crate) fn ear(&self) -> Arc<OnceLock<Hear>> {
        self.hear.clone()
    }

    /// The number of the last event that this process has committed, or had found when it began; it grows.
    pub(crate) fn committed(&self) -> Arc<AtomicU64> {
        self.committed.clone()
    }

    /// Commits nothing but the time, and says whether that worked.
    pub fn probe(&self) -> Result<(), StoreError> {
        let (told, answer) = sync_channel(1);
        let tell = Box::new(move |outcome| {
            let _ = told.send(outcome);
        });
        self.queue.send(Message::Probe(tell)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Whether the disk did not confirm a commit, so that nothing is written any more.
    pub fn is_unconfirmed(&self) -> bool {
        self.unconfirmed.load(Relaxed)
    }

    /// Finishes what is queued and ends the thread, unless that takes longer than `limit`: the thread is then left
    /// to itself, and what it did not commit nobody was told. Says whether it has ended.
    pub fn stop_within(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let thread = self.thread.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let Some((_, ended)) = thread else { return true };
        let mut told = false;
        loop {
            // The queue of a thread that is stuck may be full.
            told = told || !matches!(self.queue.try_send(Message::Stop), Err(TrySendError::Full(_)));
            match ended.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => return false,
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    /// Finishes what is queued and ends the thread. A second call does nothing.
    pub fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let Some((thread, _)) = thread else { return };
        if thread.thread().id() == std::thread::current().id() {
            // A reply let go of the last engine: the thread ends by itself when its queue is gone, and cannot
            // wait for itself.
            return;
        }
        let _ = self.queue.send(Message::Stop);
        let _ = thread.join();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the thread owns.
struct Shell {
    connection: Connection,
    fleet: Fleet,
    clock: FleetClock,
    clocks: Arc<dyn Clocks>,
    durations: Durations,
    /// Whether somebody else has recorded an event between our last two batches.
    is_shared: bool,
    dead: Option<StoreError>,
    unconfirmed: Arc<AtomicBool>,
    hear: Arc<OnceLock<Hear>>,
    committed: Arc<AtomicU64>,
}

impl Shell {
    fn run(mut self, messages: &Receiver<Message>) {
        self.serve(messages);
        // After a commit that the disk did not confirm, nothing is copied: what it holds is unknown.
        if let (Some(driver), None) = (self.connection.present(), &self.dead) {
            // What could not be moved is still in the log, and the next engine reads it there.
            let _ = driver.settle();
        }
    }

    fn serve(&mut self, messages: &Receiver<Message>) {
        // The first commit makes the time of joining durable before anybody is answered.
        if self.answer(Batch { ticks: true, ..Batch::default() }, messages).is_break() {
            return;
        }
        let mut next_tick = Instant::now() + TICK;
        loop {
            let wait = next_tick.saturating_duration_since(Instant::now());
            let first = match messages.recv_timeout(wait) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut batch = Batch::default();
            if let Some(first) = first {
                batch.take(first);
                batch.take_waiting(messages);
            }
            if Instant::now() >= next_tick {
                self.tick(&mut batch);
                next_tick = Instant::now() + TICK;
            }
            if self.answer(batch, messages).is_break() {
                // Whatever came in beside the order to stop is still done.
                let mut rest = Batch::default();
                messages.try_iter().for_each(|message| rest.take(message));
                let _ = self.answer(rest, messages);
                return;
            }
        }
    }

    /// Runs a batch and answers everybody in it. Breaks if it has the order to stop.
    fn answer(&mut self, mut batch: Batch, messages: &Receiver<Message>) -> ControlFlow<()> {
        if batch.is_empty() {
            return batch.flow();
        }
        let before = self.fleet.event;
        let outcome = self.commit(&mut batch, messages);
        let flow = batch.flow();
        let Batch { jobs, probes, ticks: _, stop: _ } = batch;
        match outcome {
            Ok((answers, news)) => {
                let at = Some(self.fleet.last());
                for (job, answer) in jobs.into_iter().zip(answers) {
                    job.answer(Told { outcome: answer.map_err(Failure::Refused), at });
                }
                probes.into_iter().for_each(|tell| tell(Ok(())));
                if let Some(hear) = self.hear.get().filter(|_| !news.is_none(before)) {
                    hear(&news);
                }
            }
            Err(error) => {
                for job in jobs {
                    job.answer(Err(Failure::CannotTell(error.clone())).into());
                }
                probes.into_iter().for_each(|tell| tell(Err(error.clone())));
            }
        }
        flow
    }

    /// Commits a batch. Where the connection is lost, it is decided again on another one: what has happened is told by its
    /// receipts, and what has not happens now.
    fn commit(
        &mut self,
        batch: &mut Batch,
        messages: &Receiver<Message>,
    ) -> Result<(Vec<Result<String, Refusal>>, News), StoreError> {
        let mut commands = batch.commands();
        if !self.connection.can_be_lost() {
            return self.try_commit(commands, None);
        }
        let begun = Instant::now();
        let mut rest = REST_MIN;
        // Only the first try takes more in: who joins has as long as the others.
        let mut has_room = batch.has_room();
        loop {
            let present = commands.clone();
            let mut join = || {
                batch.take_waiting(messages);
                let late = batch.commands();
                commands.extend(late.iter().cloned());
                late
            };
            let join: Option<Join<'_>> = if std::mem::take(&mut has_room) { Some(&mut join) } else { None };
            match self.try_commit(present, join) {
                Err(error) if is_lost(&error) && begun.elapsed() + rest < REPEAT => {
                    // Nobody wakes it; it goes on when its time is over.
                    std::thread::park_timeout(rest);
                    rest = (rest * 2).min(REST_MAX);
                }
                outcome => return outcome,
            }
        }
    }

    fn try_commit(
        &mut self,
        commands: Vec<Command>,
        join: Option<Join<'_>>,
    ) -> Result<(Vec<Result<String, Refusal>>, News), StoreError> {
        if let Some(error) = &self.dead {
            return Err(error.clone());
        }
        // Who has the lock to themselves does not wait for it.
        let join = join.filter(|_| self.is_shared);
        let committed = self
            .connection
            .open(&self.fleet)
            .and_then(|driver| run_batch(driver, &self.clock, &*self.clocks, commands, join, self.durations));
        match committed {
            Ok(Committed { answers, fleet, before, news }) => {
                self.is_shared = before != self.fleet.event;
                self.committed.store(fleet.event.0, Release);
                self.fleet = fleet;
                Ok((answers, news))
            }
            Err(error) => {
                self.after_failure(&error);
                Err(error)
            }
        }
    }

    fn after_failure(&mut self, error: &StoreError) {
        match error.class {
            Class::Sync => {
                self.dead = Some(error.clone());
                self.unconfirmed.store(true, Relaxed);
            }
            // Whether the last commit happened is found out by whoever asks again, on a new connection.
            Class::Lost | Class::Io => self.connection.give_up(),
            Class::Busy
            | Class::Full
            | Class::ReadOnly
            | Class::Corrupt
            | Class::NewerSchema
            | Class::Other => {}
        }
    }

    /// Adds the background work that is due to a batch: the record of what is overdue, or just the time.
    fn tick(&mut self, batch: &mut Batch) {
        let Some(driver) = self.connection.present() else {
            // The next commit tries to connect.
            batch.ticks = true;
            return;
        };
        // What it brings is speed: if it fails, the commit meets the same error.
        let _ = driver.upkeep();
        let now = self.clock.now(&self.fleet, &*self.clocks);
        match driver.leads().and_then(|leads| Ok(leads && queue::any_overdue(driver, now)?)) {
            Ok(true) => batch.jobs.push(Job { command: Some(Box::new(self.record_overdue())), reply: None }),
            Ok(false) => batch.ticks = queue::any_live(driver, self.fleet.time).unwrap_or(true),
            // The commit will meet the same error and deal with it.
            Err(_) => batch.ticks = true,
        }
    }

    /// The background command. Its id follows from the state it was decided on, so that a repetition is told
    /// apart from new work in the record.
    fn record_overdue(&self) -> Command {
        let id = format!("overdue-{}-{}-{}", self.fleet.epoch, self.fleet.event, self.fleet.time.0);
        let operation_id: OperationId = id.parse().expect("letters, digits and hyphens are an operation id");
        let envelope = Envelope { operation_id: Some(operation_id), ..Envelope::default() };
        Command { operation: RecordOverdue {}.into(), envelope }
    }
}

fn is_lost(error: &StoreError) -> bool {
    matches!(error.class, Class::Lost | Class::Io)
}

/// What one commit is for.
#[derive(Default)]
struct Batch {
    jobs: Vec<Job>,
    probes: Vec<Tell>,
    ticks: bool,
    stop: bool,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.probes.is_empty() && !self.ticks
    }

    fn has_room(&self) -> bool {
        self.jobs.len() < BATCH_COMMANDS && !self.stop
    }

    /// What comes after it.
    fn flow(&self) -> ControlFlow<()> {
        if self.stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The commands that were not taken out yet.
    fn commands(&mut self) -> Vec<Command> {
        self.jobs.iter_mut().filter_map(|job| job.command.take()).map(|command| *command).collect()
    }

    /// Takes who waits, up to a full batch.
    fn take_waiting(&mut self, messages: &Receiver<Message>) {
        while self.has_room() {
            let Ok(message) = messages.try_recv() else { return };
            self.take(message);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Run(job) => self.jobs.push(job),
            Message::Probe(tell) => self.probes.push(tell),
            Message::Stop => self.stop = true,
        }
    }
}
