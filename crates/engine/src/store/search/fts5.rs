//! Words in SQLite: its index of full text, ranked by bm25.

use std::fmt::Write as _;

use tenure_core::search::query::{Query, Term};

use super::{FullText, HITS, ranked};
use crate::store::driver::Values;

/// How SQLite finds words in texts.
pub static FULL_TEXT: FullText = FullText { text_for, wanted, unwanted };

/// What a word weighs in a title, in a description, and in an entry.
const WEIGHTS: &str = "10.0, 3.0, 1.0";

fn wanted(terms: &[Term], values: &mut Values<'_>) {
    terms.iter().for_each(|term| values.text(matching(term)));
}

fn unwanted(terms: &[Term], values: &mut Values<'_>) {
    if !terms.is_empty() {
        values.text(terms.iter().map(matching).collect::<Vec<_>>().join(" OR "));
    }
}

/// The statement for a query.
#[must_use]
pub fn text_for(query: &Query, in_project: bool) -> String {
    let terms = query.wanted.len();
    let mut sql = String::from(HITS);
    for term in 1..=terms {
        let union = if term == 1 { "" } else { " UNION ALL " };
        let _ = write!(
            sql,
            "{union}SELECT {term}, rowid, bm25(passage_words, {WEIGHTS}) FROM passage_words \
             WHERE passage_words MATCH ${term}"
        );
    }
    // Of the one row that has the least score come the other columns as well: SQLite promises it.
    sql.push_str(
        "), best (task, entry, score) AS (SELECT passage.task, passage.entry, min(hit.score) FROM hit \
         JOIN passage ON passage.id = hit.id GROUP BY passage.task, hit.term), \
         task_score (task, entry, least, score) AS (SELECT task, entry, min(score), sum(score) FROM best \
         GROUP BY task HAVING count(*) = ",
    );
    let _ = write!(sql, "{terms})");
    // All unwanted terms are one value, and the least score is the best.
    sql + &ranked(query, in_project, terms, "", |value| (format!("passage_words MATCH ${value}"), 1))
}

/// What a term matches, in the index's language: folded words in quotes. A word as it stands weighs more than one that
/// only begins like it, because fewer texts have it.
fn matching(term: &Term) -> String {
    let words = term.words.join(" ");
    if term.is_beginning { format!("(\"{words}\" OR \"{words}\" *)") } else { format!("\"{words}\"") }
}
