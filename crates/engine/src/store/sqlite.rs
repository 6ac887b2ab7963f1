//! SQLite behind the seam. Nothing else names its library.
//!
//! Every connection gets the same settings and checks that they took effect: write-ahead log, a flush at every
//! commit, foreign keys, no memory mapping. The writer's connection copies the log back into the database between
//! commits and when it ends; readers are opened without the right to write and so never do.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

pub use super::driver::Role;
use super::driver::{Class, Driver, Each, Row, StoreError, Value};
use super::folder::Hold;
use super::schema_known;
use super::search::{FullText, fts5};

/// How long a connection waits for a lock that another one holds for a moment.
const BUSY: Duration = Duration::from_secs(5);
/// Pages kept in memory, in KiB (SQLite counts KiB as negative numbers). The kernel keeps the others at hand; and after
/// most commits SQLite walks through all that it keeps: with 32 MiB a claim took a seventh more of the processor.
const CACHE_KIB: i64 = 4 * 1024;
/// Pages in the log before the writer copies them back. Fewer cost scattered writes, more cost long pauses.
const CHECKPOINT_PAGES: i64 = 2_000;
/// What the log may keep of the disk after it was copied back. It grows beyond that only as long as somebody reads in it.
pub const LOG_BYTES: i64 = 64 * 1024 * 1024;
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 512;

/// What a migration does beside its shared statements, by its number: what only SQLite has.
const OWN_MIGRATIONS: &[(u32, &str)] = &[(3, include_str!("migrations/0003.sqlite.sql"))];

/// A connection to a SQLite database.
pub struct Sqlite {
    connection: Connection,
    /// The files that it should still be writing to.
    hold: Option<Arc<Hold>>,
    /// Whether a migration goes on, in which references are not checked one by one.
    is_migrating: bool,
}

impl Sqlite {
    /// Opens a database file that exists. A store of a newer version is refused before anything is written.
    pub fn open(path: &Path, role: Role) -> Result<Self, StoreError> {
        let access = match role {
            Role::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Role::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(path, flags).map_err(error)?;
        let mut sqlite = Self { connection, hold: None, is_migrating: false };
        // The log is emptied by `settle` and stays the same file for as long as the store is open.
        let kept = sqlite.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        if !kept.map_err(error)? {
            return Err(StoreError::new(Class::Other, "the log goes with its last connection"));
        }
        sqlite.connection.busy_timeout(BUSY).map_err(error)?;
        sqlite.refuse_newer()?;
        sqlite.set_text("journal_mode", "wal", "wal")?;
        sqlite.settings(role)?;
        Ok(sqlite)
    }

    /// Opens a database file that nobody else has open, only to read it, and checks that every page of it is whole.
    pub fn open_whole(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(path, flags).map_err(error)?;
        let mut sqlite = Self { connection, hold: None, is_migrating: false };
        sqlite.refuse_newer()?;
        sqlite.settings(Role::Reader)?;
        let found: String =
            sqlite.connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).map_err(error)?;
        if found == "ok" { Ok(sqlite) } else { Err(StoreError::corrupt(found)) }
    }

    fn refuse_newer(&mut self) -> Result<(), StoreError> {
        let (schema, known) = (self.schema()?, schema_known());
        if schema <= known {
            return Ok(());
        }
        let detail = format!("the store has schema {schema}, this version knows {known}");
        Err(StoreError::new(Class::NewerSchema, detail))
    }

    /// A database in memory that ends with its connection, for tests and simulation.
    pub fn in_memory() -> Result<Self, StoreError> {
        let connection = Connection::open_in_memory().map_err(error)?;
        let sqlite = Self { connection, hold: None, is_migrating: false };
        sqlite.settings(Role::Writer)?;
        Ok(sqlite)
    }

    /// Lets every commit check that the files are still in their places.
    #[must_use]
    pub fn held_by(mut self, hold: Arc<Hold>) -> Self {
        self.hold = Some(hold);
        self
    }

