//! The command that was typed, as it is typed again for what one page has no room for.

use crate::shell;

/// The words of a command, the program's name aside.
#[derive(Debug, Clone, Default)]
pub struct Typed(Vec<String>);

impl Typed {
    /// The command of this process. A word that is no text is shown as far as it is one.
    pub fn here() -> Self {
        Self(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// Words that a command was given.
    pub fn of(words: Vec<String>) -> Self {
        Self(words)
    }

    /// The same with a command where none was named.
    pub fn naming(mut self, command: &str) -> Self {
        self.0.push(command.to_owned());
        self
    }

    /// Whether an option was typed.
    pub fn has(&self, option: &str) -> bool {
        self.parts().0.iter().any(|word| word.split('=').next() == Some(option))
    }

    /// The whole command with a further option, which takes no value.
    pub fn also(&self, option: &str) -> String {
        let (own, texts) = self.parts();
        whole(own.iter().map(String::as_str).chain([option]), texts)
    }

    /// The whole command with this value of an option, in place of another one.
    pub fn with(&self, option: &str, value: &str) -> String {
        let (own, texts) = self.parts();
        let mut words = Vec::new();
        let mut own = own.iter().map(String::as_str);
        while let Some(word) = own.next() {
            if word == option {
                own.next();
            } else if word.split_once('=').is_none_or(|(name, _)| name != option) {
                words.push(word);
            }
        }
        whole(words.into_iter().chain([option, value]), texts)
    }

    /// The words that may be options, and those behind `--`, which it leads.
    fn parts(&self) -> (&[String], &[String]) {
        self.0.split_at(self.0.iter().position(|word| word == "--").unwrap_or(self.0.len()))
    }
}

/// A command as it is typed.
fn whole<'a>(own: impl Iterator<Item = &'a str>, texts: &'a [String]) -> String {
    let words = std::iter::once("tenure").chain(own).chain(texts.iter().map(String::as_str));
    words.map(shell::word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Typed {
        Typed(words.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_command_goes_on_with_everything_else_that_was_typed() {
        for (words, whole) in [
            (&["ready"][..], "tenure ready --limit 40"),
            (&["digest", "--since", "8h", "--limit", "4"], "tenure digest --since 8h --limit 40"),
            (
                &["--session", "ada", "history", "afc-1", "--limit=4"],
                "tenure --session ada history afc-1 --limit 40",
            ),
            (
                &["search", "it's", "two words", "--", "-flaky"],
                r"tenure search 'it'\''s' 'two words' --limit 40 -- -flaky",
            ),
            (&["search", "--", "--limit"], "tenure search --limit 40 -- --limit"),
        ] {
            assert_eq!(typed(words).with("--limit", "40"), whole);
        }
        let search = typed(&["search", "two words", "--limit=3", "--", "--everywhere"]);
        assert_eq!(
            search.also("--everywhere"),
            "tenure search 'two words' --limit=3 --everywhere -- --everywhere"
        );
        assert!(search.has("--limit") && !search.has("--everywhere"));
        assert_eq!(
            typed(&["--local"]).naming("ready").with("--cursor", "1.x"),
            "tenure --local ready --cursor 1.x"
        );
    }
}
