//! The seam between the store's statements and the database that runs them.
//!
//! Statements are written once, in the file of their noun, in the SQL that SQLite and PostgreSQL share. What
//! differs between the two stands behind [`Driver`]; no other file knows which database runs.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use tenure_core::model::ids::EventNumber;
use tenure_core::working_set::News;

use super::search::FullText;
use super::shape::{Shape, State, in_sizes};

/// A value of a statement. Placeholders are `$1`, `$2` … in the order in which they first appear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number, a flag or a time in milliseconds.
    Integer(i64),
    /// A text, an id or JSON.
    Text(Cow<'a, str>),
    /// Nothing.
    Null,
}

impl Value<'_> {
    /// The same, kept.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Integer(integer) => Value::Integer(integer),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Null => Value::Null,
        }
    }
}

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read and write; each process that serves a store has one.
    Writer,
    /// Only read.
    Reader,
}

/// How long a database may take for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As long as somebody waits who wants to hear something. Then the connection counts as lost.
    Bounded,
    /// Any time, as long as the connection stands.
    Unbounded,
}

/// A connection to the database of a store.
pub trait Driver: Send {
    /// Begins a transaction that holds the fleet's writer lock from here on.
    fn begin_write(&mut self) -> Result<(), StoreError>;

    /// Begins a transaction that sees one committed state.
    fn begin_read(&mut self) -> Result<(), StoreError>;

    /// Whether a question costs more than its answer, so that several are better asked at once.
    fn is_far(&self) -> bool {
        false
    }

