//! What an agent is told about working here, in a text of its own that a small model can follow. Agents' own files name only
//! the command that prints it, so it can change without them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Raised with every change of what the text asks for.
pub const VERSION: u32 = 1;

/// The text, in Markdown.
pub const TEXT: &str = include_str!("instructions.md");

/// Most words that it has: every conversation of every agent pays for it.
pub const WORDS_MAX: usize = 600;

/// Tell agents how to work here
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instructions {
    /// Raised with every change of what the text asks for.
    pub version: u32,
    /// The text, in Markdown.
    pub text: String,
}

impl Instructions {
    /// Those of this version of the program.
    #[must_use]
    pub fn current() -> Self {
        Self { version: VERSION, text: TEXT.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_short_enough_to_be_read() {
        let words = TEXT.split_whitespace().count();
        assert!(words <= WORDS_MAX, "{words} words");
        // An answer of ordinary size, with its JSON.
        assert!(TEXT.len() < 2_000, "{} bytes", TEXT.len());
    }
}
