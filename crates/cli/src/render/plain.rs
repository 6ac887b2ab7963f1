//! Text from others, made harmless for a terminal: what could move the cursor, reorder the line or hide in it is
//! shown instead of sent.

use std::fmt::Write;

/// One line: every control character, also a line break, is shown.
pub fn line(text: &str) -> String {
    escaped(text, |_| false, in_words)
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
    if !text.chars().any(|c| is_harmful(c) || is_joiner(c)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let (mut before, mut rest) = (None, text.chars());
    while let Some(c) = rest.next() {
        let joins = || is_joiner(c) && joins(before, c, rest.clone().next());
        if stays(c) || joins() || !(is_harmful(c) || is_joiner(c)) {
            out.push(c);
        } else {
            escape(c, &mut out);
        }
        // What only varies an emoji does not part it from a joiner.
        if !matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}') {
            before = Some(c);
        }
    }
    out
}

/// Control characters; marks that reorder or break a line; characters of no width that make two texts look the same.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Characters of no width that have a meaning in some places only.
fn is_joiner(c: char) -> bool {
    matches!(c, ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER)
}

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Whether a joiner means something between these two: in an emoji of several, or inside a word of a script whose
/// letters change their shape beside each other.
fn joins(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    let both = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    both(is_shaped) || (joiner == ZERO_WIDTH_JOINER && both(is_pictograph))
}

/// The blocks from Arabic to Sinhala, Myanmar, Khmer and Mongolian, without their marks of direction.
fn is_shaped(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
}

/// The blocks that emoji are in.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
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
