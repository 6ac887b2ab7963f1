//! What the tests stand on: a store, clocks that stand still, and callers with secrets of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use tenure_cluster::Cluster;
use tenure_core::envelope::{Caller, Envelope, Fence};
use tenure_core::model::ids::{AttemptId, OperationId, SessionId};
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::WallTime;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::session::OpenSession;
use tenure_core::operation::{Access, Spec};
use tenure_core::secret::SessionSecret;
use tenure_core::working_set::WorkingSet;
use tenure_engine::Command;
use tenure_engine::clock::{Clocks, FleetClock};
use tenure_engine::execute::{Committed, prepare, read, run_batch};
use tenure_engine::store::driver::{Driver, StoreError};
use tenure_engine::store::flush;
use tenure_engine::store::folder::{Hold, hold};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;
use tenure_engine::store::sqlite::{Role, Sqlite};

use crate::failures::{Failing, Faults, Strike, with_a_lost_commit, with_every_call_failing};

/// Clocks that only a test moves.
pub struct StillClocks {
    monotonic: AtomicI64,
    wall: AtomicI64,
}

impl StillClocks {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { monotonic: 1_000.into(), wall: 1_700_000_000_000.into() })
    }

    pub fn pass(&self, ms: i64) {
        self.monotonic.fetch_add(ms, Relaxed);
        self.wall.fetch_add(ms, Relaxed);
    }

    /// Somebody moves the wall clock.
    pub fn jump(&self, ms: i64) {
        self.wall.fetch_add(ms, Relaxed);
    }

    /// The monotonic clock and the wall clock.
    pub fn read(&self) -> (i64, i64) {
        (self.monotonic_ms(), self.wall_ms())
    }
}

impl Clocks for StillClocks {
    fn monotonic_ms(&self) -> i64 {
        self.monotonic.load(Relaxed)
    }

    fn wall_ms(&self) -> i64 {
        self.wall.load(Relaxed)
    }
}

/// Takes away what the second schema and the third have brought.
pub const FIRST_SCHEMA: &str = "DROP TABLE reporter; ALTER TABLE attempt DROP COLUMN reporter; DROP TABLE token; ALTER TABLE principal DROP COLUMN machine; ALTER TABLE session DROP COLUMN machine; ALTER TABLE project DROP COLUMN agents_may; DROP TABLE account; DROP TABLE label; DROP TABLE completion; DROP TABLE passage; DROP TABLE passage_words; ALTER TABLE fleet DROP COLUMN floor";
/// Takes away what the third schema has brought.
pub const SECOND_SCHEMA: &str = "DROP TABLE reporter; ALTER TABLE attempt DROP COLUMN reporter; DROP TABLE token; ALTER TABLE principal DROP COLUMN machine; ALTER TABLE session DROP COLUMN machine; ALTER TABLE project DROP COLUMN agents_may; DROP TABLE account; DROP TABLE label; DROP TABLE completion; DROP TABLE passage; DROP TABLE passage_words";

