//! Our own texts on a narrow terminal: lines that are too long go on below, set in as far as the words that they belong to.

use unicode_width::UnicodeWidthStr;

/// How far a line goes on set in at most, as a part of the width.
const PART: usize = 2;
/// How far beyond its own beginning a line goes on that has no column to go on in.
const INDENT: usize = 2;

/// The text with no line longer than this, except by a word that is.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let end = if text.ends_with('\n') { "\n" } else { "" };
    text.lines().map(|line| one(line, width)).collect::<Vec<_>>().join("\n") + end
}

fn one(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let begins = line.len() - line.trim_start().len();
    let column = column(line, begins).filter(|column| *column <= width / PART);
    let indent = column.unwrap_or(begins + INDENT);
    // What stands before the column keeps its own spaces.
    let (lead, words) = line.split_at(column.unwrap_or(begins));
    let (mut out, mut at, mut is_first) = (lead.to_owned(), lead.width(), true);
    for word in words.split_whitespace() {
        if !is_first && at + 1 + word.width() > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            at = indent;
        } else if !is_first {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += word.width();
        is_first = false;
    }
    out
}

/// Where the second column of a line begins, if it has one: behind the first gap of two spaces.
fn column(line: &str, begins: usize) -> Option<usize> {
    let gap = begins + line[begins..].find("  ")?;
    Some(gap + line[gap..].len() - line[gap..].trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_in_its_column() {
        let text = "Exit codes and more:\n       1  The command was used wrongly.\n  a line that is set in and long\n";
        assert_eq!(
            wrapped(text, Some(22)),
            "Exit codes and more:\n       1  The command\n          was used\n          wrongly.\n  a line that is set\n    in and long\n"
        );
        assert_eq!(wrapped(text, None), text);
        assert_eq!(wrapped(text, Some(80)), text);
    }

    #[test]
    fn a_column_that_leaves_too_little_is_none() {
        assert_eq!(wrapped("a-long-name  says what it does", Some(20)), "a-long-name says\n  what it does");
        assert_eq!(wrapped("one-word-that-is-too-long", Some(10)), "one-word-that-is-too-long");
    }
}
