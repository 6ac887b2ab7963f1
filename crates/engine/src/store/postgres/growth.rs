//! How much was written to each table since the planner looked at it last. PostgreSQL does that by itself once a minute;
//! a new table takes thousands of rows in a second, and plans made for an empty one read all of them.

use std::collections::BTreeMap;

/// A table with fewer new values than this is read fast by any plan.
const VALUES_MIN: usize = 4_000;

/// What was written, by table.
#[derive(Default)]
pub struct Growth(BTreeMap<&'static str, Table>);

#[derive(Default)]
struct Table {
    /// Values written since it was looked at.
    since: usize,
    /// Values written before.
    before: usize,
}

impl Growth {
    /// Notes that so many values are written to a table.
    pub fn note(&mut self, table: &'static str, values: usize) {
        self.0.entry(table).or_default().since += values;
    }

    /// The tables that have doubled since they were looked at. They count as looked at from now on.
    pub fn outgrown(&mut self) -> Vec<&'static str> {
        let grown = self.0.iter_mut().filter(|(_, table)| table.since >= table.before.max(VALUES_MIN));
        grown
            .map(|(name, table)| {
                table.before += std::mem::take(&mut table.since);
                *name
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
        growth.note("task", VALUES_MIN - 1);
        assert_eq!(growth.outgrown(), Vec::<&str>::new());
        growth.note("task", 1);
        assert_eq!(growth.outgrown(), ["task"]);
        growth.note("task", VALUES_MIN - 1);
        assert_eq!(growth.outgrown(), Vec::<&str>::new(), "it has not doubled");
        growth.note("task", 1);
        assert_eq!(growth.outgrown(), ["task"]);
    }
}
