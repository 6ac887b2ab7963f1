//! How a text is cut into words, and when two words are the same.
//!
//! Letters and digits make words, everything else parts them: `foo_bar`, `src/main.rs` and `#123` are the words `foo`
//! `bar`, `src` `main` `rs` and `123`, which stand side by side. Case, diacritics and compatibility forms do not matter.
//! In scripts that are written without spaces every character is a word, so that any part of a text is found as a row
//! of words.

use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible, is_combining_mark};

use crate::model::glyphs::is_ignorable;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it is compared.
    pub folded: String,
    /// Where it stands in the text, in bytes.
    pub place: Range<usize>,
}

/// The words of a text in their order.
#[must_use]
pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    each(text, &mut |folded, place| words.push(Word { folded: folded.to_owned(), place }));
    words
}

/// The words of a text as they are compared, with a space between them: what an index is given. A folded word has no
/// character of ASCII but lower-case letters and digits.
#[must_use]
pub fn folded(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    each(text, &mut |folded, _| {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(folded);
    });
    line
}

/// Whether a folded word is one character of a script that is written without spaces.
#[must_use]
pub fn is_unspaced(folded: &str) -> bool {
    folded.chars().next().is_some_and(stands_alone)
}

/// What a character does to the word before it.
enum Part {
    /// It goes on with a word, or begins one.
    Letter,
    /// It is a word of its own.
    Alone,
    /// It belongs to the character before it.
    Joined,
    /// It is left out, and parts nothing.
    Nothing,
    /// It parts words.
    Gap,
}

/// Marks from this combining class on change how a letter is said or stressed, and people leave them out when they
/// type. Those below it (a virama, a nukta, the marks that voice kana) make another letter.
const DIACRITICS_FROM: u8 = 10;

fn part(c: char) -> Part {
    if is_combining_mark(c) {
        let is_diacritic = canonical_combining_class(c) >= DIACRITICS_FROM;
        return if is_diacritic { Part::Nothing } else { Part::Joined };
    }
    match c {
        // Vowels and finals of a Korean syllable that was taken apart.
        '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}' => Part::Joined,
        c if !c.is_alphanumeric() => Part::Gap,
        c if stands_alone(c) => Part::Alone,
        _ => Part::Letter,
    }
}

/// The blocks of scripts that are written without spaces: Thai to Tibetan, Myanmar, Khmer, Hangul (whose words carry
/// their particles), kana and bopomofo, and Han.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}')
        || matches!(c, '\u{3000}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}')
        || matches!(c, '\u{f900}'..='\u{faff}' | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

/// A word in the making.
struct Open<'a> {
    folded: String,
    place: Range<usize>,
    is_alone: bool,
    told: &'a mut dyn FnMut(&str, Range<usize>),
}

impl Open<'_> {
    fn finish(&mut self) {
        if !self.folded.is_empty() {
            (self.told)(&self.folded, self.place.clone());
            self.folded.clear();
        }
    }

    fn push(&mut self, c: char, at: &Range<usize>) {
        if self.folded.is_empty() {
            self.place = at.clone();
        }
        self.place.end = at.end;
        // Both ways, because some letters have two small forms (ς, σ) and some large ones are several (ß).
        self.folded.extend(c.to_uppercase().flat_map(char::to_lowercase));
    }

    fn take(&mut self, c: char, at: &Range<usize>) {
        match part(c) {
            Part::Letter => {
                if self.is_alone {
                    self.finish();
                }
                self.is_alone = false;
                self.push(c, at);
            }
            Part::Alone => {
                self.finish();
                self.is_alone = true;
                self.push(c, at);
            }
            Part::Joined if !self.folded.is_empty() => self.push(c, at),
            Part::Nothing if !self.folded.is_empty() => self.place.end = at.end,
            Part::Joined | Part::Nothing => {}
            Part::Gap => self.finish(),
        }
    }
}

fn each(text: &str, told: &mut dyn FnMut(&str, Range<usize>)) {
    let mut open = Open { folded: String::new(), place: 0..0, is_alone: false, told };
    for (start, c) in text.char_indices() {
        let at = start..start + c.len_utf8();
        if c.is_ascii() {
            open.take(c, &at);
        } else if !is_ignorable(c) {
            decompose_compatible(c, |c| open.take(c, &at));
        }
    }
    open.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_make_words_and_all_else_parts_them() {
        let cases = [
            ("Fix the PARSER!", "fix the parser"),
            ("foo_bar src/main.rs #123 v1.2 a::b", "foo bar src main rs 123 v1 2 a b"),
            ("caf\u{e9} cafe\u{301} CAFÉ", "cafe cafe cafe"),
            ("Straße STRASSE", "strasse strasse"),
            ("ΟΔΟΣ οδός", "οδοσ οδοσ"),
            ("İstanbul ısı", "istanbul isi"),
            ("ﬁle １２ ½", "file 12 1 2"),
            ("soft\u{ad}ware zero\u{200b}width", "software zerowidth"),
            ("漢字とかな", "漢 字 と か な"),
            ("abc漢d", "abc 漢 d"),
            ("が か\u{3099} か", "か\u{3099} か\u{3099} か"),
            ("한 \u{1112}\u{1161}\u{11ab}", "\u{1112}\u{1161}\u{11ab} \u{1112}\u{1161}\u{11ab}"),
            ("नमस्ते", "नमस्ते"),
            ("กขค", "ก ข ค"),
            ("עִבְרִית", "עברית"),
            ("\u{301}\u{20e3}", ""),
            ("-> ?! \u{0}\u{1b}[ 🚀 👩‍👩‍👧", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(folded(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_word_knows_its_place() {
        let text = "a cafe\u{301}, 漢字";
        let found: Vec<&str> = words(text).into_iter().map(|word| &text[word.place]).collect();
        assert_eq!(found, ["a", "cafe\u{301}", "漢", "字"]);
    }

    #[test]
    fn a_folded_word_means_nothing_to_any_database() {
        let all: String = ('\0'..=char::MAX).collect();
        for word in words(&all) {
            let plain = |c: char| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit();
            assert!(word.folded.chars().all(plain), "{:?}", word.folded);
        }
    }
}