    fn settings(&self, role: Role) -> Result<(), StoreError> {
        // Without it a statement that compares a range is planned anew whenever other values are bound to it.
        let stable = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true);
        if !stable.map_err(error)? {
            return Err(StoreError::new(Class::Other, "plans follow the values that are bound"));
        }
        self.set("synchronous", 2)?;
        self.set("foreign_keys", 1)?;
        self.set("cache_size", -CACHE_KIB)?;
        self.set("temp_store", 2)?;
        self.set("trusted_schema", 0)?;
        match role {
            Role::Writer => {
                self.set("wal_autocheckpoint", CHECKPOINT_PAGES)?;
                self.set("journal_size_limit", LOG_BYTES)?;
            }
            Role::Reader => self.set("query_only", 1)?,
        }
        // A database in memory has no file to map and answers nothing here.
        let mapped =
            self.connection.pragma_update_and_check(None, "mmap_size", 0, |row| row.get::<_, i64>(0));
        if !matches!(mapped, Ok(0) | Err(rusqlite::Error::QueryReturnedNoRows)) {
            return Err(StoreError::new(Class::Other, format!("mmap_size is {mapped:?}")));
        }
        self.connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(())
    }

    fn set(&self, pragma: &str, value: i64) -> Result<(), StoreError> {
        self.connection.pragma_update(None, pragma, value).map_err(error)?;
        let found: i64 = self.connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(error)?;
        if found == value {
            Ok(())
        } else {
            Err(StoreError::new(Class::Other, format!("{pragma} is {found}, not {value}")))
        }
    }

    fn set_text(&self, pragma: &str, value: &str, expected: &str) -> Result<(), StoreError> {
        let set = self.connection.pragma_update_and_check(None, pragma, value, |row| row.get(0));
        let found: String = set.map_err(error)?;
        if found == expected {
            Ok(())
        } else {
            Err(StoreError::new(Class::Other, format!("{pragma} is {found}, not {expected}")))
        }
    }

    /// Whether every reference of every table leads somewhere.
    fn check_references(&self) -> Result<(), StoreError> {
        let mut check = self.connection.prepare("PRAGMA foreign_key_check").map_err(error)?;
        let first = check.query([]).and_then(|mut rows| rows.next()?.map(|row| row.get(0)).transpose());
        let lost: Option<String> = first.map_err(error)?;
        match lost {
            Some(table) => Err(StoreError::corrupt(format!("a row of {table} refers to nothing"))),
            None => Ok(()),
        }
    }

    fn end_migration(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.is_migrating) { self.set("foreign_keys", 1) } else { Ok(()) }
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.raw_execute())
            .map_err(error)?;
        Ok(())
    }

    fn bound(&self, sql: &str, values: &[Value<'_>]) -> Result<rusqlite::CachedStatement<'_>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(error)?;
        debug_assert_eq!(statement.parameter_count(), values.len(), "{sql}");
        for (index, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, value).map_err(error)?;
        }
        Ok(statement)
    }

    /// The steps by which the database would answer a question, for tests of its plans.
    pub fn plan(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).map_err(error)?;
        let mut rows = statement.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().map_err(error)? {
            steps.push(row.get(3).map_err(error)?);
        }
        Ok(steps)
    }
}

