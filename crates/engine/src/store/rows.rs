//! How any kind of record is loaded and flushed: a few statements for many rows.
//!
//! A statement for many rows exists in a few sizes only, so that each is prepared once and stays in the
//! connection's cache. A question of another size repeats its last key; a write is cut into the sizes.

use std::fmt::Write as _;
use std::sync::OnceLock;

use tenure_core::working_set::table::{Record, Table};

use super::driver::{Driver, Fields, StoreError, Value, Values};

/// Most rows or keys in one statement.
pub const ROWS_MAX: usize = 64;

/// The texts of a statement for 1, 2, 4 … 64 rows, each built when it is first used.
struct Texts([OnceLock<String>; 7]);

impl Texts {
    const fn new() -> Self {
        Self([const { OnceLock::new() }; 7])
    }

    fn get(&self, rows: usize, build: impl FnOnce() -> String) -> &str {
        debug_assert!(rows.is_power_of_two() && rows <= ROWS_MAX);
        self.0[rows.trailing_zeros() as usize].get_or_init(build)
    }
}

/// What is known of rows before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The store has none of their keys. One that it has fails the batch.
    New,
    /// The store has all of their keys.
    Stored,
    /// Nothing.
    Unknown,
}

/// A table's columns as its noun reads and writes them.
pub struct Shape {
    table: &'static str,
    columns: &'static [&'static str],
    key: usize,
    fixed: usize,
    steady: usize,
    inserts: Texts,
    upserts: Texts,
    steady_upserts: Texts,
    deletes: Texts,
}

