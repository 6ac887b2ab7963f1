//! What a person reads: lines, fields and small tables, as wide as the terminal and measured by grapheme.
//!
//! Only the cells of tables are ever cut. Lines and fields stay whole, and a terminal breaks them where it must, so that
//! a command or a path can be copied as it stands.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use tenure_core::model::limits::PAGE_ROWS;
use tenure_core::search::excerpt::Piece;

use super::typed::Typed;
use super::{Show, plain};
use crate::terminal::{self, Style};

/// The last column of a table gets at least so much, or a line of its own below the others.
const COLUMN_MIN: usize = 20;
/// How far such a line is set in.
const INDENT: usize = 4;
/// Most of a text that stands between other cells. Ids and names of the fleet's own are never cut.
const CELL_BETWEEN: usize = 28;
/// Most of a cell where no terminal says how wide it is: enough to know it by, while a list stays short.
const CELL_MAX: usize = 60;

/// A page in the making.
pub struct Page {
    text: String,
    width: Option<usize>,
    is_coloured: bool,
    typed: Typed,
}

impl Page {
    /// A page for standard output: as wide as its terminal, without a width for everything else.
    pub fn new() -> Self {
        Self {
            text: String::new(),
            width: terminal::width(),
            is_coloured: terminal::shows_colour(),
            typed: Typed::here(),
        }
    }

    /// The page of one answer.
    pub fn of(answer: &impl Show) -> String {
        let mut page = Self::new();
        answer.show(&mut page);
        page.finish()
    }

    /// The page of an answer to a command that was not typed but meant.
    pub fn of_command(command: &str, answer: &impl Show) -> String {
        let mut page = Self::new();
        page.typed = page.typed.naming(command);
        answer.show(&mut page);
        page.finish()
    }

    /// A page of this width.
    #[cfg(test)]
    pub fn of_width(width: usize) -> Self {
        Self { text: String::new(), width: Some(width), is_coloured: false, typed: Typed::default() }
    }

    /// Writes one line.
    pub fn line(&mut self, text: &str) {
        self.text.push_str(&plain::line(text));
        self.text.push('\n');
    }

    /// Says how to read on where a list has a further page: the command that was typed, from there.
    pub fn goes_on(&mut self, shown: &str, cursor: Option<&str>) {
        if let Some(cursor) = cursor {
            self.line(&format!("{shown} shown; go on: `{}`", self.typed.with("--cursor", cursor)));
        }
    }

    /// The command that was typed, for all of so many rows, or as many as a page can have. Nothing if there are none
    /// left, or a page shows as many already.
    pub fn all_of(&self, total: u64, shown: usize) -> Option<String> {
        let most = total.min(u64::from(PAGE_ROWS));
        ((shown as u64) < most).then(|| format!("`{}`", self.typed.with("--limit", &most.to_string())))
    }

    /// Whether the command that was typed has one of these options.
    pub fn narrowed(&self, options: &[&str]) -> bool {
        options.iter().any(|option| self.typed.has(option))
    }

    /// The command that was typed, with a further option.
    pub fn also(&self, option: &str) -> String {
        self.typed.also(option)
    }

    /// Writes a named value, if there is one.
    pub fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.line(&format!("{:<12} {value}", format!("{name}:")));
        }
    }

    /// Writes a named value that belongs to what stands above it.
    pub fn inner(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.line(&format!("  {:<13} {value}", format!("{name}:")));
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

    /// Writes a line that begins with a mark, in a style of its own.
    pub fn marked(&mut self, style: Style, mark: &str, text: &str) {
        let mark = self.painted(style, &plain::line(mark));
        self.text.push_str(&format!("{mark} {}\n", plain::line(text)));
    }

    /// Writes rows under a heading. The last column takes what the others leave.
    pub fn table<const N: usize>(&mut self, heading: [&str; N], rows: &[[String; N]]) {
        let whole: Vec<_> = std::iter::once(heading.map(str::to_owned)).chain(rows.iter().cloned()).collect();
        self.columns(&whole, true, |_, _| {});
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
            let text = if piece.hit && !text.is_empty() {
                self.painted(Style::Found, text)
            } else {
                text.to_owned()
            };
            self.text.push_str(&text);
        }
        self.text.push_str(end);
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
    }

    /// Writes rows in columns.
    pub fn rows<const N: usize>(&mut self, rows: &[[String; N]]) {
        self.columns(rows, false, |_, _| {});
    }

    /// Writes rows in columns, and after each what belongs to the row of this place.
    pub fn rows_each_with<const N: usize>(
        &mut self,
        rows: &[[String; N]],
        after: impl FnMut(&mut Self, usize),
    ) {
        self.columns(rows, false, after);
    }

    fn columns<const N: usize>(
        &mut self,
        rows: &[[String; N]],
        has_heading: bool,
        mut after: impl FnMut(&mut Self, usize),
    ) {
        let rows: Vec<[String; N]> =
            rows.iter().map(|row| row.clone().map(|cell| plain::line(&cell))).collect();
        let mut widths: [usize; N] =
            std::array::from_fn(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0));
        let last = N - 1;
        let others: usize = widths[..last].iter().map(|width| width + 2).sum();
        // Where too little is left for it, the last column goes below the others, and so do others that do not fit.
        let is_stacked = match self.width {
            Some(width) => N > 1 && others + widths[last].min(COLUMN_MIN) > width,
            None => false,
        };
        let most = match self.width {
            Some(width) if is_stacked => width.saturating_sub(INDENT),
            Some(width) => width.saturating_sub(others),
            None => CELL_MAX,
        };
        widths[last] = widths[last].min(most.max(1));
        let columns = if is_stacked { beside(&widths[..last], self.width) } else { N };
        for (number, row) in rows.iter().enumerate() {
            let cells = row[..columns].iter().zip(widths).map(|(cell, width)| {
                let cell = cut(cell, width);
                let padding = " ".repeat(width.saturating_sub(cell.width()) + 2);
                cell + &padding
            });
            let mut lines = vec![cells.collect::<String>().trim_end().to_owned()];
            if is_stacked {
                lines.extend(below(&row[columns..last], most));
                lines.extend(below(&[cut(&row[last], widths[last])], most));
            }
            let is_heading = has_heading && number == 0;
            for line in lines {
                let line = if is_heading { self.painted(Style::Heading, &line) } else { line };
                self.text.push_str(&line);
                self.text.push('\n');
            }
            if !is_heading {
                after(self, number);
            }
        }
    }

    fn painted(&self, style: Style, text: &str) -> String {
        if self.is_coloured { style.paint(text) } else { text.to_owned() }
    }

    /// The finished page.
    pub fn finish(self) -> String {
        self.text
    }
}