impl Driver for Sqlite {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.run("BEGIN IMMEDIATE")
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.set("foreign_keys", 0)?;
        self.is_migrating = true;
        let begun = self.begin_write();
        if begun.is_err() {
            self.end_migration()?;
        }
        begun
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.run("BEGIN")
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let changed = self.bound(sql, values)?.raw_execute().map_err(error)?;
        Ok(changed as u64)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        let mut statement = self.bound(sql, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(error)? {
            each(&SqliteRow(row))?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.is_migrating {
            self.check_references()?;
        }
        self.run("COMMIT").map_err(|error| match error.class {
            Class::Io => StoreError::new(Class::Sync, error.detail),
            Class::Busy
            | Class::Full
            | Class::ReadOnly
            | Class::Corrupt
            | Class::NewerSchema
            | Class::Lost
            | Class::Sync
            | Class::Other => error,
        })?;
        self.end_migration()?;
        match &self.hold {
            Some(hold) if !hold.is_intact() => {
                // If only the log was taken away, this saves what it holds.
                let _ = self.settle();
                Err(StoreError::new(Class::Sync, "the database or its log was deleted or replaced"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        let busy = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        match busy.map_err(error)? {
            0_i64 => Ok(()),
            _ => Err(StoreError::new(Class::Busy, "a question still reads from the log")),
        }
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        if !self.connection.is_autocommit() {
            self.run("ROLLBACK")?;
        }
        self.end_migration()
    }

    fn backup(&mut self, into: &Path) -> Result<(), StoreError> {
        let into = into.to_str().ok_or_else(|| StoreError::new(Class::Other, "the path is no text"))?;
        // A connection that only reads writes nothing here either: the other file is not the store.
        let only: i64 =
            self.connection.pragma_query_value(None, "query_only", |row| row.get(0)).map_err(error)?;
        self.set("query_only", 0)?;
        let copied = self.connection.execute("VACUUM INTO ?1", [into]).map_err(error);
        self.set("query_only", only)?;
        copied.map(|_| ())
    }

    fn full_text(&self) -> &'static FullText {
        &fts5::FULL_TEXT
    }

    fn schema(&mut self) -> Result<u32, StoreError> {
        self.connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(error)
    }

    fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError> {
        let own = OWN_MIGRATIONS.iter().filter(|(of, _)| *of == number).map(|(_, sql)| *sql);
        for sql in std::iter::once(sql).chain(own) {
            self.connection.execute_batch(sql).map_err(error)?;
        }
        self.connection.pragma_update(None, "user_version", number).map_err(error)
    }

    fn version(&mut self) -> Result<String, StoreError> {
        Ok(format!("SQLite {}", rusqlite::version()))
    }
}

struct SqliteRow<'a>(&'a rusqlite::Row<'a>);

impl SqliteRow<'_> {
    fn wrong(column: usize, found: ValueRef<'_>) -> StoreError {
        StoreError::corrupt(format!("column {} holds a value of type {}", column + 1, found.data_type()))
    }
}

impl Row for SqliteRow<'_> {
    fn integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0.get_ref(column).map_err(error)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(integer) => Ok(Some(integer)),
            other @ (ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_)) => {
                Err(Self::wrong(column, other))
            }
        }
    }

    fn text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.0.get_ref(column).map_err(error)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => std::str::from_utf8(bytes)
                .map(Some)
                .map_err(|_| StoreError::corrupt(format!("column {} is not UTF-8", column + 1))),
            other @ (ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_)) => {
                Err(Self::wrong(column, other))
            }
        }
    }

    fn value(&self, column: usize) -> Result<Value<'_>, StoreError> {
        match self.0.get_ref(column).map_err(error)? {
            ValueRef::Null => Ok(Value::Null),
            ValueRef::Integer(integer) => Ok(Value::Integer(integer)),
            ValueRef::Text(_) => Ok(self.text(column)?.map_or(Value::Null, |text| Value::Text(text.into()))),
            other @ (ValueRef::Real(_) | ValueRef::Blob(_)) => Err(Self::wrong(column, other)),
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Null => ValueRef::Null,
        }))
    }
}

// By value, so that it can be given to `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn error(error: rusqlite::Error) -> StoreError {
    let class = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Class::Busy,
        Some(ErrorCode::DiskFull) => Class::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Class::ReadOnly,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Class::Corrupt,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Class::Io,
        _ => Class::Other,
    };
    StoreError::new(class, error.to_string())
}
