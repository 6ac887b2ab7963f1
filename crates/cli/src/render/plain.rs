//! Text from others, made harmless for a terminal: what could move the cursor, reorder the line or hide in it is
//! shown instead of sent.

use std::fmt::Write;

use tenure_core::model::glyphs::is_ignorable;
use tenure_core::model::limits::ECHO_CHARACTERS;

/// One line: every control character, also a line break, is shown.
pub fn line(text: &str) -> String {
    escaped(text, |_| false, in_words)
}

/// A word of the command line as a message repeats it: one line, and not all of what is long.
pub fn echo(word: &str) -> String {
    match word.char_indices().nth(ECHO_CHARACTERS) {
        Some((end, _)) => line(&word[..end]) + "…",
        None => line(word),
    }
}

/// A text of several lines: line breaks and tabs stay.
pub fn block(text: &str) -> String {
    escaped(text, |c| c == '\n' || c == '\t', in_words)
}

/// JSON with the escapes of JSON.
pub fn json(text: &str) -> String {
    escaped(text, |c| c == '\n', in_json)
}

fn in_words(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if u32::from(c) < 0x100 => {
            write!(out, "\\x{:02x}", u32::from(c)).ok();
        }
        c => {
            write!(out, "\\u{{{:x}}}", u32::from(c)).ok();
        }
    }
}

fn in_json(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        write!(out, "\\u{unit:04x}").ok();
    }
}

/// The text with everything harmful escaped, except what stays.
fn escaped(text: &str, stays: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> String {
    if !text.chars().any(is_harmful) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let (mut before, mut varied, mut rest) = (None, false, text.chars());
    while let Some(c) = rest.next() {
        let means_something = || match c {
            EMOJI_STYLE => !varied && before.is_some_and(is_pictograph),
            ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER => joins(before, c, rest.clone().next()),
            _ => false,
        };
        if stays(c) || !is_harmful(c) || means_something() {
            out.push(c);
        } else {
            escape(c, &mut out);
        }
        // What only varies an emoji does not part it from a joiner.
        varied = c == EMOJI_STYLE;
        if !varied && !matches!(c, '\u{1f3fb}'..='\u{1f3ff}') {
            before = Some(c);
        }
    }
    out
}

/// Control characters; what breaks a line or annotates it; and whatever has no glyph: it can reorder a line, or make two
/// texts look the same that are not.
fn is_harmful(c: char) -> bool {
    c.is_control() || is_ignorable(c) || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
}

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
/// Variation selector 16: the character before it is shown as an emoji.
const EMOJI_STYLE: char = '\u{fe0f}';

/// Whether a joiner means something between these two: in an emoji of several, or inside a word of a script whose
/// letters change their shape beside each other.
fn joins(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    let both = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    both(is_shaped) || (joiner == ZERO_WIDTH_JOINER && both(is_pictograph))
}

/// The blocks from Arabic to Sinhala, Myanmar, Khmer and Mongolian, without what has no glyph.
fn is_shaped(c: char) -> bool {
    let in_blocks = matches!(c, '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}');
    in_blocks && !is_ignorable(c)
}

/// The blocks that emoji are in, and the signs elsewhere that have an emoji's style.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
        || matches!(c, '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_shown_and_not_sent() {
        assert_eq!(line("\u{1b}[31mred\u{1b}]0;title\u{7}"), r"\x1b[31mred\x1b]0;title\x07");
        assert_eq!(line("a\r\nb\tc\u{9b}2J\u{7f}"), r"a\r\nb\tc\x9b2J\x7f");
        assert_eq!(block("a\r\nb\tc\u{8}"), "a\\r\nb\tc\\x08");
        assert_eq!(line("abc\u{202e}fed\u{2066}\u{200f}"), r"abc\u{202e}fed\u{2066}\u{200f}");
        assert_eq!(line("\u{2028}\u{e0041}\u{feff}"), r"\u{2028}\u{e0041}\u{feff}");
    }

    #[test]
    fn what_has_no_width_is_shown_where_it_joins_nothing() {
        let hidden =
            "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}";
        for c in hidden.chars() {
            let shown = format!("\\u{{{:x}}}", u32::from(c));
            for (before, after) in [("afc", "1"), ("", ""), ("", "x"), ("👩", ""), ("👩", "x"), ("می", " ")]
            {
                assert_eq!(line(&format!("{before}{c}{after}")), format!("{before}{shown}{after}"));
            }
        }
        assert_eq!(line("👩\u{200d}\u{200d}👧"), r"👩\u{200d}\u{200d}👧");
    }

    /// Every character that some program may use to hide, reorder or annotate, in this test's own words.
    fn hiding() -> impl Iterator<Item = char> {
        let singles = ['\u{ad}', '\u{34f}', '\u{61c}', '\u{180e}', '\u{3164}', '\u{feff}', '\u{ffa0}'];
        let pairs = ['\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}'];
        let ranges = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}'];
        let selectors = ['\u{fe00}'..='\u{fe0f}', '\u{fff9}'..='\u{fffb}', '\u{e0000}'..='\u{e0fff}'];
        singles.into_iter().chain(pairs).chain(ranges.into_iter().chain(selectors).flatten())
    }

    #[test]
    fn whatever_has_no_glyph_is_shown_in_every_place_that_prints() {
        for c in hiding() {
            let code = u32::from(c);
            let shown = if code < 0x100 { format!("a\\x{code:02x}b") } else { format!("a\\u{{{code:x}}}b") };
            let text = format!("a{c}b");
            assert_eq!(line(&text), shown);
            assert_eq!(block(&text), shown);
            assert!(json(&text).is_ascii(), "{:?}", json(&text));
        }
    }

    #[test]
    fn an_emojis_style_stays_directly_behind_a_pictograph_only() {
        for text in ["❤\u{fe0f}", "🏳\u{fe0f}\u{200d}🌈", "©\u{fe0f} ⚠\u{fe0f}!"] {
            assert_eq!(line(text), text);
        }
        assert_eq!(line("a\u{fe0f}"), r"a\u{fe0f}");
        assert_eq!(line("\u{fe0f}"), r"\u{fe0f}");
        assert_eq!(line("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}\\u{fe0f}");
        assert_eq!(line("❤\u{fe0e}"), r"❤\u{fe0e}");
    }

    #[test]
    fn every_script_stays_as_it_is() {
        for text in [
            "Ünïcödé 家 한국어",
            "👩‍👩‍👧 🇩🇪 ❤\u{fe0f}\u{200d}🔥 👩🏽\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 🐻\u{200d}❄\u{fe0f}",
            "עברית العربية می\u{200c}خواهم क\u{94d}\u{200d}ष ශ\u{dca}\u{200d}රී",
            "e\u{301}",
        ] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let text = "{\"a\":\"\u{9b}2J\u{202e}\u{7f}ü\u{200b}\u{e0041}👩‍👧\"}\n";
        let shown = json(text);
        assert_eq!(shown, "{\"a\":\"\\u009b2J\\u202e\\u007fü\\u200b\\udb40\\udc41👩‍👧\"}\n");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&shown), read(text));
    }
}
