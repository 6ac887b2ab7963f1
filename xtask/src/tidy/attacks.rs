//! The page of attacks names tests that there are.

use super::{File, Finding, Tree};

/// The page: a table of which each row names, in its last column, files of tests and tests in them.
const PAGE: &str = "docs/src/attacks.md";
const RULE: &str = "attacks";

/// Every attack is told with at least one test, and every test that is told is one.
pub fn every_attack_has_its_test(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let rows =
        page.text.lines().enumerate().filter(|(_, line)| line.starts_with('|') && !is_of_heading(line));
    rows.flat_map(|(number, line)| row(tree, page, number + 1, line)).collect()
}

fn is_of_heading(line: &str) -> bool {
    line.contains("---") || line.starts_with("| attack |")
}

/// What is wrong with a row.
fn row(tree: &Tree, page: &File, number: usize, line: &str) -> Vec<Finding> {
    let last = line.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let (mut findings, mut file, mut tests) = (Vec::new(), None, 0);
    for word in last.split('`').skip(1).step_by(2) {
        if word.ends_with(".rs") {
            file = tree.files.iter().find(|file| file.path == word);
            if file.is_none() {
                findings.push(page.finding(
                    number,
                    RULE,
                    format!("there is no {word}: name the file of the test"),
                ));
            }
            continue;
        }
        tests += 1;
        if file.is_none_or(|file| !has_test(file, word)) {
            let message =
                format!("{word} is no test of the file before it: name the one that tries the attack");
            findings.push(page.finding(number, RULE, message));
        }
    }
    if tests == 0 {
        findings.push(page.finding(number, RULE, "the attack names no test: write one, and name it"));
    }
    findings
}

/// Whether a file has a test of this name: its attribute stands on the line before it.
fn has_test(file: &File, name: &str) -> bool {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let named = [format!("fn {name}("), format!("async fn {name}(")];
    lines.windows(2).any(|pair| {
        pair[0].starts_with("#[")
            && pair[0].contains("test")
            && named.iter().any(|named| pair[1].starts_with(named))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[test]\nfn it_is_refused() {}\n\nfn helper() {}\n";

    fn found(row: &str) -> usize {
        let page = format!("| attack | what comes of it | tests |\n| --- | --- | --- |\n{row}\n");
        let tree = Tree::of(&[(PAGE, &page), ("crates/a/tests/it/a.rs", TESTS)]);
        every_attack_has_its_test(&tree).len()
    }

    #[test]
    fn a_row_names_a_test_that_there_is() {
        assert_eq!(found("| x | `y` | `crates/a/tests/it/a.rs` `it_is_refused` |"), 0);
    }

    #[test]
    fn a_test_that_is_gone_a_helper_a_lost_file_and_no_test_at_all_are_found() {
        assert_eq!(found("| x | y | `crates/a/tests/it/a.rs` `it_was_refused` |"), 1);
        assert_eq!(found("| x | y | `crates/a/tests/it/a.rs` `helper` |"), 1);
        assert_eq!(found("| x | y | `crates/a/tests/it/b.rs` `it_is_refused` |"), 2);
        assert_eq!(found("| x | y | `it_is_refused` |"), 1);
        assert_eq!(found("| x | `y` | none |"), 1);
    }
}
