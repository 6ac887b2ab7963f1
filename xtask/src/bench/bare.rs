//! The peer of the claims: a loop over the database and nothing else, which runs the statements that the product ran,
//! with the same values, in the same groups.
//!
//! The statements are not copied out by hand: a [`Tape`] records what the engine does on a copy of the store, and
//! another copy of the same state plays it. So the bare loop follows the product when that changes, and what is
//! measured beside it is everything that the product adds: HTTP, JSON, the rules, and the driver's own care.

use std::collections::BTreeMap;
use std::mem::take;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Statement};
use tenure_engine::store::driver::{Driver, Each, StoreError, Value};
use tenure_engine::store::search::FullText;
use tenure_engine::store::sqlite::Sqlite;

/// What the engine asked of the database, in order.
#[derive(Default)]
pub struct Tape {
    numbers: BTreeMap<String, usize>,
    steps: Vec<Step>,
}

struct Step {
    statement: usize,
    values: Vec<Value<'static>>,
}

impl Tape {
    fn note(&mut self, sql: &str, values: &[Value<'_>]) {
        let next = self.numbers.len();
        let statement = match self.numbers.get(sql) {
            Some(number) => *number,
            None => *self.numbers.entry(sql.to_owned()).or_insert(next),
        };
        self.steps.push(Step { statement, values: values.iter().map(kept).collect() });
    }

    /// How many statements it holds.
    pub fn len(&self) -> usize {
        self.steps.len()
    }
}

fn kept(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Integer(integer) => Value::Integer(*integer),
        Value::Text(text) => Value::Text(text.to_string().into()),
        Value::Null => Value::Null,
    }
}

/// The product's own driver, and a tape of what goes through it.
pub struct Recorder {
    inner: Sqlite,
    tape: Tape,
}

impl Recorder {
    /// Records what is asked of this connection.
    pub fn new(inner: Sqlite) -> Self {
        Self { inner, tape: Tape::default() }
    }

    /// The tape since the last time.
    pub fn take(&mut self) -> Tape {
        take(&mut self.tape)
    }
}

impl Driver for Recorder {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.tape.note("BEGIN IMMEDIATE", &[]);
        self.inner.begin_write()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.inner.begin_migration()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.tape.note("BEGIN", &[]);
        self.inner.begin_read()
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.tape.note(sql, values);
        self.inner.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.tape.note(sql, values);
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.tape.note("COMMIT", &[]);
        self.inner.commit()
    }

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

    fn full_text(&self) -> &'static FullText {
        self.inner.full_text()
    }
}

/// What decides how a connection works, as SQLite itself tells it of the product's.
const PRAGMAS: [&str; 8] = [
    "synchronous",
    "foreign_keys",
    "cache_size",
    "temp_store",
    "trusted_schema",
    "wal_autocheckpoint",
    "mmap_size",
    "busy_timeout",
];

/// The settings of the product's connection.
pub struct Settings(Vec<(&'static str, i64)>);

impl Settings {
    /// Asks the product's connection.
    pub fn of(driver: &mut dyn Driver) -> Result<Self, String> {
        let mut settings = Vec::new();
        for name in PRAGMAS {
            let mut found = None;
            let each: &mut Each<'_> = &mut |row| {
                found = row.integer(0)?;
                Ok(())
            };
            driver.query(&format!("PRAGMA {name}"), &[], each).map_err(|error| error.to_string())?;
            settings.push((name, found.ok_or_else(|| format!("the product's connection tells no {name}"))?));
        }
        Ok(Self(settings))
    }

    /// A connection with the same settings, to a file that exists or to a new one.
    pub fn open(&self, path: &Path) -> Result<Connection, String> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).map_err(failed)?;
        // No pragma tells of this one; without it some statements would be planned anew at every run.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
        for (name, value) in &self.0 {
            connection.pragma_update(None, name, value).map_err(failed)?;
            let found: i64 = connection.pragma_query_value(None, name, |row| row.get(0)).map_err(failed)?;
            if found != *value {
                return Err(format!("the bare loop's {name} is {found}, the product's {value}"));
            }
        }
        Ok(connection)
    }

    /// How durable a commit is, in the database's words.
    pub fn durability(&self) -> Result<&'static str, String> {
        match self.0.iter().find(|(name, _)| *name == "synchronous") {
            Some((_, 2)) => Ok("write-ahead log, synchronous=FULL: a flush at every commit"),
            other => Err(format!("the product does not flush at every commit: {other:?}")),
        }
    }
}

/// What went wrong in the database of the bare loop.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub fn failed(error: rusqlite::Error) -> String {
    format!("the bare loop: {error}")
}

/// Plays a tape and says how long it took. The statements are prepared beforehand and every column of every row is
/// looked at.
pub fn play(connection: &Connection, tape: &Tape) -> Result<Duration, String> {
    let mut texts = vec![""; tape.numbers.len()];
    for (sql, number) in &tape.numbers {
        texts[*number] = sql;
    }
    let prepared: rusqlite::Result<Vec<Statement<'_>>> =
        texts.into_iter().map(|sql| connection.prepare(sql)).collect();
    let mut statements = prepared.map_err(failed)?;
    let begun = Instant::now();
    for step in &tape.steps {
        run(&mut statements[step.statement], &step.values).map_err(failed)?;
    }
    Ok(begun.elapsed())
}

fn run(statement: &mut Statement<'_>, values: &[Value<'static>]) -> rusqlite::Result<()> {
    for (index, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, value)?;
    }
    let columns = statement.column_count();
    if columns == 0 {
        statement.raw_execute()?;
        return Ok(());
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_on_one_database_plays_alike_on_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let schema = "CREATE TABLE a (b TEXT NOT NULL PRIMARY KEY, c INTEGER) STRICT";
        let (one, other) = (folder.path().join("one.db"), folder.path().join("other.db"));
        for path in [&one, &other] {
            Connection::open(path).and_then(|new| new.execute_batch(schema)).expect("a new database");
        }
        let role = tenure_engine::store::sqlite::Role::Writer;
        let mut recorder = Recorder::new(Sqlite::open(&one, role).expect("a database"));
        let settings = Settings::of(&mut recorder.inner).expect("settings");
        recorder.begin_write().expect("a write");
        let row = [Value::Text("x".into()), Value::Integer(7)];
        recorder.execute("INSERT INTO a (b, c) VALUES ($1, $2)", &row).expect("a row");
        recorder.commit().expect("a commit");
        let tape = recorder.take();
        assert_eq!((tape.len(), recorder.take().len()), (3, 0));

        let connection = settings.open(&other).expect("the same settings");
        play(&connection, &tape).expect("the same statements");
        let c: i64 =
            connection.query_row("SELECT c FROM a WHERE b = 'x'", [], |row| row.get(0)).expect("a row");
        assert_eq!(c, 7);
        assert!(settings.durability().is_ok());
        play(&connection, &tape).expect_err("the key is there already");
    }
}