/// Lays the rows of tasks and receipts out as the third schema had them.
pub const THIRD_SCHEMA: &str = "
    DROP TABLE reporter; ALTER TABLE attempt DROP COLUMN reporter; DROP TABLE token; ALTER TABLE principal DROP COLUMN machine; ALTER TABLE session DROP COLUMN machine; ALTER TABLE project DROP COLUMN agents_may; DROP TABLE account;
    CREATE TABLE laid AS SELECT * FROM task;
    DROP TABLE task;
    CREATE TABLE task (
        id TEXT NOT NULL PRIMARY KEY, project TEXT NOT NULL REFERENCES project (key), number INTEGER NOT NULL,
        stage INTEGER NOT NULL, queue TEXT NOT NULL, lifecycle TEXT NOT NULL, resolution TEXT, successor TEXT,
        kind TEXT NOT NULL, priority INTEGER NOT NULL, archived INTEGER NOT NULL, revision INTEGER NOT NULL,
        generation INTEGER NOT NULL, held INTEGER NOT NULL, own_blockers INTEGER NOT NULL,
        outer_blockers INTEGER NOT NULL, inherited_blockers INTEGER NOT NULL, ready_at INTEGER NOT NULL,
        deferred_until INTEGER, reserved_for TEXT, reserved_until INTEGER, requires TEXT
    ) STRICT, WITHOUT ROWID;
    INSERT INTO task SELECT * FROM laid;
    CREATE INDEX task_stage ON task (project, stage, number);
    DROP TABLE laid;
    CREATE TABLE laid AS SELECT * FROM receipt;
    DROP TABLE receipt;
    CREATE TABLE receipt (
        principal TEXT NOT NULL, operation_id TEXT NOT NULL, operation TEXT NOT NULL, fingerprint TEXT NOT NULL,
        epoch INTEGER NOT NULL, at INTEGER NOT NULL, answer TEXT, PRIMARY KEY (principal, operation_id)
    ) STRICT;
    INSERT INTO receipt SELECT principal, operation_id, operation, fingerprint, epoch, at, answer FROM laid;
    DROP TABLE laid;";

/// A store with its clock. Fields are dropped in this order.
pub struct World {
    pub driver: Box<dyn Driver>,
    pub clocks: Arc<StillClocks>,
    clock: FleetClock,
    faults: Option<Arc<Faults>>,
    _hold: Option<Hold>,
    _folder: Option<tempfile::TempDir>,
    _cluster: Option<Cluster>,
}

impl World {
    pub fn in_memory() -> Self {
        Self::on(Box::new(Sqlite::in_memory().expect("a database in memory")), None, None)
    }

