//! What happens: the store, the writer, and the fleet's own time.
//!
//! Rules decide (in `tenure-core`), the engine does. A command goes through [`writer`] into
//! [`execute::run_batch`], which loads what the rules need, lets them decide, and flushes what they changed in one
//! commit. A question goes through [`readers`] and is answered as by [`execute::read`]. Nothing here is asynchronous, and no transaction is open
//! while anything waits for a network or a person.

#![warn(clippy::wildcard_enum_match_arm)]

mod acknowledged;
mod admission;
pub mod backup;
pub mod chain;
pub mod clock;
mod connection;
pub mod copy;
pub mod execute;
pub mod export;
mod home;
mod others;
pub mod outcome;
mod readers;
pub mod restore;
pub mod restored;
pub mod store;
pub mod unserved;
pub mod writer;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tenure_core::envelope::Envelope;
use tenure_core::model::account::Account;
use tenure_core::model::backup::Manifest;
use tenure_core::model::ids::{
    Anchor, Digest, Epoch, EventNumber, PrincipalName, ProjectKey, ReporterId, TokenId,
};
use tenure_core::model::limits::Durations;
use tenure_core::model::reporter::Reporter;
use tenure_core::model::time::{FleetTime, WallTime};
use tenure_core::model::token::TokenRecord;
use tenure_core::operation::catalog::AnyOperation;

pub use admission::not_proven;
use backup::BackupError;
use chain::ChainReport;
use clock::{Clocks, MachineClocks};
pub use execute::Command;
use export::{ExportError, Exported};
use home::Home;
use others::Others;
pub use outcome::{Failure, Outcome, Told};
use readers::Readers;
use store::driver::{Class, Role, StoreError};
use store::folder::FolderError;
use store::postgres::address::Address;
use store::postgres::checkup::{self, Finding};
use writer::{Hear, Reply, Writer};

/// What can be chosen when a store is opened.
#[derive(Clone)]
pub struct Options {
    /// Durations that tests and the demo shorten.
    pub durations: Durations,
    /// The clocks; the machine's own unless a test brings others.
    pub clocks: Arc<dyn Clocks>,
    /// The database that the store is in; a file in the folder when absent.
    pub database: Option<Address>,
    /// Told now and then while a store of an older version is brought up to date.
    pub upgrading: fn(),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durations: Durations::default(),
            clocks: Arc::new(MachineClocks),
            database: None,
            upgrading: || (),
        }
    }
}

