//! Characters that have no glyph of their own: who reads a text does not see that they are there.

/// `Default_Ignorable_Code_Point` of Unicode 16.0 (DerivedCoreProperties.txt), sorted. The marks of direction, the tags
/// and all variation selectors are among them.
const IGNORABLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character is one that Unicode says to show nothing for.
#[must_use]
pub fn is_ignorable(c: char) -> bool {
    let next = IGNORABLE.partition_point(|(first, _)| *first <= c);
    next > 0 && c <= IGNORABLE[next - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ignorable_characters_are_those_of_unicode() {
        let unicode =
            regex::Regex::new(r"^\p{Default_Ignorable_Code_Point}$").expect("a property of Unicode");
        for c in '\0'..=char::MAX {
            assert_eq!(
                is_ignorable(c),
                unicode.is_match(c.encode_utf8(&mut [0; 4])),
                "U+{:04X}",
                u32::from(c)
            );
        }
    }
}