    pub fn on_file() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let hold = hold(&folder.path().join("store")).expect("a new store");
        let driver = Sqlite::open(hold.database(), Role::Writer).expect("a database");
        Self::on(Box::new(driver), Some(hold), Some(folder))
    }

    /// A store in a PostgreSQL of its own.
    pub fn on_postgres() -> Self {
        let cluster = unflushed();
        let world = Self::in_schema(&cluster, "tenure");
        Self { _cluster: Some(cluster), ..world }
    }

    /// A store in a schema of its own, for as long as the cluster is there.
    pub fn in_schema(cluster: &Cluster, schema: &str) -> Self {
        let address =
            Address::parse(&format!("{}?schema={schema}", cluster.url()), None).expect("an address");
        let driver = Postgres::open(&address, Role::Writer).expect("a connection");
        Self::on(Box::new(driver), None, None)
    }

    pub fn on(mut driver: Box<dyn Driver>, hold: Option<Hold>, folder: Option<tempfile::TempDir>) -> Self {
        let clocks = StillClocks::new();
        let fleet = prepare(&mut *driver, &*clocks, || Ok("test".to_owned())).expect("a fleet");
        let clock = FleetClock::join(&fleet, &*clocks);
        Self { driver, clocks, clock, faults: None, _hold: hold, _folder: folder, _cluster: None }
    }

    /// A store whose calls fail as its faults say, from its founding on.
    pub fn with_faults(faults: &Arc<Faults>) -> Self {
        let mut driver = Failing::new(faults);
        let found = |driver: &mut dyn Driver| {
            prepare(driver, &*StillClocks::new(), || Ok("test".to_owned())).map(|_| ())
        };
        match faults.strike {
            Strike::Before => with_every_call_failing(&mut driver, faults, found),
            Strike::AfterCommit => with_a_lost_commit(&mut driver, faults, found),
        }
        .expect("a fleet");
        Self { faults: Some(faults.clone()), ..Self::on(Box::new(driver), None, None) }
    }

    /// Does something with the store; where calls fail, with each of them failing in turn.
    pub fn attempt<T>(
        &mut self,
        mut act: impl FnMut(&mut dyn Driver) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &self.faults {
            Some(faults) if faults.strike == Strike::Before => {
                with_every_call_failing(&mut *self.driver, faults, act)
            }
            Some(_) | None => act(&mut *self.driver),
        }
    }

    /// Runs commands in one transaction, as often as the faults of the store demand.
    fn commit(&mut self, commands: &[Command]) -> Result<Committed, StoreError> {
        let (clock, clocks) = (self.clock, self.clocks.clone());
        let run = |driver: &mut dyn Driver| {
            run_batch(driver, &clock, &*clocks, commands.to_vec(), None, Durations::default())
        };
        match &self.faults {
            // What leaves no receipt repeats its own condition and may answer otherwise.
            Some(faults) if faults.strike == Strike::AfterCommit && commands.iter().all(is_repeatable) => {
                with_a_lost_commit(&mut *self.driver, faults, run)
            }
            Some(_) | None => self.attempt(run),
        }
    }

    /// Joins the fleet anew, as a process does that starts.
    pub fn join(&mut self) {
        let fleet = prepare(&mut *self.driver, &*self.clocks, || Ok("another".to_owned())).expect("a fleet");
        self.clock = FleetClock::join(&fleet, &*self.clocks);
    }

    /// Stores what a working set holds, without a command.
    pub fn flush(&mut self, set: &WorkingSet) {
        let written = self.attempt(|driver| {
            driver.begin_write()?;
            flush(driver, set)?;
            driver.commit()
        });
        written.expect("flushed");
    }

    /// Runs commands in one batch.
    #[expect(clippy::needless_pass_by_value, reason = "a batch is made in its place and handed over")]
    pub fn batch(&mut self, commands: Vec<Command>) -> Result<Committed, StoreError> {
        let specs: Vec<Spec> = commands.iter().map(|command| command.operation.spec()).collect();
        let committed = self.commit(&commands)?;
        for (spec, answer) in specs.iter().zip(&committed.answers) {
            let told =
                answer.as_ref().err().is_none_or(|refusal| spec.all_refusals().contains(&refusal.code));
            assert!(told, "{} lacks {answer:?}", spec.name);
        }
        Ok(committed)
    }

    /// Runs one command in a batch of its own.
    pub fn run(&mut self, command: Command) -> Result<serde_json::Value, Refusal> {
        let mut answers = self.batch(vec![command]).expect("the store works").answers;
        answers.remove(0).map(|answer| serde_json::from_str(&answer).expect("answers are JSON"))
    }

    /// Runs one command that must be accepted.
    pub fn done(&mut self, command: Command) -> serde_json::Value {
        self.run(command).expect("accepted")
    }

    /// Runs one command that must be refused.
    pub fn refused(&mut self, command: Command) -> Code {
        self.run(command).expect_err("refused").code
    }

    /// Asks a question.
    pub fn asked(&mut self, operation: impl Into<AnyOperation>) -> Result<serde_json::Value, Refusal> {
        let wall = WallTime(self.clocks.wall_ms());
        let operation = operation.into();
        let answer =
            self.attempt(|driver| read(driver, &operation, &Envelope::default(), wall, Durations::default()));
        let answer = answer.expect("the store works")?;
        Ok(serde_json::from_str(&answer).expect("answers are JSON"))
    }

    /// Asks a question that must be answered.
    pub fn ask(&mut self, operation: impl Into<AnyOperation>) -> serde_json::Value {
        self.asked(operation).expect("answered")
    }

    /// A number that the store tells.
    pub fn number(&mut self, sql: &str) -> i64 {
        let mut number = None;
        self.driver
            .query(sql, &[], &mut |row| {
                number = row.integer(0)?;
                Ok(())
            })
            .expect("a question");
        number.expect("a number")
    }
}

/// A PostgreSQL for stores that need not survive a crash: its disk is not waited for.
pub fn unflushed() -> Cluster {
    Cluster::start(&["fsync=off", "synchronous_commit=on"]).expect("PostgreSQL")
}

fn is_repeatable(command: &Command) -> bool {
    command.operation.spec().access != Access::Coordinator
}

