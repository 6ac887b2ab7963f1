//! The part of a text that answers a query, in pieces: what is found, and what stands around it.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::query::Query;
use super::words::words;

/// How much of a text is shown, in bytes of what is not cut off.
const EXCERPT_BYTES: usize = 200;
/// How much of that stands before the first place that is shown.
const LEAD_BYTES: usize = 40;
/// How many places are looked at: enough to find a good part of the longest text.
const PLACES_MAX: usize = 2_000;

/// A part of an excerpt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    /// Its text.
    pub text: String,
    /// Whether it is what was looked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hit: bool,
}

/// The best part of a text for a query, and how many of the things that are wanted stand in the text.
pub struct Excerpt {
    /// In its order; white space is one space, and an ellipsis stands where the text goes on.
    pub pieces: Vec<Piece>,
    /// How many of the things that are wanted stand in the whole text.
    pub answered: usize,
}

/// Where something that is wanted stands.
struct Place {
    at: Range<usize>,
    term: usize,
}

/// The part of a text in which most of what is wanted stands close together; nothing if nothing of it does.
#[must_use]
pub fn excerpt(text: &str, query: &Query) -> Option<Excerpt> {
    let words = words(text);
    let mut places: Vec<Place> = Vec::new();
    let mut answered = 0;
    for (term, wanted) in query.wanted.iter().enumerate() {
        let found = wanted.places(&words).take(PLACES_MAX);
        let before = places.len();
        places.extend(
            found.map(|(first, last)| Place { at: words[first].place.start..words[last].place.end, term }),
        );
        answered += usize::from(places.len() > before);
    }
    places.sort_by_key(|place| (place.at.start, place.at.end));
    let first = best(&places)?;
    let part = around(text, places[first].at.start);
    let pieces = cut(text, &part, places.iter().map(|place| &place.at));
    Some(Excerpt { pieces, answered })
}

/// The place from which on most different things follow within an excerpt.
fn best(places: &[Place]) -> Option<usize> {
    let different = |first: usize| {
        let start = places[first].at.start;
        let near =
            places[first..].iter().take_while(|place| place.at.end <= start + EXCERPT_BYTES - LEAD_BYTES);
        let mut terms: Vec<usize> = near.take(64).map(|place| place.term).collect();
        terms.sort_unstable();
        terms.dedup();
        terms.len()
    };
    // The first of the best ones.
    (0..places.len()).rev().max_by_key(|first| different(*first))
}

/// The part of a text that shows a place: from a gap between words to another one, where there are gaps.
fn around(text: &str, place: usize) -> Range<usize> {
    if text.len() <= EXCERPT_BYTES {
        return 0..text.len();
    }
    let start = boundary(text, place.saturating_sub(LEAD_BYTES));
    let gap = text[start..place].find(char::is_whitespace);
    let start = if start == 0 { 0 } else { gap.map_or(start, |gap| start + gap) };
    let end = boundary(text, (start + EXCERPT_BYTES).min(text.len()));
    let gap = text[place..end].rfind(char::is_whitespace).filter(|gap| *gap > LEAD_BYTES);
    let end = if end == text.len() { end } else { gap.map_or(end, |gap| place + gap) };
    start..end
}

/// The last boundary of a character up to this byte.
fn boundary(text: &str, byte: usize) -> usize {
    (0..=byte).rev().find(|byte| text.is_char_boundary(*byte)).unwrap_or(0)
}

/// A part of a text in pieces: the places in it, which may overlap, and what stands between them.
fn cut<'a>(text: &str, part: &Range<usize>, places: impl Iterator<Item = &'a Range<usize>>) -> Vec<Piece> {
    let mut pieces = Pieces(Vec::new());
    if part.start > 0 {
        pieces.push("…", false);
    }
    let mut done = part.start;
    for place in places {
        let (start, end) = (place.start.max(done), place.end.min(part.end));
        if start < end {
            pieces.push(&text[done..start], false);
            pieces.push(&text[start..end], true);
            done = end;
        }
    }
    pieces.push(&text[done..part.end], false);
    if part.end < text.len() {
        pieces.push("…", false);
    }
    pieces.0
}

struct Pieces(Vec<Piece>);

impl Pieces {
    /// Adds a text, its white space as single spaces. Neighbours of one kind are one piece.
    fn push(&mut self, text: &str, hit: bool) {
        let mut line = String::new();
        let ends_with_space = |pieces: &Self| pieces.0.last().is_none_or(|piece| piece.text.ends_with(' '));
        for c in text.chars() {
            match (c.is_whitespace(), line.is_empty()) {
                (false, _) => line.push(c),
                (true, true) if !ends_with_space(self) => line.push(' '),
                (true, false) if !line.ends_with(' ') => line.push(' '),
                (true, _) => {}
            }
        }
        match self.0.last_mut() {
            _ if line.is_empty() => {}
            Some(last) if last.hit == hit => last.text.push_str(&line),
            Some(_) | None => self.0.push(Piece { text: line, hit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, query: &str) -> Option<(String, usize)> {
        let found = excerpt(text, &Query::read(query).expect("a query"))?;
        let marked = |piece: &Piece| if piece.hit { format!("[{}]", piece.text) } else { piece.text.clone() };
        Some((found.pieces.iter().map(marked).collect(), found.answered))
    }

    #[test]
    fn what_is_found_is_marked_as_it_stands() {
        let cases = [
            ("Fix the Parser", "parse", "Fix the [Parser]", 1),
            ("a café, a CAFE\u{301}", "cafe", "a [café], a [CAFE\u{301}]", 1),
            ("in src/main.rs:12\n\n  and  more", "src/main.rs more", "in [src/main.rs]:12 and [more]", 2),
            ("漢字とかな", "字と", "漢[字と]かな", 1),
            ("foo bar baz", "\"foo bar\" \"bar baz\"", "[foo bar baz]", 2),
        ];
        for (text, query, expected, answered) in cases {
            assert_eq!(shown(text, query), Some((expected.to_owned(), answered)), "{text:?}");
        }
        assert_eq!(shown("nothing of it", "parser"), None);
    }

    #[test]
    fn of_a_long_text_the_part_with_most_of_it_is_shown() {
        let far = "word ".repeat(200);
        let text = format!("the parser {far}near the parser it crashes {far}");
        let (shown, answered) = shown(&text, "crash parser").expect("found");
        assert!(shown.starts_with("… ") && shown.ends_with('…'), "{shown}");
        assert!(shown.contains("near the [parser] it [crashes]"), "{shown}");
        assert!(shown.len() < EXCERPT_BYTES + 20 && answered == 2, "{shown}");
    }

    #[test]
    fn any_text_is_cut_between_characters() {
        for unit in ["家", "👩‍👩‍👧", "e\u{301}", "x"] {
            let text = format!("{}needle{}", format!("{unit}!").repeat(500), format!("!{unit}").repeat(500));
            let (shown, _) = shown(&text, "needle").expect("found");
            assert!(shown.contains("[needle]") && shown.len() < 2 * EXCERPT_BYTES, "{shown}");
        }
    }
}
