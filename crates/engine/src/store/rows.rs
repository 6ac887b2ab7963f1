//! How any kind of record is loaded and flushed: a few statements for many rows.
//!
//! A question of another size than statements exist in repeats its last key; a write is cut into the sizes.

use std::fmt::Write as _;

use tenure_core::working_set::table::{Record, Table};

use super::driver::{Driver, Fields, StoreError, Value, Values};
use super::shape::{ROWS_MAX, Shape, State, Texts, in_sizes, places};

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

/// The rows behind a key in its order, at most so many. Without a key, which must be a text then, from the beginning.
pub fn after<R: Stored>(
    driver: &mut dyn Driver,
    key: Option<&R::Key>,
    count: u32,
) -> Result<Vec<R>, StoreError> {
    let mut values = Values::default();
    match key {
        Some(key) => R::write_key(key, &mut values),
        None => values.text(""),
    }
    values.integer(i64::from(count));
    let mut rows = Vec::new();
    driver.query(&R::shape().after(), &values.0, &mut |row| {
        rows.push(R::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    Ok(rows)
}

/// The row of a key.
pub fn one<R: Stored>(
    driver: &mut dyn Driver,
    lookup: &Lookup,
    key: &R::Key,
) -> Result<Option<R>, StoreError> {
    let mut found = None;
    lookup.ask(driver, of_keys::<R>(std::slice::from_ref(key)), &mut |fields| {
        found = Some(R::read(fields)?);
        Ok(())
    })?;
    Ok(found)
}

/// Tells of every row, in the order of their keys, and of one that nobody can read that it is there.
pub fn each<R: Stored>(driver: &mut dyn Driver, told: &mut dyn FnMut(Option<&R>)) -> Result<(), StoreError> {
    driver.query(&R::shape().every(), &[], &mut |row| {
        told(R::read(&mut Fields::of(row)).ok().as_ref());
        Ok(())
    })
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
    let has_steady = shape.has_steady() && driver.moves_what_an_update_mentions();
    for (key, row) in table.dirty() {
        match row {
            Some(row) if !table.was_stored(key) => row.write(&mut new),
            // Taken away and put back.
            Some(_) if !shape.can_change() => {}
            Some(row) if !has_steady || row.has_moved() => row.write(&mut moved),
            Some(row) => row.write(&mut steady),
            None => R::write_key(key, &mut gone),
        }
    }
    remove(driver, shape, &gone)?;
    driver.write_rows(shape, State::Stored, &moved.0)?;
    in_sizes(&steady.0, shape.columns().len(), |rows, values| {
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
    in_sizes(&keys.0, shape.key().len(), |rows, values| driver.write(shape.delete(rows), values, None))
}

/// Writes rows that the store does not have, whose values stand one after the other.
pub fn insert(driver: &mut dyn Driver, shape: &Shape, rows: &Values<'_>) -> Result<(), StoreError> {
    driver.write_rows(shape, State::New, &rows.0)
}

/// Writes rows of which some may take the place of others.
pub fn replace(driver: &mut dyn Driver, shape: &Shape, rows: &Values<'_>) -> Result<(), StoreError> {
    driver.write_rows(shape, State::Unknown, &rows.0)
}

/// Writes as many rows as anybody likes to bring, which the store does not have, one part after the other: it returns once
/// the database has them, so that nothing piles up on the way to it.
pub fn insert_part(driver: &mut dyn Driver, shape: &Shape, rows: &[Value<'_>]) -> Result<(), StoreError> {
    let mut left = rows.len();
    in_sizes(rows, shape.columns().len(), |rows, values| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_numbers_its_placeholders_in_order() {
        static SHAPE: Shape = Shape::new("pair", &["a", "b", "c"], 2, 2);
        static LOOKUP: Lookup = Lookup::new(&SHAPE, &["a", "b"], "c = 1");
        assert_eq!(
            LOOKUP.text(2),
            "SELECT a, b, c FROM pair WHERE (a, b) IN (VALUES ($1, $2), ($3, $4)) AND c = 1"
        );
    }
}
