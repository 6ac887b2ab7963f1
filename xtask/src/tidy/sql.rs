//! One SQL: each statement is written once and runs on every engine.

use std::collections::BTreeMap;

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

/// What a statement begins with.
const BEGINNINGS: [&str; 8] =
    ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ", "CREATE ", "ALTER ", "DROP "];
/// A shorter text says no more than that there is a statement.
const STATEMENT_BYTES_MIN: usize = 24;

/// No statement of the engine is written in two places: two databases run the same one.
pub fn statements_are_written_once(tree: &Tree) -> Vec<Finding> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.starts_with("crates/engine/src/")) {
        for (line, statement) in statements(file) {
            let place = format!("{}:{line}", file.path);
            match seen.get(&statement) {
                // A migration that builds a table anew builds its indexes anew.
                Some(first) if is_migration_of_all(first) && is_migration_of_all(&place) => {}
                Some(first) => {
                    let message = format!("this statement stands in {first} already: use that one");
                    findings.push(file.finding(line, "one-sql", message));
                }
                None => drop(seen.insert(statement, place)),
            }
        }
    }
    findings
}

/// Whether a place is in a migration that every database runs.
fn is_migration_of_all(place: &str) -> bool {
    let (path, _) = place.split_once(':').unwrap_or((place, ""));
    path.contains("/migrations/") && path.matches('.').count() == 1
}

/// The statements of a file, in one line each, with the lines that they begin in.
fn statements(file: &File) -> Vec<(usize, String)> {
    let is_sql = file.path.ends_with(".sql");
    let (mut found, mut begun) = (Vec::new(), is_sql.then(|| (1, String::new())));
    for (number, line) in (1..).zip(file.text.lines()) {
        let known = file.source.lines.get(number - 1);
        if !is_sql && known.is_some_and(|line| line.test) {
            continue;
        }
        let comment = known.map_or("", |line| line.comment.as_str());
        let code = if is_sql { line.split("--").next() } else { line.strip_suffix(comment) }.unwrap_or(line);
        let (end, mut escaped) = (if is_sql { ';' } else { '"' }, false);
        for character in code.replace("'\"'", "").chars() {
            match &mut begun {
                Some((_, text)) if escaped || character != end => text.push(character),
                Some(_) => {
                    found.extend(begun.take());
                    begun = is_sql.then(|| (number, String::new()));
                }
                None if character == end => begun = Some((number, String::new())),
                None => {}
            }
            escaped = !is_sql && character == '\\' && !escaped;
        }
        if let Some((_, text)) = &mut begun {
            text.push(' ');
        }
    }
    let squeezed = |text: &str| text.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let found = found.into_iter().map(|(line, text): (usize, String)| (line, squeezed(&text)));
    found
        .filter(|(_, text)| text.len() >= STATEMENT_BYTES_MIN)
        .filter(|(_, text)| BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)))
        .collect()
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

    #[test]
    fn a_statement_that_is_written_twice_is_refused_however_it_is_broken_into_lines() {
        let one = "const A: &str = \"SELECT a, b FROM task WHERE id = $1\";\n";
        let two =
            "// nothing\nconst B: &str = \"SELECT a, b \\\n    FROM task WHERE id = $1\";\nlet c = '\"';\n";
        let test =
            "#[cfg(test)]\nmod tests {\n    const C: &str = \"SELECT a, b FROM task WHERE id = $1\";\n}\n";
        let sql = "-- a comment\nCREATE TABLE words (\n  id TEXT\n);\nCREATE INDEX a ON words (id, id);\n";
        let tree = Tree::of(&[
            ("crates/engine/src/store/one.rs", one),
            ("crates/engine/src/store/postgres/two.rs", two),
            ("crates/engine/src/store/three.rs", test),
            ("crates/engine/src/store/migrations/1.sql", sql),
            ("crates/engine/src/store/migrations/1.postgres.sql", sql),
        ]);
        let found = statements_are_written_once(&tree);
        let places: Vec<(&str, usize)> =
            found.iter().map(|found| (found.path.as_str(), found.line)).collect();
        assert_eq!(
            places,
            [
                ("crates/engine/src/store/postgres/two.rs", 2),
                ("crates/engine/src/store/migrations/1.postgres.sql", 1),
                ("crates/engine/src/store/migrations/1.postgres.sql", 4)
            ]
        );
    }
}
