//! One SQL: each statement is written once and runs on every engine.

use super::{File, Finding, Tree};

/// What one engine alone understands, and what is written instead.
const FOREIGN: &[(&str, &str)] = &[
    ("JSON_EACH", "keep a side table, or read the JSON in Rust"),
    ("JSON_EXTRACT", "keep a column of its own"),
    ("DATETIME(", "times are integers in milliseconds and come as parameters"),
    ("STRFTIME", "times are integers in milliseconds and come as parameters"),
    ("JULIANDAY", "times are integers in milliseconds and come as parameters"),
    ("UNIXEPOCH", "times are integers in milliseconds and come as parameters"),
    ("CURRENT_TIMESTAMP", "the moment is read once under the lock and comes as a parameter"),
    ("NOW()", "the moment is read once under the lock and comes as a parameter"),
    ("AUTOINCREMENT", "numbers are counted by rules"),
    ("LAST_INSERT_ROWID", "keys are known before the row is written"),
    ("INSERT OR ", "ON CONFLICT, and look at the count"),
    ("REPLACE INTO", "ON CONFLICT DO UPDATE"),
    ("IFNULL(", "COALESCE("),
    (" GLOB ", "LIKE, or a range on the key"),
    ("PRAGMA", "it belongs in sqlite.rs"),
    ("FTS5", "full text belongs in search/"),
    ("BM25(", "full text belongs in search/"),
    ("TSVECTOR", "full text belongs in search/"),
];

/// The files that are an engine's own.
const OWN: &[&str] = &[
    "crates/engine/src/store/sqlite.rs",
    "crates/engine/src/store/migrations/0003.sqlite.sql",
    "crates/engine/src/store/migrations/0003.postgres.sql",
    "crates/engine/src/store/migrations/0004.postgres.sql",
];
/// The folders of them.
const OWN_FOLDERS: &[&str] = &["crates/engine/src/store/postgres/", "crates/engine/src/store/search/"];

/// Statements in the store keep to what all engines share, and no common table expression changes data.
pub fn statements_run_on_every_engine(tree: &Tree) -> Vec<Finding> {
    let store = |path: &str| {
        path.starts_with("crates/engine/src/store/")
            && !OWN.contains(&path)
            && !OWN_FOLDERS.iter().any(|own| path.starts_with(own))
    };
    tree.files.iter().filter(|file| store(&file.path)).flat_map(look).collect()
}

fn look(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut squeezed = String::new();
    let mut numbers = Vec::new();
    for (index, raw) in file.text.lines().enumerate() {
        let comment = file.source.lines.get(index).map_or("", |line| line.comment.as_str());
        // A comment may name what must not be used.
        let line = raw.strip_suffix(comment).unwrap_or(raw).to_uppercase();
        for (word, instead) in FOREIGN.iter().filter(|(word, _)| line.contains(word)) {
            let message = format!("`{}` is not understood by every engine: {instead}", word.trim());
            findings.push(file.finding(index + 1, "one-sql", message));
        }
        for character in line.chars().filter(|c| !c.is_whitespace() && *c != '\\') {
            squeezed.push(character);
            numbers.extend(std::iter::repeat_n(index + 1, character.len_utf8()));
        }
    }
    for begin in ["AS(INSERTINTO", "AS(UPDATE", "AS(DELETEFROM"] {
        for (start, _) in squeezed.match_indices(begin) {
            let message = "a common table expression that changes data: write two statements";
            findings.push(file.finding(numbers[start], "one-sql", message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn what_one_engine_alone_understands_is_refused() {
        let text = "\"INSERT OR IGNORE INTO a\";\n\"select datetime('now')\";\n// no json_each here\n\"SELECT 1\";\n";
        let tree = Tree::of(&[
            ("crates/engine/src/store/task.rs", text),
            ("crates/engine/src/store/sqlite.rs", text),
        ]);
        assert_eq!(lines(&statements_run_on_every_engine(&tree)), [1, 2]);
    }

    #[test]
    fn a_common_table_expression_that_changes_data_is_refused() {
        let text = "\"WITH gone AS (\n    DELETE FROM a RETURNING b\n) SELECT b FROM gone\"\n";
        let tree = Tree::of(&[("crates/engine/src/store/task.rs", text)]);
        assert_eq!(lines(&statements_run_on_every_engine(&tree)), [1]);
    }
}
