//! Words in PostgreSQL: an index tells which texts have all words of a term, the texts themselves whether they stand side by
//! side and where.

use std::fmt::Write as _;

use tenure_core::search::query::{Query, Term};

use super::{FullText, HITS, ranked};
use crate::store::driver::Values;

/// How PostgreSQL finds words in texts.
pub static FULL_TEXT: FullText = FullText { text_for, wanted: terms, unwanted: terms };

/// How much of a word the index has: `words_of` in the migration.
const INDEXED_CHARACTERS: usize = 200;

/// What a term is asked for by: which words a text must have, and how they stand in it.
fn terms(terms: &[Term], values: &mut Values<'_>) {
    for term in terms {
        let indexed = |word: &String| word.chars().take(INDEXED_CHARACTERS).collect::<String>();
        let mut words: Vec<String> = term.words.iter().map(|word| format!("'{}'", indexed(word))).collect();
        if let Some(last) = words.last_mut().filter(|_| term.is_beginning) {
            last.push_str(":*");
        }
        values.text(words.join(" & "));
        let end = if term.is_beginning { "" } else { " " };
        // Folded words hold neither of the characters that mean something to LIKE.
        values.text(format!("% {}{end}%", term.words.join(" ")));
    }
}

/// Whether a text has a term's words side by side.
fn has(column: &str, value: usize) -> String {
    format!("' ' || {column} || ' ' LIKE ${value}")
}

/// The rows that have a term. It travels as a text.
fn with_term(value: usize) -> String {
    let columns = ["passage_words.title", "passage_words.description", "passage_words.entry"]
        .map(|column| has(column, value + 1));
    format!("words @@ ${value}::text::tsquery AND ({})", columns.join(" OR "))
}

/// The statement for a query. A word weighs as it does elsewhere by where it stands, and less in a longer text.
#[must_use]
pub fn text_for(query: &Query, in_project: bool) -> String {
    let mut sql = String::from(HITS);
    for (index, _) in query.wanted.iter().enumerate() {
        let union = if index == 0 { "" } else { " UNION ALL " };
        let value = 2 * index + 1;
        let _ = write!(
            sql,
            "{union}SELECT {index}, rowid, (CASE WHEN {} THEN 10.0 WHEN {} THEN 3.0 ELSE 1.0 END) \
             / (1.0 + ln(2.0 + length(title) + length(description) + length(entry))) FROM passage_words WHERE {}",
            has("title", value + 1),
            has("description", value + 1),
            with_term(value)
        );
    }
    sql.push_str(
        "), best (task, entry, score) AS (SELECT DISTINCT ON (passage.task, hit.term) passage.task, passage.entry, \
         hit.score FROM hit JOIN passage ON passage.id = hit.id \
         ORDER BY passage.task, hit.term, hit.score DESC, passage.id), \
         task_score (task, entry, score) AS (SELECT task, (array_agg(entry ORDER BY score DESC, entry))[1], sum(score) \
         FROM best GROUP BY task HAVING count(*) = ",
    );
    let _ = write!(sql, "{})", query.wanted.len());
    sql + &ranked(query, in_project, 2 * query.wanted.len(), " DESC", |value| {
        let terms = (0..query.unwanted.len()).map(|term| format!("({})", with_term(value + 2 * term)));
        (terms.collect::<Vec<_>>().join(" OR "), 2 * query.unwanted.len())
    })
}
