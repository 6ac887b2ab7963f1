//! What a query asks for. It is words and nothing else: whatever a person types means something or is a gap between
//! words, and no character of it reaches a database.

use super::words::{Word, is_unspaced, words};
use crate::model::limits::{QUERY_BYTES, QUERY_TERMS, check_text};
use crate::model::refusal::Refusal;

/// From how many characters on a word also finds what begins with it. Shorter ones begin too many.
const BEGINNING: usize = 3;

/// One thing that a query names: a word, or words that stand side by side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// Folded words, at least one.
    pub words: Vec<String>,
    /// Whether the last one may go on.
    pub is_beginning: bool,
}

/// What a query asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Query {
    /// All of these, at least one.
    pub wanted: Vec<Term>,
    /// None of these.
    pub unwanted: Vec<Term>,
}

impl Query {
    /// Reads what was typed: words, phrases in double quotes, and a minus directly before what must not be there.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        check_text("query", text, QUERY_BYTES, false)?;
        let mut query = Self { wanted: Vec::new(), unwanted: Vec::new() };
        for piece in pieces(text) {
            let terms = if piece.is_unwanted { &mut query.unwanted } else { &mut query.wanted };
            if let Some(term) = Term::of(piece.text, piece.is_quoted)
                && !terms.contains(&term)
            {
                terms.push(term);
            }
        }
        let terms = query.wanted.len() + query.unwanted.len();
        if terms > QUERY_TERMS {
            let wrong = format!("names {terms} words and phrases, the limit is {QUERY_TERMS}");
            return Err(Refusal::field("query", &wrong, "leave out the most common ones"));
        }
        match (query.wanted.is_empty(), query.unwanted.is_empty()) {
            (false, _) => Ok(query),
            (true, true) => {
                Err(Refusal::field("query", "has neither letters nor digits", "name a word to look for"))
            }
            (true, false) => {
                Err(Refusal::field("query", "says only what must not be there", "name a word to look for"))
            }
        }
    }

    /// Whether texts that belong together answer the query: each thing that is wanted is in some of them, and nothing
    /// that is not wanted in any.
    #[must_use]
    pub fn is_answered_by(&self, texts: &[&str]) -> bool {
        let texts: Vec<Vec<Word>> = texts.iter().map(|text| words(text)).collect();
        let is_there = |term: &Term| texts.iter().any(|words| term.places(words).next().is_some());
        self.wanted.iter().all(is_there) && !self.unwanted.iter().any(is_there)
    }
}

impl Term {
    fn of(text: &str, is_quoted: bool) -> Option<Self> {
        let words: Vec<String> = words(text).into_iter().map(|word| word.folded).collect();
        let last = words.last()?;
        let is_beginning = !is_quoted && !is_unspaced(last) && last.chars().count() >= BEGINNING;
        Some(Self { words, is_beginning })
    }

    /// Where it stands among the words of a text: the first and the last word of each occurrence.
    pub fn places<'a>(&'a self, text: &'a [Word]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let (last, before) = self.words.split_last().expect("a term has a word");
        let stands = move |row: &&[Word]| {
            let (end, begin) = row.split_last().expect("a window is not empty");
            let ends = if self.is_beginning { end.folded.starts_with(last) } else { end.folded == *last };
            ends && begin.iter().zip(before).all(|(found, wanted)| found.folded == *wanted)
        };
        let rows = text.windows(self.words.len()).enumerate().filter(move |(_, row)| stands(row));
        rows.map(|(first, row)| (first, first + row.len() - 1))
    }
}

struct Piece<'a> {
    text: &'a str,
    is_quoted: bool,
    is_unwanted: bool,
}

/// Cuts a query at spaces and at double quotes. A quote that is not closed reaches to the end.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        // `--json` is looked for; `-json` is what must not be there.
        let after = rest.strip_prefix('-');
        let negated = after.filter(|after| after.starts_with(|c: char| c == '"' || c.is_alphanumeric()));
        let is_unwanted = negated.is_some();
        rest = negated.unwrap_or(rest);
        let is_quoted = rest.starts_with('"');
        let (piece, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_at(rest.find(|c: char| c == '"' || c.is_whitespace()).unwrap_or(rest.len())),
        };
        pieces.push(Piece { text: piece, is_quoted, is_unwanted });
        rest = behind.trim_start();
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::refusal::Code;

    fn told(text: &str) -> String {
        let query = Query::read(text).expect("a query");
        let terms = query.wanted.iter().map(|term| (term, "")).chain(query.unwanted.iter().map(|t| (t, "-")));
        let told = terms.map(|(term, sign)| {
            format!("{sign}{}{}", term.words.join("+"), if term.is_beginning { "…" } else { "" })
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_phrases_and_exclusions_are_read_from_whatever_is_typed() {
        let cases = [
            ("parser crash", "parser… crash…"),
            ("  parser\t parser\n", "parser…"),
            ("ui a CI", "ui a ci"),
            ("foo_bar src/main.rs #123", "foo+bar… src+main+rs 123…"),
            ("\"exact phrase\" more", "exact+phrase more…"),
            ("say \"never closed end", "say… never+closed+end"),
            ("a\"b c\"d", "a b+c d"),
            ("parser -flaky -\"old one\"", "parser… -flaky… -old+one"),
            ("--json -> - -- well-known", "json… well+known…"),
            ("pars* NEAR(a, b) AND title:x \\", "pars… near+a b and… title+x"),
            ("漢字 ab漢", "漢+字 ab+漢"),
            ("🚀 launch", "launch…"),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_names_nothing_is_refused_with_the_remedy() {
        let many = (0..=QUERY_TERMS).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        let long = "x".repeat(QUERY_BYTES + 1);
        for text in ["", " ", "\u{200b}", "?!", "\"\"", "🚀", "-flaky", "a\0b", &many, &long] {
            let refusal = Query::read(text).expect_err(text);
            assert_eq!(refusal.code, Code::InvalidInput, "{text:?}");
            assert!(refusal.detail.contains("query"), "{}", refusal.detail);
            assert!(!refusal.next_actions.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn all_that_is_wanted_may_stand_in_different_texts() {
        let answered =
            |query: &str, texts: &[&str]| Query::read(query).expect("a query").is_answered_by(texts);
        assert!(answered("parser crash", &["The Parser", "it crashes on é"]));
        assert!(!answered("parser crash", &["The Parser", "it breaks"]));
        assert!(!answered("\"pars\"", &["The Parser"]));
        assert!(!answered("\"the parser\"", &["the", "parser"]));
        assert!(!answered("parser -crash", &["The Parser", "it crashes"]));
        assert!(answered("字と", &["漢字とかな"]));
    }
}