/// Runs a story on every kind of store: in memory, in a file, in PostgreSQL, and where every call fails once.
pub fn on_every_store(story: impl Fn(World)) {
    story(World::in_memory());
    story(World::on_file());
    story(World::on_postgres());
    for strike in [Strike::Before, Strike::AfterCommit] {
        let faults = Faults::new(strike);
        let world = World::with_faults(&faults);
        let founding = faults.struck();
        story(world);
        // A story that commands nothing has no commit whose repeat would be answered.
        assert!(
            founding > 0 && (faults.struck() > founding || strike == Strike::AfterCommit),
            "nothing failed"
        );
    }
}

static OPERATIONS: AtomicU64 = AtomicU64::new(1);

/// An operation id that no other test uses.
pub fn operation_id() -> OperationId {
    format!("op-{}", OPERATIONS.fetch_add(1, Relaxed)).parse().expect("valid")
}

/// An agent with a session's id and secret.
pub struct Agent {
    pub name: String,
    pub session: SessionId,
    pub secret: SessionSecret,
}

impl Agent {
    pub fn new(name: &str, seed: u8) -> Self {
        let session = format!("{seed:02x}").repeat(16).parse().expect("valid");
        Self { name: name.to_owned(), session, secret: SessionSecret::new([seed; 32]) }
    }

    /// Opens the agent's session.
    pub fn open(&self) -> Command {
        let operation = OpenSession {
            session: self.session.clone(),
            proof_hash: self.secret.session_proof().hash(),
            name: self.name.parse().expect("valid"),
            conversation: None,
            parent: None,
            harness: None,
            workstation: None,
            capabilities: Vec::new(),
        };
        let envelope = Envelope { operation_id: Some(operation_id()), ..Envelope::default() };
        Command { operation: operation.into(), envelope }
    }

    /// A command of this agent under a new operation id.
    pub fn command(&self, operation: impl Into<AnyOperation>) -> Command {
        let id = operation_id();
        let envelope = Envelope {
            caller: Some(Caller { session: self.session.clone(), proof: self.secret.session_proof() }),
            token_hash: Some(self.secret.lease_token(&id).hash()),
            operation_id: Some(id),
            ..Envelope::default()
        };
        Command { operation: operation.into(), envelope }
    }

    /// A command of this agent as the holder of an attempt that a claim gave.
    pub fn fenced(&self, operation: impl Into<AnyOperation>, claim: &serde_json::Value) -> Command {
        let mut command = self.command(operation);
        let attempt: AttemptId = text(claim, "attempt").parse().expect("an attempt");
        let claim: OperationId = text(claim, "claim_operation").parse().expect("an operation");
        command.envelope.fence = Some(Fence { attempt, token: self.secret.lease_token(&claim) });
        command.envelope.token_hash = None;
        command
    }
}

/// A text of an answer.
pub fn text<'a>(answer: &'a serde_json::Value, field: &str) -> &'a str {
    answer[field].as_str().unwrap_or_else(|| panic!("{field} is no text in {answer}"))
}

/// Reads an operation from its JSON, as every surface does.
pub fn operation(name: &str, input: serde_json::Value) -> AnyOperation {
    let entries = tenure_core::operation::catalog::entries();
    let entry = entries.iter().find(|entry| entry.spec.name == name).expect("a known operation");
    (entry.read)(input).expect("a valid input")
}

/// The calls of a [`Driver`](tenure_engine::store::driver::Driver) that a test's own driver does nothing about: they
/// go to its `inner` one.
macro_rules! pass_the_rest_on {
    () => {
        fn rollback(&mut self) -> Result<(), StoreError> {
            self.inner.rollback()
        }

        fn schema(&mut self) -> Result<u32, StoreError> {
            self.inner.schema()
        }

        fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
            self.inner.migrate(number, sql)
        }

        fn version(&mut self) -> Result<String, StoreError> {
            self.inner.version()
        }

        fn full_text(&self) -> &'static tenure_engine::store::search::FullText {
            self.inner.full_text()
        }
    };
}
pub(crate) use pass_the_rest_on;
