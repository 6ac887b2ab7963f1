//! PostgreSQL behind the seam. Nothing else names its client.
//!
//! The statements are those of SQLite. What differs: a write holds the fleet's row from its beginning, so all servers
//! of a fleet write one after another; and what needs no answer travels together with what does, since a round trip
//! costs more than a statement.

pub mod address;
pub mod checkup;
mod columns;
mod error;
mod foreseen;
mod growth;
mod presence;
mod value;
mod wire;

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::model::ids::EventNumber;
use tenure_core::working_set::News;
use tokio_postgres::{Column, Row, Statement};

use self::address::Address;
use self::error::Step;
use self::foreseen::Foreseen;
use self::growth::Growth;
use self::value::{Argument, PostgresRow};
use self::wire::{Request, Wire};
use super::driver::{Class, Driver, Each, Patience, Role, StoreError, Value};
use super::schema_known;
use super::search::{FullText, tsvector};
use super::shape::{Shape, State};

/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 512;

/// What every connection is told. A transaction whose server process stands still gives its lock back, and one whose host
/// has gone, since the database's kernel asks whether it is there.
const SETTINGS: &str = "\
    SET client_min_messages = warning; SET lock_timeout = '3500ms'; SET idle_in_transaction_session_timeout = '3s'; \
    SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2; \
    SET standard_conforming_strings = on; SET statement_timeout = 0; SET jit = off; SET default_statistics_target = 10";
/// Ends who has the fleet's row or leads it and has not said the rest of a question for three seconds: to the database it
/// is at work until it has, so none of its timeouts counts. Who only waits for the row waits for a lock and not for its
/// client.
const END_UNFINISHED: &str = "\
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) \
    WHERE datname = current_database() AND usename = current_user AND state = 'active' \
    AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - interval '3 seconds' AND ( \
        relation = 'fleet'::regclass AND mode = 'RowShareLock' \
        OR locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = hashtextextended(current_schema(), 2))";
/// What a writer is told. It asks something every second, so one that is silent stands still, and leads nobody. Each of
/// its statements was made with an index for it, which a planner that knows the tables from when they were small would
/// leave aside. A plan that holds for all values is planned once.
const WRITER: &str = "\
    SET default_transaction_read_only = off; SET idle_session_timeout = '10s'; SET tcp_user_timeout = '4s'; \
    SET random_page_cost = 1.1; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; \
    SET enable_mergejoin = off";
/// What a reader is told. Its questions differ: a plan that was made for any values can be several times slower than one
/// made for these.
const READER: &str = "SET default_transaction_read_only = on; SET plan_cache_mode = force_custom_plan";
/// How long a question may be worked on for which somebody waits: the database itself gives it up before they do. One that
/// may take its time says so within its transaction, with which that ends.
const BOUNDED: &str = "SET statement_timeout = '9s'";
const UNBOUNDED: &str = "SET statement_timeout = 0";

/// A connection to a PostgreSQL database.
pub struct Postgres {
    wire: Wire,
    schema: String,
    /// What tells this process's announcements from those of others.
    tag: String,
    role: Role,
    statements: HashMap<String, Statement>,
    /// How rows are written, by table.
    row_writes: HashMap<(&'static str, State), Statement>,
    foreseen: Foreseen,
    growth: Growth,
    is_leader: bool,
    is_within: bool,
}

/// Longest announcement, in bytes: PostgreSQL takes less than 8000.
const NOTIFICATION_BYTES_MAX: usize = 7_900;

/// An announcement, and whose it is.
#[derive(Serialize, Deserialize)]
struct Told {
    by: String,
    since: EventNumber,
    news: News,
}

/// What was announced of a commit.
#[derive(Debug)]
pub struct Heard {
    /// Whether it was this process's own.
    pub is_ours: bool,
    /// The last event before it.
    pub since: EventNumber,
    /// What it changed.
    pub news: News,
}

impl Postgres {
    /// Connects to the primary of a fleet's database. A schema of a newer version is refused before anything is written. Who
    /// may write serves the schema, which nobody copies meanwhile.
    pub fn open(address: &Address, role: Role) -> Result<Self, StoreError> {
        let mut postgres = Self::reach(address, role)?;
        if role == Role::Writer && !postgres.is_present()? {
            return Err(StoreError::new(Class::Busy, "the store is being copied"));
        }
        Ok(postgres)
    }

