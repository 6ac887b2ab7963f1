//! The statements that write a table, and its columns.
//!
//! A statement for many rows exists in a few sizes only, so that each is prepared once and stays in the
//! connection's cache.

use std::fmt::Write as _;
use std::sync::OnceLock;

/// Most rows or keys in one statement.
pub const ROWS_MAX: usize = 64;

/// The texts of a statement for 1, 2, 4 … 64 rows, each built when it is first used.
pub(super) struct Texts([OnceLock<String>; 7]);

impl Texts {
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; 7])
    }

    pub fn get(&self, rows: usize, build: impl FnOnce() -> String) -> &str {
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
    pub(super) fn steady_upsert(&self, rows: usize) -> &str {
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

    pub(super) fn delete(&self, rows: usize) -> &str {
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

    /// Whether an update has anything to change.
    pub(super) fn can_change(&self) -> bool {
        self.fixed < self.columns.len()
    }

    /// Whether some columns are indexed and seldom change.
    pub(super) fn has_steady(&self) -> bool {
        self.steady > 0
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

    /// The question for the rows behind a key of one column, in its order, at most so many.
    #[must_use]
    pub fn after(&self) -> String {
        debug_assert_eq!(self.key, 1, "{} has a key of one column", self.table);
        let key = self.columns[0];
        format!("{} WHERE {key} > $1 ORDER BY {key} LIMIT $2", self.select())
    }

    /// The question for how many rows there are.
    #[must_use]
    pub fn count(&self) -> String {
        format!("SELECT count(*) FROM {}", self.table)
    }
}

/// `VALUES ($1, $2), ($3, $4) …`.
pub(super) fn places(rows: usize, width: usize) -> String {
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

/// Cuts rows into the sizes that statements exist in, the largest first.
pub fn in_sizes<T, E>(
    values: &[T],
    width: usize,
    mut run: impl FnMut(usize, &[T]) -> Result<(), E>,
) -> Result<(), E> {
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
        let values = vec![0; 2 * 135];
        let mut sizes = Vec::new();
        in_sizes(&values, 2, |rows, chunk| {
            assert_eq!(chunk.len(), rows * 2);
            sizes.push(rows);
            Ok::<_, ()>(())
        })
        .expect("nothing fails");
        assert_eq!(sizes, [64, 64, 4, 2, 1]);
    }
}