impl Shape {
    /// A table whose first `key` columns identify a row, and whose first `fixed` columns never change: leaving
    /// them out of an update spares the database their indexes. Where no column changes, rows are only appended
    /// and a key that is there already fails the batch.
    #[must_use]
    pub const fn new(
        table: &'static str,
        columns: &'static [&'static str],
        key: usize,
        fixed: usize,
    ) -> Self {
        Self {
            table,
            columns,
            key,
            fixed,
            steady: 0,
            inserts: Texts::new(),
            upserts: Texts::new(),
            steady_upserts: Texts::new(),
            deletes: Texts::new(),
        }
    }

    /// The same for a table of which so many columns after the fixed ones are indexed and seldom change. A
    /// database rewrites every index that an update mentions, also when nothing moves; so rows that probably stay
    /// where they are in those indexes are updated without mentioning them.
    #[must_use]
    pub const fn with_steady(mut self, steady: usize) -> Self {
        self.steady = steady;
        self
    }

    /// The statement that writes so many rows, one of the sizes that statements exist in.
    pub(super) fn write(&self, state: State, rows: usize) -> &str {
        let source = || places(rows, self.columns.len());
        match state {
            State::New => self.inserts.get(rows, || self.insert_text(&source())),
            State::Stored | State::Unknown => {
                self.upserts.get(rows, || self.upsert_text(&source(), self.fixed))
            }
        }
    }

    /// The statement that writes the rows of a source, which has all columns in order.
    pub(super) fn write_from(&self, state: State, source: &str) -> String {
        let all = format!("SELECT * FROM {source}");
        match state {
            State::New => self.insert_text(&all),
            State::Stored => self.update_from(source),
            State::Unknown => self.upsert_text(&all, self.fixed),
        }
    }

    /// Changes the rows that are there already, which spares the database to try whether each is.
    fn update_from(&self, source: &str) -> String {
        let changes: Vec<String> =
            self.columns[self.fixed..].iter().map(|name| format!("{name} = given.{name}")).collect();
        let keys: Vec<String> =
            self.key().iter().map(|name| format!("{}.{name} = given.{name}", self.table)).collect();
        format!(
            "UPDATE {} SET {} FROM {source} AS given ({}) WHERE {}",
            self.table,
            changes.join(", "),
            self.columns.join(", "),
            keys.join(" AND ")
        )
    }

    /// An upsert that changes only rows whose steady columns stay as they are.
    fn steady_upsert(&self, rows: usize) -> &str {
        let changing = self.fixed + self.steady;
        self.steady_upserts.get(rows, || {
            let mut sql = self.upsert_text(&places(rows, self.columns.len()), changing);
            for (index, name) in self.columns[self.fixed..changing].iter().enumerate() {
                let and = if index == 0 { "WHERE" } else { "AND" };
                let _ = write!(sql, " {and} {}.{name} = excluded.{name}", self.table);
            }
            sql
        })
    }

    fn insert_text(&self, source: &str) -> String {
        format!("INSERT INTO {} ({}) {source}", self.table, self.columns.join(", "))
    }

    fn upsert_text(&self, source: &str, changing: usize) -> String {
        let mut sql = self.insert_text(source);
        let key = self.columns[..self.key].join(", ");
        let changing: Vec<String> =
            self.columns[changing..].iter().map(|name| format!("{name} = excluded.{name}")).collect();
        if !changing.is_empty() {
            let _ = write!(sql, " ON CONFLICT ({key}) DO UPDATE SET {}", changing.join(", "));
        }
        sql
    }

    fn delete(&self, rows: usize) -> &str {
        self.deletes.get(rows, || {
            let mut sql = format!("DELETE FROM {} WHERE ", self.table);
            if self.key == 1 {
                let keys: Vec<String> = (1..=rows).map(|row| format!("${row}")).collect();
                let _ = write!(sql, "{} IN ({})", self.columns[0], keys.join(", "));
                return sql;
            }
            for row in 0..rows {
                sql.push_str(if row == 0 { "(" } else { " OR (" });
                for (index, name) in self.columns[..self.key].iter().enumerate() {
                    let and = if index == 0 { "" } else { " AND " };
                    let _ = write!(sql, "{and}{name} = ${}", row * self.key + index + 1);
                }
                sql.push(')');
            }
            sql
        })
    }

    /// All columns, in order.
    #[must_use]
    pub fn columns(&self) -> &'static [&'static str] {
        self.columns
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &'static str {
        self.table
    }

    /// The columns that identify a row.
    #[must_use]
    pub fn key(&self) -> &'static [&'static str] {
        &self.columns[..self.key]
    }

    /// `SELECT` with all columns, up to and with the table's name.
    #[must_use]
    pub fn select(&self) -> String {
        format!("SELECT {} FROM {}", self.columns.join(", "), self.table)
    }

    /// The question for every row, in an order that is the same in every database.
    #[must_use]
    pub fn every(&self) -> String {
        format!("{} ORDER BY {}", self.select(), self.key().join(", "))
    }

    /// The question for how many rows there are.
    #[must_use]
    pub fn count(&self) -> String {
        format!("SELECT count(*) FROM {}", self.table)
    }
}

/// `VALUES ($1, $2), ($3, $4) …`.
fn places(rows: usize, width: usize) -> String {
    let mut sql = String::from("VALUES ");
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..width {
            let comma = if column == 0 { "" } else { ", " };
            let _ = write!(sql, "{comma}${}", row * width + column + 1);
        }
        sql.push(')');
    }
    sql
}

/// A question for the rows whose columns have one of several values.
pub struct Lookup {
    shape: &'static Shape,
    by: &'static [&'static str],
    and: &'static str,
    texts: Texts,
}