    /// The same for who must be alone with a schema; nothing where somebody serves it. What it asks for may take its time.
    pub fn open_alone(address: &Address, role: Role) -> Result<Option<Self>, StoreError> {
        let mut postgres = Self::reach(address, role)?;
        postgres.set_patience(Patience::Unbounded);
        Ok(postgres.is_alone()?.then_some(postgres))
    }

    fn reach(address: &Address, role: Role) -> Result<Self, StoreError> {
        let mut postgres = match address.hosts().as_slice() {
            [_] => Self::connect(address, role)?,
            hosts => Self::connect_to_newest(hosts, role)?,
        };
        let (schema, known) = (postgres.schema()?, schema_known());
        if schema > known {
            let detail = format!("the store has schema {schema}, this version knows {known}");
            return Err(StoreError::new(Class::NewerSchema, detail));
        }
        Ok(postgres)
    }

    /// Of several hosts that can be written to, the one that was promoted last: a primary that was replaced and came back
    /// has an older timeline.
    fn connect_to_newest(hosts: &[Address], role: Role) -> Result<Self, StoreError> {
        let mut newest: Option<(i64, Self)> = None;
        let mut failed = None;
        for host in hosts {
            let found = Self::connect(host, role).and_then(|mut found| Ok((found.timeline()?, found)));
            match found {
                Ok(found) if newest.as_ref().is_none_or(|(timeline, _)| found.0 > *timeline) => {
                    newest = Some(found);
                }
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        let none = || StoreError::new(Class::Io, "no host can be written to");
        newest.map(|(_, found)| found).ok_or_else(|| failed.unwrap_or_else(none))
    }

    /// How often the cluster's primary was replaced before this server became it.
    fn timeline(&mut self) -> Result<i64, StoreError> {
        let mut timeline = 0;
        // The first eight hexadecimal digits of a file of the log name its timeline.
        let sql = "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint";
        self.query(sql, &[], &mut |row| {
            timeline = row.integer(0)?.unwrap_or_default();
            Ok(())
        })?;
        Ok(timeline)
    }

    fn connect(address: &Address, role: Role) -> Result<Self, StoreError> {
        let wire = Wire::connect(address)?;
        let mut postgres = Self {
            wire,
            schema: address.schema.clone(),
            tag: address.tag.clone(),
            role,
            statements: HashMap::new(),
            row_writes: HashMap::new(),
            foreseen: Foreseen::default(),
            growth: Growth::default(),
            is_leader: false,
            is_within: false,
        };
        postgres.settings()?;
        Ok(postgres)
    }

    fn settings(&mut self) -> Result<(), StoreError> {
        let path = format!("SET search_path = \"{}\"", self.schema);
        let own = match self.role {
            Role::Writer => WRITER,
            Role::Reader => READER,
        };
        [SETTINGS, own, &path].into_iter().for_each(|sql| self.later(sql));
        if self.role == Role::Reader {
            self.later(BOUNDED);
        }
        // What a server calls committed may be more than what a flush makes so, never less.
        if !matches!(&*self.setting("synchronous_commit")?, "on" | "remote_apply" | "remote_write") {
            self.later("SET synchronous_commit = on");
        }
        self.wire.finish(Step::Before).map(drop)
    }

    /// The value of one of the server's settings.
    pub fn setting(&mut self, name: &str) -> Result<String, StoreError> {
        let mut found = String::new();
        self.query("SELECT current_setting($1)", &[Value::Text(name.into())], &mut |row| {
            found = row.text(0)?.unwrap_or_default().to_owned();
            Ok(())
        })?;
        Ok(found)
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        // What a statement names must be there already, and a migration makes it.
        self.wire.finish(Step::Before)?;
        if self.statements.len() >= STATEMENTS {
            self.statements.clear();
        }
        let statement = self.wire.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The statement that writes rows of a table, given as a list for each column.
    fn row_write(&mut self, shape: &Shape, state: State) -> Result<Statement, StoreError> {
        if let Some(statement) = self.row_writes.get(&(shape.table(), state)) {
            return Ok(statement.clone());
        }
        let found = self.prepared(&shape.select())?;
        let source = columns::source(found.columns().iter().map(Column::type_));
        let statement = self.prepared(&shape.write_from(state, &source))?;
        self.row_writes.insert((shape.table(), state), statement.clone());
        Ok(statement)
    }

    /// The answer to a question that was foreseen, asked now with all others if it was not yet.
    fn foreseen_rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<Vec<Row>>, StoreError> {
        let Some(place) = self.foreseen.place(sql, values) else { return Ok(None) };
        if let Some(rows) = self.foreseen.answer(place) {
            return Ok(Some(rows));
        }
        let questions = self.foreseen.unanswered().map(|question| (&question.statement, &*question.values));
        let answers = self.wire.ask_all(questions)?;
        self.foreseen.answered(answers);
        Ok(self.foreseen.answer(place))
    }

    fn later(&mut self, sql: impl Into<String>) {
        self.wire.later(Request::Plain(sql.into()));
    }

    fn begin(&mut self, sql: &str) {
        self.later(sql);
        self.is_within = true;
    }

    /// Hears from here on what the fleet's other servers announce.
    pub fn listen(&mut self) -> Result<(), StoreError> {
        self.later(format!("LISTEN \"{}\"", self.schema));
        self.wire.finish(Step::Before).map(drop)
    }

    /// Waits for the announcement of a commit, at most so long. One that this version cannot read is none.
    pub fn heard(&mut self, within: Duration) -> Result<Option<Heard>, StoreError> {
        let payload = self.wire.notified(within)?;
        let told = payload.and_then(|payload| serde_json::from_str::<Told>(&payload).ok());
        Ok(told.map(|Told { by, since, news }| Heard { is_ours: by == self.tag, since, news }))
    }

    /// The steps by which the database would answer a question with these values, for tests of its plans.
    pub fn plan(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<String>, StoreError> {
        let mut steps = Vec::new();
        self.query(&format!("EXPLAIN (COSTS OFF) {sql}"), values, &mut |row| {
            steps.push(row.text(0)?.unwrap_or_default().to_owned());
            Ok(())
        })?;
        Ok(steps)
    }
}

impl Driver for Postgres {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        // Not a snapshot of the transaction's beginning: what is read under the lock is what the last holder left.
        self.begin("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT 1 FROM fleet FOR UPDATE");
        Ok(())
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        Ok(())
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.write(sql, values, None)?;
        self.wire.finish(Step::Before)
    }

    fn write(&mut self, sql: &str, values: &[Value<'_>], rows: Option<u64>) -> Result<(), StoreError> {
        let statement = self.prepared(sql)?;
        self.foreseen.forget();
        self.wire.later(Request::Write { statement, values: Argument::all(values), rows });
        Ok(())
    }

    fn write_rows(&mut self, shape: &Shape, state: State, values: &[Value<'_>]) -> Result<(), StoreError> {
        if values.is_empty() {
            return Ok(());
        }
        let statement = self.row_write(shape, state)?;
        self.growth.note(shape.table(), values.len());
        self.foreseen.forget();
        let width = shape.columns().len();
        for part in values.chunks(columns::ROWS_MAX * width) {
            let (statement, values) = (statement.clone(), columns::lists(part, width));
            let rows = Some((part.len() / width) as u64);
            self.wire.later(Request::Write { statement, values, rows });
        }
        Ok(())
    }

    fn is_far(&self) -> bool {
        true
    }

    fn foresee(&mut self, sql: &str, values: &[Value<'_>]) -> Result<(), StoreError> {
        let statement = self.prepared(sql)?;
        self.foreseen.note(sql, statement, values);
        Ok(())
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        if let Some(rows) = self.foreseen_rows(sql, values)? {
            return rows.iter().try_for_each(|row| each(&PostgresRow(row)));
        }
        let statement = self.prepared(sql)?;
        self.wire.ask((&statement, &Argument::all(values)), each)
    }

    fn announce(&mut self, news: &News, since: EventNumber) -> Result<(), StoreError> {
        let told = Told { by: self.tag.clone(), since, news: news.clone() };
        let mut payload = serde_json::to_string(&told).expect("news is plain data and always serialises");
        if payload.len() > NOTIFICATION_BYTES_MAX {
            let told = Told { news: News::vague(news.event), ..told };
            payload = serde_json::to_string(&told).expect("news is plain data and always serialises");
        }
        let values = [Value::Text(self.schema.clone().into()), Value::Text(payload.into())];
        self.write("SELECT pg_notify($1, $2)", &values, None)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.wire.warning();
        self.foreseen.forget();
        self.later("COMMIT");
        self.wire.finish(Step::Commit)?;
        self.is_within = false;
        // A commit whose wait for the standby was cut short is told as a success with a warning.
        match self.wire.warning() {
            Some(warning) => Err(error::lost(Step::Commit, warning)),
            None => Ok(()),
        }
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.wire.forget();
        self.foreseen.forget();
        if std::mem::take(&mut self.is_within) {
            self.later("ROLLBACK");
            if self.wire.waited_in_vain() {
                self.later(END_UNFINISHED);
            }
            self.wire.finish(Step::Before)?;
        }
        Ok(())
    }

    fn set_patience(&mut self, patience: Patience) {
        self.wire.set_patience(patience);
        match patience {
            Patience::Bounded => self.later(BOUNDED),
            Patience::Unbounded => self.later(UNBOUNDED),
        }
    }

    fn can_be_lost(&self) -> bool {
        true
    }

    fn moves_what_an_update_mentions(&self) -> bool {
        false
    }

    fn cannot_hold(&self, text: &str) -> bool {
        text.contains('\0')
    }

    fn full_text(&self) -> &'static FullText {
        &tsvector::FULL_TEXT
    }

    fn schema(&mut self) -> Result<u32, StoreError> {
        let mut is_there = false;
        let named = [Value::Text(format!("{}.migration", self.schema).into())];
        self.query("SELECT 1 WHERE to_regclass($1) IS NOT NULL", &named, &mut |_| {
            is_there = true;
            Ok(())
        })?;
        let mut number = 0;
        if is_there {
            self.query("SELECT max(number) FROM migration", &[], &mut |row| {
                number = row.integer(0)?.unwrap_or_default();
                Ok(())
            })?;
        }
        u32::try_from(number).map_err(|_| StoreError::corrupt(format!("the schema's number is {number}")))
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        let schema = &self.schema;
        self.begin(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(hashtextextended('{schema}', 0)); \
             CREATE SCHEMA IF NOT EXISTS \"{schema}\"; \
             CREATE TABLE IF NOT EXISTS migration (number BIGINT NOT NULL PRIMARY KEY)"
        ));
        self.wire.finish(Step::Before).map(drop)
    }

    fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
        let own = OWN_MIGRATIONS.iter().find(|(of, _)| *of == number).map(|(_, own)| own);
        let sql = match own {
            Some(Own::Instead(own)) => (*own).to_owned(),
            Some(Own::Beside(own)) => format!("{}{own}", translated(sql)),
            None => translated(sql),
        };
        self.later(sql);
        self.later(format!("INSERT INTO migration VALUES ({number})"));
        self.wire.finish(Step::Before).map(drop)
    }

    fn leads(&mut self) -> Result<bool, StoreError> {
        if !self.is_leader {
            let key = [Value::Text(self.schema.clone().into())];
            let mut is_leader = false;
            // Let go of with the connection, also by a server that is killed or stands still.
            let sql = "SELECT 1 WHERE pg_try_advisory_lock(hashtextextended($1, 2))";
            self.query(sql, &key, &mut |_| {
                is_leader = true;
                Ok(())
            })?;
            self.is_leader = is_leader;
            if !is_leader {
                self.later(END_UNFINISHED);
            }
        }
        Ok(self.is_leader)
    }

    fn upkeep(&mut self) -> Result<(), StoreError> {
        for table in self.growth.outgrown() {
            self.later(format!("ANALYZE {table}"));
        }
        self.wire.finish(Step::Before).map(drop)
    }

    fn version(&mut self) -> Result<String, StoreError> {
        let version = self.setting("server_version")?;
        Ok(format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default()))
    }
}

/// What a migration does here beside its shared statements, or instead of them.
enum Own {
    Beside(&'static str),
    Instead(&'static str),
}

const OWN_MIGRATIONS: &[(u32, Own)] = &[
    (3, Own::Beside(include_str!("../migrations/0003.postgres.sql"))),
    (4, Own::Instead(include_str!("../migrations/0004.postgres.sql"))),
];

/// A migration's shared statements with the types of this database. How SQLite lays out a table has no meaning here.
fn translated(sql: &str) -> String {
    let line = |line: &str| {
        let statement = line.split("--").next().unwrap_or_default();
        statement
            .replace(") STRICT, WITHOUT ROWID;", ");")
            .replace(") STRICT;", ");")
            .replace(" INTEGER", " BIGINT")
            .replace(" TEXT", " TEXT COLLATE \"C\"")
    };
    sql.lines().map(line).fold(String::new(), |text, line| text + &line + "\n")
}
