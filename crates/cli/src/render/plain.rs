//! Text from others, made harmless for a terminal: what could move the cursor or reorder the line is shown instead
//! of sent.

use std::fmt::Write;

/// One line: every control character, also a line break, is shown.
pub fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// A text of several lines: line breaks and tabs stay.
pub fn block(text: &str) -> String {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// JSON with the escapes of JSON.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) && c != '\n' {
            write!(out, "\\u{:04x}", u32::from(c)).ok();
        } else {
            out.push(c);
        }
    }
    out
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    if !text.chars().any(is_harmful) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if stays(c) || !is_harmful(c) => out.push(c),
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
    out
}

/// Control characters; marks that reorder or break a line.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
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
    fn every_script_stays_as_it_is() {
        for text in ["Ünïcödé 家 한국어", "👩‍👩‍👧 🇩🇪", "עברית العربية", "e\u{301}", "a\u{200d}b"]
        {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let text = "{\"a\":\"\u{9b}2J\u{202e}\u{7f}ü\"}\n";
        let shown = json(text);
        assert_eq!(shown, "{\"a\":\"\\u009b2J\\u202e\\u007fü\"}\n");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&shown), read(text));
    }
}