    /// Says that a question will be asked in this transaction before anything is written. A database across a network is
    /// asked all that is foreseen together, at the first of these questions.
    fn foresee(&mut self, _sql: &str, _values: &[Value<'_>]) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs a statement and says how many rows it changed.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;

    /// Runs a statement that must change so many rows, if that is known. A database across a network may send it
    /// with the next request that needs an answer, and tell then that it failed: with the commit at the latest.
    fn write(&mut self, sql: &str, values: &[Value<'_>], rows: Option<u64>) -> Result<(), StoreError> {
        let changed = self.execute(sql, values)?;
        match rows {
            Some(rows) if rows != changed => {
                Err(StoreError::corrupt(format!("{changed} rows were changed, not {rows}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Writes rows of a table whose values stand one after the other, as [`Driver::write`] would.
    fn write_rows(&mut self, shape: &Shape, state: State, values: &[Value<'_>]) -> Result<(), StoreError> {
        in_sizes(values, shape.columns().len(), |rows, values| {
            self.write(shape.write(state, rows), values, Some(rows as u64))
        })
    }

    /// Runs a question and hands over each row.
    fn query(&mut self, sql: &str, values: &[Value<'_>], each: &mut Each<'_>) -> Result<(), StoreError>;

    /// Lets other processes that serve the same store know what this transaction changes after the event `since`, once it
    /// is durable. A hint: what is lost of it, a look from time to time finds.
    fn announce(&mut self, _news: &News, _since: EventNumber) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes the transaction durable. After an error of class [`Class::Lost`] or [`Class::Sync`] nobody knows
    /// whether it happened.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Drops the transaction, if there is one.
    fn rollback(&mut self) -> Result<(), StoreError>;

    /// Moves what a log beside the database holds into the database, so that its file alone is the whole store.
    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Whether the background work is this process's to do, of all that serve the store. Nothing is wrong if two believe so
    /// for a moment: each write of it repeats its condition.
    fn leads(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// What a database wants done now and then outside of transactions, so that its answers stay fast.
    fn upkeep(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes the last committed state into an empty file of its own, while others go on writing to the store.
    fn backup(&mut self, into: &Path) -> Result<(), StoreError> {
        let detail = format!("this database cannot be copied into {}", into.display());
        Err(StoreError::new(Class::Other, detail))
    }

    /// Says how long each answer may take from now on. What is asked of a file is answered.
    fn set_patience(&mut self, _patience: Patience) {}

    /// Whether the connection may end while the store goes on elsewhere, so that a lost one is worth another.
    fn can_be_lost(&self) -> bool {
        false
    }

    /// Whether an update moves a row in every index whose columns it mentions, also where nothing changes.
    fn moves_what_an_update_mentions(&self) -> bool {
        true
    }

    /// Whether this database has no place for a text.
    fn cannot_hold(&self, _text: &str) -> bool {
        false
    }

    /// How this database finds words in texts.
    fn full_text(&self) -> &'static FullText;

    /// The number of the last migration that the store has seen; 0 for an empty one.
    fn schema(&mut self) -> Result<u32, StoreError>;

    /// Begins a write whose migrations may build tables anew that others refer to: whether every reference leads somewhere
    /// is checked at the commit.
    fn begin_migration(&mut self) -> Result<(), StoreError>;

    /// Runs a migration's statements and notes its number, within the present transaction.
    fn migrate(&mut self, number: u32, sql: &str) -> Result<(), StoreError>;

    /// The database's name and version, for people.
    fn version(&mut self) -> Result<String, StoreError>;
}

/// What is done with each row of an answer.
pub type Each<'a> = dyn FnMut(&dyn Row) -> Result<(), StoreError> + 'a;

/// One row of an answer.
pub trait Row {
    /// The number in a column, or nothing if it is null.
    fn integer(&self, column: usize) -> Result<Option<i64>, StoreError>;

    /// The text in a column, or nothing if it is null.
    fn text(&self, column: usize) -> Result<Option<&str>, StoreError>;

    /// Whatever is in a column.
    fn value(&self, column: usize) -> Result<Value<'_>, StoreError>;
}

/// What went wrong, as far as it matters to what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Somebody else holds a lock for longer than the driver waits.
    Busy,
    /// There is no room left.
    Full,
    /// The store cannot be written to.
    ReadOnly,
    /// What is stored is not what was written.
    Corrupt,
    /// The store was written by a newer version.
    NewerSchema,
    /// The file or the network failed before anything was committed.
    Io,
    /// The connection ended during a commit: it may have happened or not.
    Lost,
    /// The disk did not confirm a commit. What it holds is unknown until the store is opened anew.
    Sync,
    /// Anything else: a mistake of ours.
    Other,
}

/// The store could not do what it was asked. Never shown to a caller as an empty answer, and its text never
/// leaves the machine: callers hear that nobody can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    /// What kind of failure.
    pub class: Class,
    /// For logs and for whoever runs the machine.
    pub detail: String,
}

impl StoreError {
    /// An error of a class.
    #[must_use]
    pub fn new(class: Class, detail: impl Into<String>) -> Self {
        Self { class, detail: detail.into() }
    }

    /// What to do about a database that is damaged.
    pub const DAMAGED: &str = "the database is damaged: end its daemon if one runs, look with `tenure doctor --offline`, \
        then put a backup in its place with `tenure restore FILE`";

    /// A stored value that no version of ours would have written.
    #[must_use]
    pub fn corrupt(detail: impl Into<String>) -> Self {
        Self::new(Class::Corrupt, detail)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.class, self.detail)
    }
}

impl std::error::Error for StoreError {}

/// Reads a row's columns from left to right.
pub struct Fields<'r> {
    row: &'r dyn Row,
    column: usize,
}

impl<'r> Fields<'r> {
    /// Begins at the first column.
    #[must_use]
    pub fn of(row: &'r dyn Row) -> Self {
        Self { row, column: 0 }
    }

    fn next(&mut self) -> usize {
        self.column += 1;
        self.column - 1
    }

    /// Passes over columns that only serve to find the row.
    pub fn skip(&mut self, columns: usize) {
        self.column += columns;
    }

    fn missing(&self) -> StoreError {
        StoreError::corrupt(format!("column {} is null", self.column))
    }

    fn wrong(&self, error: impl fmt::Display) -> StoreError {
        StoreError::corrupt(format!("column {}: {error}", self.column))
    }

    /// A number or nothing.
    pub fn optional_integer(&mut self) -> Result<Option<i64>, StoreError> {
        let column = self.next();
        self.row.integer(column)
    }

    /// A number.
    pub fn integer(&mut self) -> Result<i64, StoreError> {
        self.optional_integer()?.ok_or_else(|| self.missing())
    }

    /// A number that counts something.
    pub fn count<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        self.optional_count()?.ok_or_else(|| self.missing())
    }

    /// A number that counts something, or nothing.
    pub fn optional_count<T: TryFrom<i64>>(&mut self) -> Result<Option<T>, StoreError> {
        let Some(integer) = self.optional_integer()? else { return Ok(None) };
        T::try_from(integer).map(Some).map_err(|_| self.wrong(format_args!("{integer} is out of range")))
    }

    /// A flag.
    pub fn flag(&mut self) -> Result<bool, StoreError> {
        self.integer().map(|flag| flag != 0)
    }

    /// A text or nothing.
    pub fn optional_text(&mut self) -> Result<Option<&'r str>, StoreError> {
        let column = self.next();
        self.row.text(column)
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'r str, StoreError> {
        self.optional_text()?.ok_or_else(|| self.missing())
    }

    /// A text that is an id or a word.
    pub fn parse<T: FromStr<Err = String>>(&mut self) -> Result<T, StoreError> {
        let text = self.text()?;
        text.parse().map_err(|error: String| self.wrong(error))
    }

    /// A text that is an id or a word, or nothing.
    pub fn optional_parse<T: FromStr<Err = String>>(&mut self) -> Result<Option<T>, StoreError> {
        let text = self.optional_text()?;
        text.map(str::parse).transpose().map_err(|error: String| self.wrong(error))
    }

    /// A text that is JSON.
    pub fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        let text = self.text()?;
        serde_json::from_str(text).map_err(|error| self.wrong(error))
    }
}

impl Fields<'_> {
    /// A text that is JSON, or nothing.
    pub fn optional_json<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, StoreError> {
        let text = self.optional_text()?;
        text.map(serde_json::from_str).transpose().map_err(|error| self.wrong(error))
    }
}

/// Collects the values of a statement from left to right.
#[derive(Debug, Default)]
pub struct Values<'a>(pub Vec<Value<'a>>);

impl<'a> Values<'a> {
    /// A number or time.
    pub fn integer(&mut self, integer: i64) {
        self.0.push(Value::Integer(integer));
    }

    /// A number or time, or nothing.
    pub fn optional_integer(&mut self, integer: Option<i64>) {
        self.0.push(integer.map_or(Value::Null, Value::Integer));
    }

    /// A number that counts something. The store's numbers end below 2^63: what lies beyond compares as their end.
    pub fn count(&mut self, count: u64) {
        self.integer(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The same, or nothing.
    pub fn optional_count(&mut self, count: Option<u64>) {
        match count {
            Some(count) => self.count(count),
            None => self.0.push(Value::Null),
        }
    }

    /// A flag.
    pub fn flag(&mut self, flag: bool) {
        self.integer(i64::from(flag));
    }

    /// A text, borrowed or owned.
    pub fn text(&mut self, text: impl Into<Cow<'a, str>>) {
        self.0.push(Value::Text(text.into()));
    }

    /// A text or nothing.
    pub fn optional_text(&mut self, text: Option<impl Into<Cow<'a, str>>>) {
        self.0.push(text.map_or(Value::Null, |text| Value::Text(text.into())));
    }

    /// One or more words, repeated until they fill so many places: one statement serves however many are asked for.
    pub fn filling(&mut self, words: impl Iterator<Item = &'static str> + Clone, places: usize) {
        words.cycle().take(places).for_each(|word| self.text(word));
    }

    /// Something that prints itself as its stored text.
    pub fn shown(&mut self, value: &impl fmt::Display) {
        self.text(value.to_string());
    }

    /// Something that prints itself as its stored text, or nothing.
    pub fn optional_shown(&mut self, value: Option<&impl fmt::Display>) {
        self.optional_text(value.map(ToString::to_string));
    }

    /// Something that is stored as JSON.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        self.text(serde_json::to_string(value).expect("records are plain data and always serialise"));
    }

    /// Something that is stored as JSON, or nothing.
    pub fn optional_json(&mut self, value: Option<&impl serde::Serialize>) {
        match value {
            Some(value) => self.json(value),
            None => self.0.push(Value::Null),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(Option<i64>);

    impl Row for One {
        fn integer(&self, _: usize) -> Result<Option<i64>, StoreError> {
            Ok(self.0)
        }

        fn text(&self, _: usize) -> Result<Option<&str>, StoreError> {
            Ok(None)
        }

        fn value(&self, _: usize) -> Result<Value<'_>, StoreError> {
            Ok(self.0.map_or(Value::Null, Value::Integer))
        }
    }

    #[test]
    fn a_stored_number_that_counts_nothing_is_told_and_not_read_as_none() {
        let read = |integer| Fields::of(&One(integer)).optional_count::<u64>().map_err(|error| error.class);
        assert_eq!((read(Some(7)), read(None), read(Some(-1))), (Ok(Some(7)), Ok(None), Err(Class::Corrupt)));
        let one = |integer| Fields::of(&One(integer)).count::<u64>().map_err(|error| error.class);
        assert_eq!(
            (one(Some(7)), one(None), one(Some(-1))),
            (Ok(7), Err(Class::Corrupt), Err(Class::Corrupt))
        );
    }
}
