//! How much was written to each table since the planner looked at it last. PostgreSQL does that by itself once a minute;
//! a new table takes thousands of rows in a second, and plans made for an empty one read all of them.

use std::collections::BTreeMap;

/// A table with fewer new values than this is read fast by any plan.
const VALUES_MIN: usize = 4_000;

/// What was written, by table.
#[derive(Default)]
pub struct Growth(BTreeMap<String, Table>);

#[derive(Default)]
struct Table {
    /// Values written since it was looked at.
    since: usize,
    /// Values written before.
    before: usize,
}

impl Growth {
    /// Notes that a statement writes so many values.
    pub fn note(&mut self, sql: &str, values: usize) {
        let mut words = sql.split_whitespace();
        let Some(table) = words.by_ref().find(|word| *word == "INTO").and_then(|_| words.next()) else {
            return;
        };
        match self.0.get_mut(table) {
            Some(known) => known.since += values,
            None => drop(self.0.insert(table.to_owned(), Table { since: values, before: 0 })),
        }
    }

    /// The tables that have doubled since they were looked at. They count as looked at from now on.
    pub fn outgrown(&mut self) -> Vec<String> {
        let grown = self.0.iter_mut().filter(|(_, table)| table.since >= table.before.max(VALUES_MIN));
        grown
            .map(|(name, table)| {
                table.before += std::mem::take(&mut table.since);
                name.clone()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_looked_at_when_it_has_doubled() {
        let mut growth = Growth::default();
        growth.note("INSERT INTO task (id) VALUES ($1)", VALUES_MIN - 1);
        growth.note("DELETE FROM label WHERE task IN ($1)", VALUES_MIN);
        growth.note("SELECT pg_notify($1, $2)", VALUES_MIN);
        assert_eq!(growth.outgrown(), Vec::<String>::new());
        growth.note("INSERT INTO task (id) VALUES ($1)", 1);
        assert_eq!(growth.outgrown(), ["task"]);
        growth.note("INSERT INTO task (id) VALUES ($1)", VALUES_MIN - 1);
        assert_eq!(growth.outgrown(), Vec::<String>::new(), "it has not doubled");
        growth.note("INSERT INTO task (id) VALUES ($1)", 1);
        assert_eq!(growth.outgrown(), ["task"]);
    }
}
