//! A match on an enum of ours names every case, so that a new case is a question that the compiler asks.

use std::collections::BTreeSet;

use super::source::{Line, Source};
use super::{File, Finding, Tree};

/// In core and engine, `_ =>` does not stand beside arms that name an enum of these crates.
///
/// A set that is open by nature is explained by a comment `// open set: …` beside or above the arm.
pub fn matches_name_every_case(tree: &Tree) -> Vec<Finding> {
    let files: Vec<&File> = tree.rust("crates/core/src/").chain(tree.rust("crates/engine/src/")).collect();
    let mut own: BTreeSet<String> = files.iter().flat_map(|file| enums(&file.source)).collect();
    own.insert("Self".to_owned());
    files.into_iter().flat_map(|file| wildcard_arms(file, &own)).collect()
}

/// The enums that a file declares, by keyword or by the macro for closed sets of words.
fn enums(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_macro = false;
    for line in &source.lines {
        let code = line.code.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        let name: String =
            code.trim_start_matches("enum ").chars().take_while(|c| c.is_alphanumeric()).collect();
        let declared = code.starts_with("enum ") || (in_macro && code.starts_with(char::is_uppercase));
        if declared && !name.is_empty() {
            found.push(name);
            in_macro = false;
        }
        in_macro |= code.starts_with("text_enum! {");
    }
    found
}

fn wildcard_arms(file: &File, own: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.source.product() {
        if !line.code.trim_start().starts_with("_ =>") || file.source.explained(number, "open set:") {
            continue;
        }
        if let Some(name) = enum_beside(&file.source.lines[..number], own) {
            let message = format!(
                "`_ =>` would swallow a new case of {name}: name the cases, or write `// open set: why` above it"
            );
            findings.push(file.finding(number, "no-wildcard", message));
        }
    }
    findings
}

/// The enum of ours that the arms of the same match name; the lines end with the arm in question. Formatted source
/// puts the arms of a match at one depth and everything inside them deeper.
fn enum_beside<'a>(lines: &[Line], own: &'a BTreeSet<String>) -> Option<&'a str> {
    let depth = |code: &str| code.len() - code.trim_start().len();
    let (arm, above) = lines.split_last()?;
    let within = depth(&arm.code);
    let siblings = above.iter().rev().map(|line| line.code.as_str());
    let siblings = siblings.take_while(|code| code.trim().is_empty() || depth(code) >= within);
    let patterns = siblings.filter(|code| depth(code) == within).filter_map(|code| code.split(" =>").next());
    // A guard may compare with anything; it is no pattern.
    let patterns = patterns.filter_map(|arm| arm.split(" if ").next());
    patterns
        .flat_map(|pattern| own.iter().filter(move |name| names(pattern, name)))
        .next()
        .map(String::as_str)
}

/// Whether a pattern has a path that begins with this enum.
fn names(pattern: &str, name: &str) -> bool {
    let path = format!("{name}::");
    pattern.match_indices(&path).any(|(start, _)| {
        let before = pattern[..start].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    fn found(arms: &str) -> Vec<usize> {
        let declarations = "pub enum State {\n    Open,\n}\ntext_enum! {\n    /// A kind.\n    Kind {\n        A = \"a\",\n    }\n}\n";
        let text = format!("match x {{\n{arms}}}\n");
        let tree = Tree::of(&[
            ("crates/core/src/model.rs", declarations),
            ("crates/engine/src/a.rs", &text),
            ("crates/cli/src/a.rs", &text),
        ]);
        lines(&matches_name_every_case(&tree))
    }

    #[test]
    fn a_wildcard_beside_our_own_enum_is_refused() {
        assert_eq!(found("    State::Open => 1,\n    _ => 2,\n"), [3]);
        assert_eq!(found("    Some(Kind::A) => {\n        1\n    }\n    _ => 2,\n"), [5]);
        assert_eq!(found("    Self::A => 1,\n    _ => 2,\n"), [3]);
    }

    #[test]
    fn a_wildcard_beside_anything_else_passes() {
        assert!(found("    \"a\" => State::Open,\n    _ => State::Open,\n").is_empty());
        assert!(found("    Some(text) if a => 1,\n    _ => 2,\n").is_empty());
        assert!(found("    Some(next) if a == State::Open => 1,\n    _ => 2,\n").is_empty());
        assert!(found("    Value::Null => 1,\n    _ => 2,\n").is_empty());
        assert!(found("    _ if a => 1,\n    State::Open => 2,\n").is_empty());
        assert!(found("    State::Open => 1,\n    // open set: of the driver\n    _ => 2,\n").is_empty());
    }
}