/// Why a store was not opened.
#[derive(Debug)]
pub enum OpenError {
    /// Its folder cannot be used, or another engine has it.
    Folder(FolderError),
    /// The database cannot be used.
    Store(String, StoreError),
    /// A thread could not be started.
    Thread(std::io::Error),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(error) => error.fmt(f),
            Self::Store(place, error) => write!(f, "{place}: {error}"),
            Self::Thread(error) => write!(f, "a thread of the store: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

/// What is open, for people.
#[derive(Debug, Clone)]
pub struct Info {
    /// The fleet's id.
    pub fleet: String,
    /// Its incarnation.
    pub epoch: Epoch,
    /// The number of the last migration.
    pub schema: u32,
    /// The number of the last event.
    pub event: EventNumber,
    /// The committed fleet time.
    pub fleet_time: FleetTime,
    /// Where the store is, for people.
    pub place: String,
    /// Which database it is.
    pub database: String,
}

/// An open store. Clones share it; it closes with the last of them, or at [`Engine::close`].
#[derive(Clone)]
pub struct Engine {
    open: Arc<Open>,
}

/// Fields are dropped in this order: the connections before the lock.
struct Open {
    others: Option<Others>,
    writer: Writer,
    readers: Readers,
    options: Options,
    home: Home,
}

impl Engine {
    /// Opens the store in a folder, or the one in the database that the options name, or makes it there.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let home = Home::take(folder, options.database.as_ref())?;
        let wrong = |error| OpenError::Store(home.to_string(), error);
        home.refuse_unfit().map_err(wrong)?;
        let mut driver = home.connect(Role::Writer).map_err(wrong)?;
        if driver.schema().map_err(wrong)? == 0 {
            home.may_found().map_err(OpenError::Folder)?;
        }
        let mut told = options.upgrading;
        let fleet = execute::prepare_telling(&mut *driver, &*options.clocks, draw_id, &mut told);
        let fleet = fleet.map_err(wrong)?;
        home.founded(&fleet.id).map_err(OpenError::Folder)?;
        let (at, served) = (home.clone(), fleet.clone());
        let writer = Writer::start(
            driver,
            Box::new(move || at.connect(Role::Writer)),
            fleet,
            options.clocks.clone(),
            options.durations,
        )
        .map_err(OpenError::Thread)?;
        let others = home.shared().map(|address| Others::listen(address.clone(), writer.ear()));
        let others = others.transpose().map_err(OpenError::Thread)?;
        let at = home.clone();
        let readers = Readers::new(Box::new(move || at.connect(Role::Reader)), served, writer.committed());
        Ok(Self { open: Arc::new(Open { others, writer, readers, options, home }) })
    }

    /// Queues a command; `reply` is called once, after the commit.
    pub fn submit(&self, command: Command, reply: Reply) {
        self.open.writer.submit(command, reply);
    }

    /// Tells somebody the news of every commit from now on, after its callers were answered.
    pub fn hear(&self, hear: Hear) {
        self.open.writer.hear(hear);
    }

    /// Runs a command and waits for the commit.
    pub fn call(&self, command: Command) -> Outcome {
        let (told, answer) = sync_channel(1);
        let tell = Box::new(move |heard: Told| {
            let _ = told.send(heard.outcome);
        });
        self.submit(command, tell);
        answer.recv().unwrap_or_else(|_| Err(StoreError::new(Class::Lost, "the writer is gone").into()))
    }

    /// Answers a question from committed state.
    pub fn read(&self, operation: &AnyOperation, envelope: &Envelope) -> Outcome {
        self.ask(operation, envelope).outcome
    }

    /// The same, with the last event of that state.
    pub fn ask(&self, operation: &AnyOperation, envelope: &Envelope) -> Told {
        let Options { durations, clocks, .. } = &self.open.options;
        let wall = WallTime(clocks.wall_ms());
        self.open.readers.answer(operation, envelope, wall, *durations)
    }

    /// The account of a name as it was committed last. Whether it is still so is judged again under the writer's lock.
    pub fn account(&self, name: &PrincipalName) -> Result<Option<Account>, StoreError> {
        self.open.readers.ask(|driver, _| store::rows::one(driver, &store::account::BY_NAME, name))
    }

    /// Whether whoever has the token of this hash may come in now, by the wall clock. Whether it counts is judged again with
    /// each operation.
    pub fn knows_token(&self, hash: &Digest) -> Result<bool, StoreError> {
        let wall = WallTime(self.open.options.clocks.wall_ms());
        let id = TokenId::of(hash);
        let found: Option<TokenRecord> =
            self.open.readers.ask(|driver, _| store::rows::one(driver, &store::token::BY_ID, &id))?;
        Ok(found.is_some_and(|found| admission::equal(&found.hash, hash) && found.counts(wall)))
    }

    /// Whether the secret of this hash is a reporter's. What it may still do is judged with each renewal.
    pub fn knows_reporter(&self, hash: &Digest) -> Result<bool, StoreError> {
        let id = ReporterId::of(hash);
        let found: Option<Reporter> =
            self.open.readers.ask(|driver, _| store::rows::one(driver, &store::reporter::BY_ID, &id))?;
        Ok(found.is_some_and(|found| admission::equal(&found.hash, hash)))
    }

    /// Whether anybody can make accounts: an administrator that is not disabled.
    pub fn has_administrator(&self) -> Result<bool, StoreError> {
        self.open.readers.ask(|driver, _| store::account::has_administrator(driver))
    }

    /// What is open.
    pub fn info(&self) -> Result<Info, StoreError> {
        self.open.readers.ask(|driver, fleet| {
            Ok(Info {
                schema: driver.schema()?,
                database: driver.version()?,
                place: self.open.home.to_string(),
                fleet: fleet.id,
                epoch: fleet.epoch,
                event: fleet.event,
                fleet_time: fleet.time,
            })
        })
    }

    /// Looks at what the store stands on, where that is a database of somebody else's making.
    pub fn checkup(&self) -> Result<Vec<Finding>, StoreError> {
        self.open.home.shared().map_or_else(|| Ok(Vec::new()), |address| checkup::look(address))
    }

    /// Whether what is acknowledged survives the loss of the database's primary, where the store is in a database.
    pub fn standby(&self) -> Result<Option<Finding>, StoreError> {
        if self.open.home.shared().is_none() {
            return Ok(None);
        }
        self.open.readers.ask(|driver, _| checkup::standby(driver)).map(Some)
    }

    /// Commits nothing but the time: the store can be written to.
    pub fn probe(&self) -> Result<(), StoreError> {
        self.open.writer.probe()
    }

    /// Walks the whole record and checks every link of it, and that it has the event that was `noted` elsewhere.
    /// `progress` hears how many events are behind it.
    pub fn verify_chain(
        &self,
        noted: Option<Anchor>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ChainReport, StoreError> {
        self.open.readers.ask_at_length(|driver, _| chain::walk(driver, noted, progress))
    }

    /// Writes the lines of an export of the last committed state; see [`export::write`].
    pub fn export(&self, projects: &[ProjectKey], out: &mut dyn Write) -> Result<Exported, ExportError> {
        self.open.readers.ask_at_length(|driver, fleet| {
            match export::write_within(driver, &fleet, projects, out) {
                Err(ExportError::Store(error)) => Err(error),
                outcome => Ok(outcome),
            }
        })?
    }

    /// Writes a backup of the last committed state into a file, and its manifest beside it; see [`backup::create`].
    pub fn backup(&self, file: &Path, replace: bool) -> Result<Manifest, BackupError> {
        let Some(database) = self.open.home.file() else {
            return Err(BackupError::Elsewhere(self.open.home.to_string()));
        };
        backup::replace::refuse_own(database, file)?;
        let now = WallTime(self.open.options.clocks.wall_ms());
        let written = self
            .open
            .readers
            .with_connection(|driver| Ok(backup::create::create(driver, file, replace, now, &mut |_| ())));
        written.map_err(|error| BackupError::Store(database.to_owned(), error))?
    }

    /// Finishes what is queued and ends the writer. Questions are still answered by clones that are left.
    pub fn close(&self) {
        self.open.others.iter().for_each(Others::stop);
        self.open.writer.stop();
    }

    /// The same, but not for longer than `limit`. Says whether the writer has ended.
    #[must_use]
    pub fn close_within(&self, limit: Duration) -> bool {
        self.open.writer.stop_within(limit)
    }

    /// Whether the files that are open are still those that the folder names. A deleted or replaced database takes
    /// everything that is written to it along.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.open.home.is_intact()
    }

    /// Whether the disk did not confirm a commit. Nothing is written any more, and what the disk holds is known only
    /// once the store is opened anew.
    #[must_use]
    pub fn is_unconfirmed(&self) -> bool {
        self.open.writer.is_unconfirmed()
    }
}

/// An id that nobody else has, of a fleet, a process or an operation, from the operating system's generator.
pub fn draw_id() -> Result<String, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::new(Class::Other, error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
