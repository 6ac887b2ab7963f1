//! Which names a Rust file mentions: `use` trees written out, and every path in its code.

use super::source::Source;

/// A name as it is written, `a::b::c`, and the line it stands on.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    /// The segments.
    pub segments: Vec<String>,
    /// From 1.
    pub line: usize,
    /// Whether a `use` brings it in; a single word elsewhere may be anything.
    pub is_used: bool,
}

impl Mention {
    /// Whether it begins with these segments.
    pub fn begins(&self, path: &str) -> bool {
        let mut mine = self.segments.iter();
        path.split("::").all(|segment| mine.next().is_some_and(|own| own == segment))
    }

    /// Whether one of its segments is this word.
    pub fn has(&self, word: &str) -> bool {
        self.segments.iter().any(|segment| segment == word)
    }
}

enum Token {
    Word(String),
    Colons,
    Other(char),
}

/// Every name in the product code (or in all code) of a file.
pub fn mentions(source: &Source, tests_too: bool) -> Vec<Mention> {
    let tokens = tokens(source, tests_too);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (token, line) = &tokens[at];
        match token {
            Token::Word(word)
                if word == "use" && !matches!(tokens.get(at + 1), Some((Token::Other('<'), _))) =>
            {
                at = use_tree(&tokens, at + 1, &[], &mut found);
            }
            Token::Word(word) => {
                let mut segments = vec![word.clone()];
                while let [(Token::Colons, _), (Token::Word(next), _), ..] = &tokens[at + 1..] {
                    segments.push(next.clone());
                    at += 2;
                }
                found.push(Mention { segments, line: *line, is_used: false });
                at += 1;
            }
            Token::Colons | Token::Other(_) => at += 1,
        }
    }
    found
}

/// Writes out one tree of a `use` and returns where it ends.
fn use_tree(tokens: &[(Token, usize)], mut at: usize, prefix: &[String], found: &mut Vec<Mention>) -> usize {
    let mut segments = prefix.to_vec();
    while let Some((token, line)) = tokens.get(at) {
        match token {
            Token::Colons => at += 1,
            Token::Word(word) if word == "as" => at += 2,
            Token::Word(word) => {
                segments.push(word.clone());
                at += 1;
                if !matches!(tokens.get(at), Some((Token::Colons, _))) {
                    found.push(Mention { segments: segments.clone(), line: *line, is_used: true });
                }
            }
            Token::Other('*') => {
                segments.push("*".to_owned());
                found.push(Mention { segments: segments.clone(), line: *line, is_used: true });
                at += 1;
            }
            Token::Other('{') => {
                at += 1;
                while !matches!(tokens.get(at), Some((Token::Other('}'), _)) | None) {
                    at = use_tree(tokens, at, &segments, found);
                    at += usize::from(matches!(tokens.get(at), Some((Token::Other(','), _))));
                }
                return at + 1;
            }
            Token::Other(_) => return at,
        }
    }
    at
}

fn tokens(source: &Source, tests_too: bool) -> Vec<(Token, usize)> {
    let mut tokens = Vec::new();
    for (number, line) in source.numbered().filter(|(_, line)| tests_too || !line.test) {
        let mut rest = line.code.as_str();
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (token, width) = if end > 0 {
                (Token::Word(rest[..end].to_owned()), end)
            } else if rest.starts_with("::") {
                (Token::Colons, 2)
            } else {
                (Token::Other(first), first.len_utf8())
            };
            if !first.is_whitespace() {
                tokens.push((token, number));
            }
            rest = &rest[width..];
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        mentions(&Source::read(text, false), false).iter().map(|m| m.segments.join("::")).collect()
    }

    #[test]
    fn use_trees_are_written_out() {
        assert_eq!(
            names("use std::{fs, io::{self as i, Read}, time::*};\nfn f() {}"),
            ["std::fs", "std::io::self", "std::io::Read", "std::time::*", "fn", "f"]
        );
    }

    #[test]
    fn paths_in_code_are_found_with_their_lines() {
        let found = mentions(&Source::read("let a =\n    std::env::var(b);", false), false);
        let segments = ["std", "env", "var"].map(str::to_owned).to_vec();
        assert_eq!(found[2], Mention { segments, line: 2, is_used: false });
        assert!(found[2].begins("std::env") && found[2].has("var") && !found[2].begins("std::fs"));
    }
}
