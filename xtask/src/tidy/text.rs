//! Lines are clean: no trailing white space, no tabs, no carriage returns, and an end to the last one.

use super::{File, Finding, Tree};

/// Every line of every text file that is ours is clean.
pub fn lines_are_clean(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| !file.is_kept_verbatim()).flat_map(look).collect()
}

fn look(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut refuse = |line, message: &str| findings.push(file.finding(line, "text", message));
    for (index, line) in file.text.split('\n').enumerate() {
        let (number, content) = (index + 1, line.trim_end_matches('\r'));
        if content.len() < line.len() {
            refuse(number, "a carriage return: end lines with a line feed alone");
        }
        if content.contains('\t') {
            refuse(number, "a tab: indent with spaces, and write `\\t` in strings");
        }
        if content.ends_with(' ') {
            refuse(number, "trailing white space: remove it");
        }
    }
    let count = file.text.lines().count();
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        refuse(count, "the last line has no end: add a line feed");
    }
    if file.text.ends_with("\n\n") {
        refuse(count, "an empty line at the end: remove it");
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn unclean_lines_are_refused() {
        let found = |text| lines(&lines_are_clean(&Tree::of(&[("a.md", text)])));
        assert_eq!(found("a \n\tb\nc\r\nd"), [1, 2, 3, 4]);
        assert_eq!(found("a\n\n"), [2]);
        assert_eq!(found("a\n\nb\n"), Vec::<usize>::new());
        assert_eq!(found(""), Vec::<usize>::new());
    }

    #[test]
    fn data_that_was_made_elsewhere_stays_as_it_is() {
        let tree = Tree::of(&[("testdata/beads/export.jsonl", "a \r\n\tb")]);
        assert_eq!(lines_are_clean(&tree), []);
    }
}
