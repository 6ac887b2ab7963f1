//! A refusal is a value with a code, a page and a test.

use super::{File, Finding, Tree};

const DECLARED_IN: &str = "crates/core/src/model/refusal.rs";

/// Every refusal code has its page under docs/src/refusals and occurs in at least one test.
pub fn every_refusal_has_a_page_and_a_test(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (variant, word) in &tree.codes {
        let at = |rule, message| Finding {
            path: DECLARED_IN.to_owned(),
            line: line_of(tree, word),
            rule,
            message,
        };
        let page = format!("docs/src/refusals/{word}.md");
        if !tree.files.iter().any(|file| file.path == page) {
            findings.push(at("refusal-page", format!("{word} has no page: run `cargo xtask docs`")));
        }
        if !tree.files.iter().any(|file| is_tested_in(file, variant, word)) {
            let message = format!("no test meets {word}: add one in the lowest layer that returns it");
            findings.push(at("refusal-test", message));
        }
    }
    findings
}

fn line_of(tree: &Tree, word: &str) -> usize {
    let declaration = tree.files.iter().find(|file| file.path == DECLARED_IN);
    let quoted = format!("\"{word}\"");
    let index = declaration.and_then(|file| file.text.lines().position(|line| line.contains(&quoted)));
    index.map_or(1, |index| index + 1)
}

/// Whether a test names the variant in code or the word in a text. A word of everyday English counts in quotes only.
fn is_tested_in(file: &File, variant: &str, word: &str) -> bool {
    let path = format!("Code::{variant}");
    let quoted = format!("\"{word}\"");
    let says = |text: &str| text.contains(&quoted) || (word.contains('_') && names(text, word));
    if file.path.ends_with(".snap") {
        return file.text.lines().any(says);
    }
    let tests = file.source.lines.iter().zip(file.text.lines()).filter(|(line, _)| line.test);
    tests.into_iter().any(|(line, raw)| {
        let text = raw.strip_suffix(line.comment.as_str()).unwrap_or(raw);
        names(&line.code, &path) || says(text)
    })
}

/// Whether a name occurs as a whole word.
fn names(text: &str, name: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
    text.match_indices(name).any(|(start, _)| {
        edge(text[..start].chars().next_back()) && edge(text[start + name.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<&'static str> {
        let mut tree = Tree::of(files);
        tree.codes = vec![("LeaseHeld".to_owned(), "lease_held".to_owned())];
        every_refusal_has_a_page_and_a_test(&tree).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_code_without_page_or_test_is_refused() {
        assert_eq!(found(&[]), ["refusal-page", "refusal-test"]);
        let product = ("crates/core/src/rules/claim.rs", "Code::LeaseHeld");
        let near = ("crates/core/tests/a.rs", "fn lease_held_by_others() { Code::LeaseHeldLong; }");
        assert_eq!(found(&[product, near]), ["refusal-page", "refusal-test"]);
    }

    #[test]
    fn a_word_of_everyday_english_must_be_quoted() {
        let mut tree =
            Tree::of(&[("crates/core/tests/a.rs", "a(\"it is reserved for b\"); // \"reserved\"")]);
        tree.codes = vec![("Reserved".to_owned(), "reserved".to_owned())];
        assert_eq!(every_refusal_has_a_page_and_a_test(&tree).len(), 2);
        tree.files.push(File::new("crates/core/tests/b.rs", "a(code, \"reserved\");"));
        assert_eq!(every_refusal_has_a_page_and_a_test(&tree).len(), 1);
    }

    #[test]
    fn a_page_and_a_test_in_code_or_text_are_enough() {
        let page = ("docs/src/refusals/lease_held.md", "");
        assert!(found(&[page, ("crates/core/tests/a.rs", "Code::LeaseHeld;")]).is_empty());
        assert!(found(&[page, ("crates/cli/tests/a.rs", "x(\"lease_held\");")]).is_empty());
    }
}
