//! One kind of row in memory: what is known of the store, what a command changed, and how to take it back.

use std::collections::{BTreeMap, BTreeSet};

/// A row that can be kept in a [`Table`].
pub trait Record: Clone {
    /// What identifies it.
    type Key: Ord + Clone;
    /// Under which questions it is found, besides its key.
    type Index: Ord + Clone;

    /// Its key.
    fn key(&self) -> Self::Key;

    /// The questions that it is an answer to.
    fn indexes(&self) -> Vec<Self::Index>;
}

/// What a table held for one key before the current command touched it.
struct Before<R: Record> {
    key: R::Key,
    row: Option<Option<R>>,
    dirty: bool,
}

/// Rows by key and by index. A row is unknown, known to be absent, or known; an index is unknown or covered.
pub struct Table<R: Record> {
    rows: BTreeMap<R::Key, Option<R>>,
    index: BTreeMap<R::Index, BTreeSet<R::Key>>,
    covered: BTreeSet<R::Index>,
    /// What must be written, and whether the store had a row there before.
    dirty: BTreeMap<R::Key, bool>,
    journal: Vec<Before<R>>,
}

impl<R: Record> Default for Table<R> {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            index: BTreeMap::new(),
            covered: BTreeSet::new(),
            dirty: BTreeMap::new(),
            journal: Vec::new(),
        }
    }
}

impl<R: Record> Table<R> {
    /// The row, `Some(None)` if it is known to be absent, `None` if nothing is known.
    #[must_use]
    pub fn get(&self, key: &R::Key) -> Option<Option<&R>> {
        self.rows.get(key).map(Option::as_ref)
    }

    /// The rows under an index in key order, or `None` if the store was not asked for it yet.
    #[must_use]
    pub fn find(&self, index: &R::Index) -> Option<Vec<&R>> {
        self.covered.contains(index).then(|| self.known(index))
    }

    /// The rows under an index that happen to be known.
    #[must_use]
    pub fn known(&self, index: &R::Index) -> Vec<&R> {
        let keys = self.index.get(index).into_iter().flatten();
        keys.filter_map(|key| self.rows.get(key).and_then(Option::as_ref)).collect()
    }

    /// The indexes within a range, in order, with the rows under each.
    pub fn range(&self, from: R::Index, to: R::Index) -> impl Iterator<Item = (&R::Index, &R)> {
        let spans = if from <= to { Some(self.index.range(from..=to)) } else { None };
        spans.into_iter().flatten().flat_map(move |(index, keys)| {
            keys.iter()
                .filter_map(move |key| self.rows.get(key).and_then(Option::as_ref).map(|row| (index, row)))
        })
    }

    /// Every row that is known, in key order.
    pub fn rows(&self) -> impl Iterator<Item = &R> {
        self.rows.values().flatten()
    }

    /// Takes in a row as the store has it. What a command of this batch changed is newer and stays.
    pub fn load(&mut self, row: R) {
        let key = row.key();
        if !self.rows.contains_key(&key) {
            self.set(key, Some(row));
        }
    }

    /// Notes that the store has no row of this key, unless one is known.
    pub fn load_absent(&mut self, key: R::Key) {
        self.rows.entry(key).or_insert(None);
    }

    /// Notes that every row of the store under this index has been loaded.
    pub fn cover(&mut self, index: R::Index) {
        self.covered.insert(index);
    }

    /// Writes a row.
    pub fn put(&mut self, row: R) {
        let key = row.key();
        self.remember(&key);
        self.set(key, Some(row));
    }

    /// Removes a row.
    pub fn remove(&mut self, key: &R::Key) {
        self.remember(key);
        self.set(key.clone(), None);
    }

    /// Keeps what was written since the last call of `keep` or `undo`.
    pub fn keep(&mut self) {
        self.journal.clear();
    }

    /// Takes back what was written since the last call of `keep` or `undo`.
    pub fn undo(&mut self) {
        while let Some(before) = self.journal.pop() {
            if !before.dirty {
                self.dirty.remove(&before.key);
            }
            match before.row {
                Some(row) => self.set(before.key, row),
                None => {
                    self.set(before.key.clone(), None);
                    self.rows.remove(&before.key);
                }
            }
        }
    }