/// How many columns of these widths fit side by side: one at least.
fn beside(widths: &[usize], width: Option<usize>) -> usize {
    let ends = widths.iter().scan(0, |end, width| {
        let here = *end + width;
        *end = here + 2;
        Some(here)
    });
    ends.take_while(|end| width.is_none_or(|width| *end <= width)).count().max(1)
}

/// The cells that go below the others, set in: as many on a line as fit.
fn below(cells: &[String], most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.width() + 2 + cell.width() <= INDENT + most => {
                line.push_str("  ");
                line.push_str(cell);
            }
            Some(_) | None => lines.push(" ".repeat(INDENT) + cell),
        }
    }
    lines
}

/// As much of somebody's text as a cell between others has room for.
pub fn brief(text: &str) -> String {
    cut(&plain::line(text), CELL_BETWEEN)
}

/// The beginning of a text that fits, never ending inside a grapheme.
pub fn cut(text: &str, width: usize) -> String {
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

    fn row(a: &str, b: &str) -> [String; 2] {
        [a.to_owned(), b.to_owned()]
    }

    #[test]
    fn what_was_looked_for_stands_out_and_the_line_fits() {
        let piece = |text: &str, hit| Piece { text: text.to_owned(), hit };
        let pieces = [piece("a \u{1b}[2J", false), piece("家家", true), piece(" and so on and on", false)];
        let line = |is_coloured, width| {
            let mut page = Page { is_coloured, width, ..Page::of_width(0) };
            page.pieces("  note: ", &pieces);
            page.finish()
        };
        assert_eq!(line(false, None), "  note: a \\x1b[2J家家 and so on and on\n");
        assert_eq!(line(true, Some(25)), "  note: a \\x1b[2J\x1b[1m家家\x1b[0m an…\n");
        assert_eq!(line(true, Some(20)), "  note: a \\x1b[2J\x1b[1m家\x1b[0m…\n");
        assert_eq!(line(true, Some(12)), "  note: a \\…\n");
        assert_eq!(line(false, Some(40)), line(false, None));
    }

    #[test]
    fn columns_line_up_by_grapheme_and_fit_the_width() {
        let mut page = Page::of_width(30);
        page.table(
            ["ID", "TITLE"],
            &[row("家家-1", "short"), row("a-2", "👩‍👩‍👧 a title that is too long"), row("b", "\u{1b}[2J")],
        );
        let page = page.finish();
        assert_eq!(page, "ID      TITLE\n家家-1  short\na-2     👩‍👩‍👧 a title that is to…\nb       \\x1b[2J\n");
    }

    #[test]
    fn on_a_narrow_terminal_the_last_column_goes_below_the_others() {
        let mut page = Page::of_width(24);
        page.table(["NAME", "TITLE"], &[row("a-long-name", "a title that is too long"), row("b", "")]);
        assert_eq!(page.finish(), "NAME\n    TITLE\na-long-name\n    a title that is too…\nb\n");
    }

    #[test]
    fn columns_that_a_row_has_no_room_for_go_below_too() {
        let cells = ["afc-1", "2027-01-31 09:00", "done 0123456", "ada", "a title"].map(str::to_owned);
        let mut page = Page::of_width(26);
        page.table(["TASK", "WHEN", "WHAT", "BY", "TITLE"], &[cells]);
        let heading = "TASK   WHEN\n    WHAT  BY\n    TITLE\n";
        assert_eq!(
            page.finish(),
            format!("{heading}afc-1  2027-01-31 09:00\n    done 0123456  ada\n    a title\n")
        );
    }

    #[test]
    fn where_there_is_no_terminal_only_a_cell_that_is_no_summary_any_more_is_cut() {
        let mut page = Page { width: None, ..Page::of_width(0) };
        page.rows(&[row("a", &"x".repeat(59)), row("a", &"x".repeat(500))]);
        let page = page.finish();
        let widths: Vec<usize> = page.lines().map(UnicodeWidthStr::width).collect();
        assert_eq!(widths, [62, 63]);
    }
}
