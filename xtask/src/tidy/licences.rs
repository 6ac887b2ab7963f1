//! Which licences the crates that we use may have.

use super::layers::{all_packages, text};
use super::{Finding, Tree};

const ALLOWED: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "0BSD",
    "CC0-1.0",
];

/// Every package may be used under a licence of the list.
pub fn licences_are_allowed(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in all_packages(&tree.metadata) {
        let (name, licence) = (text(package, "name"), text(package, "license"));
        if !satisfied(licence) {
            let message = format!(
                "{name} {} is licensed {licence:?}, which is not allowed: use another crate, or extend the list in \
                 xtask/src/tidy/licences.rs with the architect's consent",
                text(package, "version")
            );
            findings.push(Finding { path: "Cargo.lock".to_owned(), line: 1, rule: "licence", message });
        }
    }
    findings
}

/// Whether an SPDX expression can be satisfied from the list: one side of an OR, both sides of an AND.
fn satisfied(expression: &str) -> bool {
    // Old manifests write a slash for OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    !rest.is_empty() && either(&mut rest) && rest.is_empty()
}

fn either(words: &mut &[&str]) -> bool {
    let mut holds = both(words);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        // Not short-circuited: the right side must be read in any case.
        holds |= both(words);
    }
    holds
}

fn both(words: &mut &[&str]) -> bool {
    let mut holds = one(words);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        holds &= one(words);
    }
    holds
}

fn one(words: &mut &[&str]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let holds = either(words);
            if let [")", rest @ ..] = *words {
                *words = rest;
            }
            holds
        }
        [name, "WITH", exception, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(&format!("{name} WITH {exception}").as_str())
        }
        [name, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(name)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_alternative_is_enough_and_a_conjunction_needs_both() {
        for fine in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR MIT",
            "Apache-2.0/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(satisfied(fine), "{fine}");
        }
        for refused in
            ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND AGPL-3.0", "GPL-2.0 WITH LLVM-exception"]
        {
            assert!(!satisfied(refused), "{refused}");
        }
    }

    #[test]
    fn a_package_without_an_allowed_licence_is_refused() {
        let mut tree = Tree::of(&[]);
        tree.metadata = json!({ "packages": [
            { "name": "a", "version": "1.0.0", "license": "MIT" },
            { "name": "b", "version": "1.0.0", "license": null },
            { "name": "c", "version": "1.0.0", "license": "SSPL-1.0" },
        ] });
        assert_eq!(licences_are_allowed(&tree).len(), 2);
    }
}