    /// What must be written to the store: rows that are there, and keys of rows that are gone, in key order.
    pub fn dirty(&self) -> impl Iterator<Item = (&R::Key, Option<&R>)> + Clone {
        self.dirty.keys().map(|key| (key, self.rows.get(key).and_then(Option::as_ref)))
    }

    /// Whether what must be written under this key takes the place of a row that the store has. Of what was never asked for
    /// it has none: nobody changes a row without having seen it.
    #[must_use]
    pub fn was_stored(&self, key: &R::Key) -> bool {
        self.dirty.get(key).is_some_and(|was_stored| *was_stored)
    }

    fn remember(&mut self, key: &R::Key) {
        let row = self.rows.get(key).cloned();
        let dirty = self.dirty.contains_key(key);
        if !dirty {
            self.dirty.insert(key.clone(), matches!(row, Some(Some(_))));
        }
        self.journal.push(Before { key: key.clone(), row, dirty });
    }

    fn set(&mut self, key: R::Key, row: Option<R>) {
        if let Some(Some(old)) = self.rows.get(&key) {
            for index in old.indexes() {
                if let Some(keys) = self.index.get_mut(&index) {
                    keys.remove(&key);
                    if keys.is_empty() {
                        self.index.remove(&index);
                    }
                }
            }
        }
        if let Some(row) = &row {
            for index in row.indexes() {
                self.index.entry(index).or_default().insert(key.clone());
            }
        }
        self.rows.insert(key, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Row(u8, char);

    impl Record for Row {
        type Key = u8;
        type Index = char;
        fn key(&self) -> u8 {
            self.0
        }
        fn indexes(&self) -> Vec<char> {
            vec![self.1]
        }
    }

    #[test]
    fn unknown_absent_and_known_are_three_answers() {
        let mut table = Table::default();
        table.load(Row(1, 'a'));
        table.load_absent(2);
        assert_eq!(table.get(&1), Some(Some(&Row(1, 'a'))));
        assert_eq!(table.get(&2), Some(None));
        assert_eq!(table.get(&3), None);
        assert_eq!(table.find(&'a'), None);
        table.cover('a');
        assert_eq!(table.find(&'a'), Some(vec![&Row(1, 'a')]));
    }

    #[test]
    fn a_load_never_overwrites_what_the_batch_changed() {
        let mut table = Table::default();
        table.load(Row(1, 'a'));
        table.put(Row(1, 'b'));
        table.remove(&2);
        table.keep();
        table.load(Row(1, 'a'));
        table.load(Row(2, 'a'));
        table.cover('a');
        assert_eq!(table.find(&'a'), Some(vec![]));
        assert_eq!(table.dirty().collect::<Vec<_>>(), vec![(&1, Some(&Row(1, 'b'))), (&2, None)]);
    }

    #[test]
    fn undo_restores_rows_indexes_and_what_was_clean() {
        let mut table = Table::default();
        table.load(Row(1, 'a'));
        table.put(Row(2, 'a'));
        table.keep();
        table.put(Row(1, 'b'));
        table.put(Row(1, 'c'));
        table.remove(&2);
        table.put(Row(3, 'a'));
        table.undo();
        table.cover('a');
        assert_eq!(table.find(&'a'), Some(vec![&Row(1, 'a'), &Row(2, 'a')]));
        assert_eq!(table.known(&'b'), Vec::<&Row>::new());
        assert_eq!(table.get(&3), None);
        assert_eq!(table.dirty().map(|(key, _)| *key).collect::<Vec<_>>(), vec![2]);
    }

    #[test]
    fn it_remembers_whether_the_store_had_a_row_before_the_batch() {
        let mut table = Table::default();
        table.load(Row(1, 'a'));
        table.load_absent(2);
        for key in [1, 2, 3] {
            table.put(Row(key, 'b'));
            table.keep();
            table.remove(&key);
            table.put(Row(key, 'c'));
            table.keep();
        }
        assert_eq!([1, 2, 3].map(|key| table.was_stored(&key)), [true, false, false]);
        table.load(Row(4, 'a'));
        table.put(Row(4, 'b'));
        table.undo();
        assert!(!table.was_stored(&4), "nothing is written there");
    }
}
