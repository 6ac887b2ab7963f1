//! What a person reads: lines, fields and small tables, as wide as the terminal and measured by grapheme.

use std::io::IsTerminal;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use tenure_core::search::excerpt::Piece;

use super::{Show, plain};

/// Width of a line when no terminal says otherwise.
const WIDTH_DEFAULT: usize = 100;
/// A column is never made narrower than this to fit.
const COLUMN_MIN: usize = 8;

/// A page in the making.
pub struct Page {
    text: String,
    width: Option<usize>,
    /// Whether what was looked for stands out.
    is_bold: bool,
}

/// What makes a text stand out on a terminal, and what ends that.
const BOLD: [&str; 2] = ["\x1b[1m", "\x1b[22m"];

/// Whether a terminal may be told how to show something.
fn may_be_styled() -> bool {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    variable("NO_COLOR").is_none() && variable("TERM").is_some_and(|terminal| terminal != "dumb")
}

impl Page {
    /// A page for standard output: cut to a terminal's width, whole for everything else.
    pub fn new() -> Self {
        let width = std::io::stdout()
            .is_terminal()
            .then(|| terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0)));
        Self { text: String::new(), width, is_bold: width.is_some() && may_be_styled() }
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
        Self { text: String::new(), width: Some(width), is_bold: false }
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

    /// Writes a line in pieces, of which some stand out where a terminal can show that.
    pub fn pieces(&mut self, lead: &str, pieces: &[Piece]) {
        let whole = |piece: &Piece| plain::line(&piece.text);
        let line: String = std::iter::once(plain::line(lead)).chain(pieces.iter().map(whole)).collect();
        let kept = self.width.map_or_else(|| line.clone(), |width| cut(&line, width));
        let (shown, end) =
            if kept == line { (kept.as_str(), "") } else { kept.split_at(kept.len() - '…'.len_utf8()) };
        let mut rest = shown;
        let mut next = |text: &str| {
            let (now, later) = rest.split_at(text.len().min(rest.len()));
            rest = later;
            now
        };
        self.text.push_str(next(&plain::line(lead)));
        for piece in pieces {
            let text = next(&whole(piece));
            let stands_out = piece.hit && self.is_bold && !text.is_empty();
            let [begin, end] = if stands_out { BOLD } else { [""; 2] };
            self.text.extend([begin, text, end]);
        }
        self.text.push_str(end);
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
    }

    /// Writes rows in columns.
    pub fn rows<const N: usize>(&mut self, rows: &[[String; N]]) {
        self.rows_each_with(rows, |_, _| {});
    }

    /// Writes rows in columns, and after each what belongs to the row of this place.
    pub fn rows_each_with<const N: usize>(
        &mut self,
        rows: &[[String; N]],
        mut after: impl FnMut(&mut Self, usize),
    ) {
        let rows: Vec<[String; N]> =
            rows.iter().map(|row| row.clone().map(|cell| plain::line(&cell))).collect();
        let mut widths: [usize; N] =
            std::array::from_fn(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0));
        if let Some(width) = self.width {
            let others: usize = widths[..N - 1].iter().map(|width| width + 2).sum();
            widths[N - 1] = widths[N - 1].min(width.saturating_sub(others).max(COLUMN_MIN));
        }
        for (place, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let cell = cut(cell, width);
                let padding = width.saturating_sub(cell.width()) + 2;
                line.push_str(&cell);
                line.push_str(&" ".repeat(padding));
            }
            self.text.push_str(line.trim_end());
            self.text.push('\n');
            after(self, place);
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
    fn what_was_looked_for_stands_out_and_the_line_fits() {
        let piece = |text: &str, hit| Piece { text: text.to_owned(), hit };
        let pieces = [piece("a \u{1b}[2J", false), piece("家家", true), piece(" and so on and on", false)];
        let line = |is_bold, width| {
            let mut page = Page { text: String::new(), width, is_bold };
            page.pieces("  note: ", &pieces);
            page.finish()
        };
        assert_eq!(line(false, None), "  note: a \\x1b[2J家家 and so on and on\n");
        assert_eq!(line(true, Some(25)), "  note: a \\x1b[2J\x1b[1m家家\x1b[22m an…\n");
        assert_eq!(line(true, Some(20)), "  note: a \\x1b[2J\x1b[1m家\x1b[22m…\n");
        assert_eq!(line(true, Some(12)), "  note: a \\…\n");
        assert_eq!(line(false, Some(40)), line(false, None));
    }

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