impl Lookup {
    /// Rows of `shape` whose columns `by` (one, or several that are all texts) have one of the values asked for, and for
    /// which the condition `and` holds, if there is one.
    #[must_use]
    pub const fn new(shape: &'static Shape, by: &'static [&'static str], and: &'static str) -> Self {
        Self { shape, by, and, texts: Texts::new() }
    }

    /// The statement for so many keys.
    pub fn text(&self, keys: usize) -> &str {
        self.texts.get(keys, || {
            let mut sql = self.shape.select();
            match self.by {
                [column] => {
                    let _ = write!(sql, " WHERE {column} IN (");
                    for key in 1..=keys {
                        let comma = if key == 1 { "" } else { ", " };
                        let _ = write!(sql, "{comma}${key}");
                    }
                }
                columns => {
                    let _ =
                        write!(sql, " WHERE ({}) IN ({}", columns.join(", "), places(keys, columns.len()));
                }
            }
            sql.push(')');
            if !self.and.is_empty() {
                let _ = write!(sql, " AND {}", self.and);
            }
            sql
        })
    }

    /// Asks for all these keys, whose values stand one after the other.
    pub fn ask(
        &self,
        driver: &mut dyn Driver,
        values: Values<'_>,
        each: &mut dyn FnMut(&mut Fields<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.in_parts(values, |sql, part| driver.query(sql, part, &mut |row| each(&mut Fields::of(row))))
    }

    /// Says that these keys will be asked for.
    pub fn foresee(&self, driver: &mut dyn Driver, values: Values<'_>) -> Result<(), StoreError> {
        self.in_parts(values, |sql, part| driver.foresee(sql, part))
    }

    /// Cuts keys into the sizes that statements exist in; the last key is repeated to fill one.
    fn in_parts(
        &self,
        mut values: Values<'_>,
        mut run: impl FnMut(&str, &[Value<'_>]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let width = self.by.len();
        let last: Vec<Value<'_>> = values.0.iter().rev().take(width).rev().cloned().collect();
        let keys = values.0.len() / width;
        let rest = keys % ROWS_MAX;
        if rest > 0 {
            for _ in rest..rest.next_power_of_two() {
                values.0.extend(last.iter().cloned());
            }
        }
        values.0.chunks(ROWS_MAX * width).try_for_each(|part| run(self.text(part.len() / width), part))
    }
}

/// A record that the store keeps in a table of its own.
pub trait Stored: Record {
    /// The table.
    fn shape() -> &'static Shape;

    /// Reads all columns.
    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError>;

    /// Writes all columns.
    fn write<'a>(&'a self, values: &mut Values<'a>);

    /// Whether the row has probably moved in the indexes of the steady columns since it was stored. A wrong
    /// guess costs a second statement and nothing else.
    fn has_moved(&self) -> bool {
        true
    }

    /// Writes the columns of the key.
    fn write_key(key: &Self::Key, values: &mut Values<'_>);
}

/// Loads the rows of these keys and notes which do not exist.
pub fn load_by_key<R: Stored>(
    driver: &mut dyn Driver,
    table: &mut Table<R>,
    lookup: &Lookup,
    keys: Vec<R::Key>,
) -> Result<(), StoreError> {
    let keys = unknown(keys, |key| table.get(key).is_none());
    if keys.is_empty() {
        return Ok(());
    }
    load_rows(driver, table, lookup, of_keys::<R>(&keys))?;
    for key in keys {
        table.load_absent(key);
    }
    Ok(())
}

/// Says that the rows of these keys will be loaded.
pub fn foresee_by_key<R: Stored>(
    driver: &mut dyn Driver,
    table: &Table<R>,
    lookup: &Lookup,
    keys: &[R::Key],
) -> Result<(), StoreError> {
    let keys = unknown(keys.to_vec(), |key| table.get(key).is_none());
    if keys.is_empty() { Ok(()) } else { lookup.foresee(driver, of_keys::<R>(&keys)) }
}

/// Loads every row under these indexes.
pub fn load_by_index<R: Stored>(
    driver: &mut dyn Driver,
    table: &mut Table<R>,
    lookup: &Lookup,
    indexes: Vec<R::Index>,
    text: impl Fn(&R::Index) -> String,
) -> Result<(), StoreError> {
    let indexes = unknown(indexes, |index| table.find(index).is_none());
    if indexes.is_empty() {
        return Ok(());
    }
    load_rows(driver, table, lookup, of_texts(&indexes, text))?;
    for index in indexes {
        table.cover(index);
    }
    Ok(())
}

/// Says that every row under these indexes will be loaded.
pub fn foresee_by_index<R: Stored>(
    driver: &mut dyn Driver,
    table: &Table<R>,
    lookup: &Lookup,
    indexes: Vec<R::Index>,
    text: impl Fn(&R::Index) -> String,
) -> Result<(), StoreError> {
    let indexes = unknown(indexes, |index| table.find(index).is_none());
    if indexes.is_empty() { Ok(()) } else { lookup.foresee(driver, of_texts(&indexes, text)) }
}

/// Each of those that are not known, once and in order.
fn unknown<K: Ord>(mut keys: Vec<K>, is_unknown: impl FnMut(&K) -> bool) -> Vec<K> {
    keys.retain(is_unknown);
    keys.sort();
    keys.dedup();
    keys
}

fn of_keys<R: Stored>(keys: &[R::Key]) -> Values<'static> {
    let mut values = Values::default();
    keys.iter().for_each(|key| R::write_key(key, &mut values));
    values
}

fn of_texts<I>(indexes: &[I], text: impl Fn(&I) -> String) -> Values<'static> {
    let mut values = Values::default();
    indexes.iter().for_each(|index| values.text(text(index)));
    values
}

fn load_rows<R: Stored>(
    driver: &mut dyn Driver,
    table: &mut Table<R>,
    lookup: &Lookup,
    values: Values<'_>,
) -> Result<(), StoreError> {
    lookup.ask(driver, values, &mut |fields| {
        table.load(R::read(fields)?);
        Ok(())
    })
}

/// Writes what a batch changed in one table: rows that are gone, then rows that moved, then those that stay where they are,
/// then new ones, each in key order. What made room in an index is written before what takes it.
pub fn flush<R: Stored>(driver: &mut dyn Driver, table: &Table<R>) -> Result<(), StoreError> {
    let shape = R::shape();
    let (mut gone, mut new) = (Values::default(), Values::default());
    let (mut moved, mut steady) = (Values::default(), Values::default());
    let has_steady = shape.steady > 0 && driver.moves_what_an_update_mentions();
    for (key, row) in table.dirty() {
        match row {
            Some(row) if !table.was_stored(key) => row.write(&mut new),
            // Taken away and put back.
            Some(_) if shape.fixed == shape.columns.len() => {}
            Some(row) if !has_steady || row.has_moved() => row.write(&mut moved),
            Some(row) => row.write(&mut steady),
            None => R::write_key(key, &mut gone),
        }
    }
    remove(driver, shape, &gone)?;
    driver.write_rows(shape, State::Stored, &moved.0)?;
    in_sizes(&steady.0, shape.columns.len(), |rows, values| {
        let written = driver.execute(shape.steady_upsert(rows), values)?;
        if written < rows as u64 {
            driver.execute(shape.write(State::Stored, rows), values)?;
        }
        Ok(())
    })?;
    insert(driver, shape, &new)
}

/// Removes the rows of keys whose values stand one after the other.
pub fn remove(driver: &mut dyn Driver, shape: &Shape, keys: &Values<'_>) -> Result<(), StoreError> {
    in_sizes(&keys.0, shape.key, |rows, values| driver.write(shape.delete(rows), values, None))
}

/// Writes rows that the store does not have, whose values stand one after the other.
pub fn insert(driver: &mut dyn Driver, shape: &Shape, rows: &Values<'_>) -> Result<(), StoreError> {
    driver.write_rows(shape, State::New, &rows.0)
}

/// The same for rows of which some may take the place of others.
pub fn replace(driver: &mut dyn Driver, shape: &Shape, rows: &Values<'_>) -> Result<(), StoreError> {
    driver.write_rows(shape, State::Unknown, &rows.0)
}

/// The same for as many rows as anybody likes to bring, one part after the other: it returns once the database has them,
/// so that nothing piles up on the way to it.
pub fn insert_part(driver: &mut dyn Driver, shape: &Shape, rows: &[Value<'_>]) -> Result<(), StoreError> {
    let mut left = rows.len();
    in_sizes(rows, shape.columns.len(), |rows, values| {
        left -= values.len();
        let sql = shape.write(State::New, rows);
        if left > 0 {
            return driver.write(sql, values, Some(rows as u64));
        }
        match driver.execute(sql, values)? {
            written if written == rows as u64 => Ok(()),
            written => Err(StoreError::corrupt(format!("{written} rows were written, not {rows}"))),
        }
    })
}

/// Cuts rows into the sizes that statements exist in, the largest first.
pub(super) fn in_sizes(
    values: &[Value<'_>],
    width: usize,
    mut run: impl FnMut(usize, &[Value<'_>]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut left = values;
    while !left.is_empty() {
        let rows = left.len() / width;
        let size = ROWS_MAX.min(1 << rows.ilog2());
        let (now, later) = left.split_at(size * width);
        run(size, now)?;
        left = later;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    static SHAPE: Shape = Shape::new("pair", &["a", "b", "c"], 2, 2);
    static LOOKUP: Lookup = Lookup::new(&SHAPE, &["a", "b"], "c = 1");

    #[test]
    fn steady_columns_are_compared_instead_of_written() {
        static STEADY: Shape = Shape::new("t", &["id", "fixed", "stage", "x"], 1, 2).with_steady(1);
        assert_eq!(
            STEADY.steady_upsert(1),
            "INSERT INTO t (id, fixed, stage, x) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (id) DO UPDATE SET x = excluded.x WHERE t.stage = excluded.stage"
        );
        assert!(STEADY.write(State::Stored, 1).ends_with("SET stage = excluded.stage, x = excluded.x"));
    }

    #[test]
    fn statements_number_their_placeholders_in_order() {
        assert_eq!(
            SHAPE.write(State::Unknown, 2),
            "INSERT INTO pair (a, b, c) VALUES ($1, $2, $3), ($4, $5, $6) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c"
        );
        assert_eq!(SHAPE.write(State::New, 1), "INSERT INTO pair (a, b, c) VALUES ($1, $2, $3)");
        static ONE: Shape = Shape::new("one", &["a", "b"], 1, 1);
        assert_eq!(ONE.delete(2), "DELETE FROM one WHERE a IN ($1, $2)");
        assert_eq!(SHAPE.delete(2), "DELETE FROM pair WHERE (a = $1 AND b = $2) OR (a = $3 AND b = $4)");
        assert_eq!(
            LOOKUP.text(2),
            "SELECT a, b, c FROM pair WHERE (a, b) IN (VALUES ($1, $2), ($3, $4)) AND c = 1"
        );
    }

    #[test]
    fn rows_of_a_source_are_inserted_changed_or_either() {
        assert_eq!(SHAPE.write_from(State::New, "rows"), "INSERT INTO pair (a, b, c) SELECT * FROM rows");
        assert_eq!(
            SHAPE.write_from(State::Stored, "rows"),
            "UPDATE pair SET c = given.c FROM rows AS given (a, b, c) WHERE pair.a = given.a AND pair.b = given.b"
        );
        assert_eq!(
            SHAPE.write_from(State::Unknown, "rows"),
            "INSERT INTO pair (a, b, c) SELECT * FROM rows ON CONFLICT (a, b) DO UPDATE SET c = excluded.c"
        );
    }

    #[test]
    fn a_write_is_cut_into_known_sizes() {
        let values = vec![Value::Null; 2 * 135];
        let mut sizes = Vec::new();
        in_sizes(&values, 2, |rows, chunk| {
            assert_eq!(chunk.len(), rows * 2);
            sizes.push(rows);
            Ok(())
        })
        .expect("nothing fails");
        assert_eq!(sizes, [64, 64, 4, 2, 1]);
    }
}
