//! What the fleet's other servers commit, for those who wait at this one.
//!
//! An announcement is a hint. The event table is the truth: after every (re)connection, and from time to time, the number
//! of the last event is compared with what was heard, so whoever waits looks again within a bound also when every
//! announcement was lost.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tenure_core::model::ids::EventNumber;
use tenure_core::working_set::News;

use crate::store::driver::{Role, StoreError};
use crate::store::fleet;
use crate::store::postgres::address::Address;
use crate::store::postgres::{Heard, Postgres};
use crate::writer::Hear;

/// How often the last event is looked up, and how soon a wish to stop is seen.
const LOOK: Duration = Duration::from_millis(500);
/// How long nothing is tried after a connection failed.
const REST: Duration = Duration::from_millis(200);

/// The thread that listens.
pub(crate) struct Others {
    stop: SyncSender<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Others {
    /// Listens, and passes on what it hears for as long as this is kept.
    pub fn listen(address: Arc<Address>, ear: Arc<OnceLock<Hear>>) -> io::Result<Self> {
        let (stop, stopped) = sync_channel(1);
        let listening = Listening { address, ear, heard: EventNumber(0) };
        let thread =
            std::thread::Builder::new().name("listener".to_owned()).spawn(move || listening.run(&stopped))?;
        Ok(Self { stop, thread: Mutex::new(Some(thread)) })
    }

    /// Ends the thread.
    pub fn stop(&self) {
        // Its other end is gone only if the thread is.
        let _ = self.stop.try_send(());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Listening {
    address: Arc<Address>,
    ear: Arc<OnceLock<Hear>>,
    heard: EventNumber,
}

impl Listening {
    fn run(mut self, stopped: &Receiver<()>) {
        loop {
            // An error here is the writer's and the readers' as well, and they tell it.
            let ended = self.listen_until(stopped);
            let rested = stopped.recv_timeout(if ended.is_ok() { Duration::ZERO } else { REST });
            if ended.is_ok() || !matches!(rested, Err(RecvTimeoutError::Timeout)) {
                return;
            }
        }
    }

    /// Listens on one connection until it fails, or until it is asked to stop.
    fn listen_until(&mut self, stopped: &Receiver<()>) -> Result<(), StoreError> {
        let mut connection = Postgres::open(&self.address, Role::Reader)?;
        connection.listen()?;
        loop {
            // What was committed before it listened, and what was announced and lost.
            let last = fleet::existing(&mut connection)?.event;
            if last > self.heard {
                self.pass_on(&News::vague(last));
            }
            while let Some(Heard { is_ours, since, news }) = connection.heard(LOOK)? {
                if since > self.heard {
                    self.pass_on(&News::vague(news.event));
                } else if is_ours {
                    self.heard = self.heard.max(news.event);
                } else {
                    self.pass_on(&news);
                }
                if stopped.try_recv().is_ok() {
                    return Ok(());
                }
            }
            if stopped.try_recv().is_ok() {
                return Ok(());
            }
        }
    }

    fn pass_on(&mut self, news: &News) {
        self.heard = self.heard.max(news.event);
        if let Some(hear) = self.ear.get() {
            hear(news);
        }
    }
}
