//! What a person reads: lines, fields and small tables, as wide as the terminal and measured by grapheme.

use std::io::IsTerminal;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Show, plain};

/// Width of a line when no terminal says otherwise.
const WIDTH_DEFAULT: usize = 100;
/// A column is never made narrower than this to fit.
const COLUMN_MIN: usize = 8;

/// A page in the making.
pub struct Page {
    text: String,
    width: Option<usize>,
}

impl Page {
    /// A page for standard output: cut to a terminal's width, whole for everything else.
    pub fn new() -> Self {
        let width = std::io::stdout()
            .is_terminal()
            .then(|| terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0)));
        Self { text: String::new(), width }
    }

    /// The page of one answer.
    pub fn of(answer: &impl Show) -> String {
        let mut page = Self::new();
        answer.show(&mut page);
        page.finish()
    }

    /// A page of this width.
    #[cfg(test)]
    pub fn of_width(width: usize) -> Self {
        Self { text: String::new(), width: Some(width) }
    }

    /// Writes one line.
    pub fn line(&mut self, text: &str) {
        self.text.push_str(&plain::line(text));
        self.text.push('\n');
    }

    /// Writes a named value, if there is one.
    pub fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.line(&format!("{:<12} {value}", format!("{name}:")));
        }
    }

    /// Writes a text of several lines, set in.
    pub fn block(&mut self, text: &str) {
        for line in plain::block(text).trim_end_matches('\n').split('\n') {
            self.text.push_str("  ");
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Writes rows under a heading. The last column takes what the others leave.
    pub fn table<const N: usize>(&mut self, heading: [&str; N], rows: &[[String; N]]) {
        let whole: Vec<_> = std::iter::once(heading.map(str::to_owned)).chain(rows.iter().cloned()).collect();
        self.rows(&whole);
    }

    /// Writes rows in columns.
    pub fn rows<const N: usize>(&mut self, rows: &[[String; N]]) {
        let rows: Vec<[String; N]> =
            rows.iter().map(|row| row.clone().map(|cell| plain::line(&cell))).collect();
        let mut widths: [usize; N] =
            std::array::from_fn(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0));
        if let Some(width) = self.width {
            let others: usize = widths[..N - 1].iter().map(|width| width + 2).sum();
            widths[N - 1] = widths[N - 1].min(width.saturating_sub(others).max(COLUMN_MIN));
        }
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let cell = cut(cell, width);
                let padding = width.saturating_sub(cell.width()) + 2;
                line.push_str(&cell);
                line.push_str(&" ".repeat(padding));
            }
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// The finished page.
    pub fn finish(self) -> String {
        self.text
    }
}

/// The beginning of a text that fits, never ending inside a grapheme.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        if kept.width() + grapheme.width() + 1 > width {
            break;
        }
        kept.push_str(grapheme);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_grapheme_and_fit_the_width() {
        let mut page = Page::of_width(24);
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        page.table(
            ["ID", "TITLE"],
            &[row("家家-1", "short"), row("a-2", "👩‍👩‍👧 a title that is too long"), row("b", "\u{1b}[2J")],
        );
        let page = page.finish();
        assert_eq!(page, "ID      TITLE\n家家-1  short\na-2     👩‍👩‍👧 a title that…\nb       \\x1b[2J\n");
    }
}
