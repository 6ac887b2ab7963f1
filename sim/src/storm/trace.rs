//! What happened in a storm, as lines of text: two storms of one seed have the same bytes.

use std::fmt::Write;

use tenure_core::secret::digest;

/// How much of the end is shown when a promise does not hold.
const SHOWN: usize = 60;

/// The lines.
#[derive(Debug, Default)]
pub struct Trace(String);

impl Trace {
    /// Something happened.
    pub fn say(&mut self, now: i64, words: &str) {
        writeln!(self.0, "{now:>7} {words}").expect("a text takes more text");
    }

    /// All of it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The last lines.
    #[must_use]
    pub fn end(&self) -> String {
        let lines: Vec<&str> = self.0.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }
}

/// A few characters that differ when the text does.
#[must_use]
pub fn print_of(text: &str) -> String {
    digest("tenure storm", &[text.as_bytes()]).to_string()[..8].to_owned()
}
