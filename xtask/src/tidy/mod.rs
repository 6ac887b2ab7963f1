//! The house rules: plain functions over the tracked files and the package graph.
//!
//! Each rule lives with a test that breaks it. A finding names the place, the rule and the way out; there is no
//! severity and no list of old sins. An exception is written where it is made, with its reason.

mod attacks;
mod codes;
mod layers;
mod licences;
mod matches;
mod packages;
mod paths;
mod purity;
mod seams;
mod shape;
mod source;
mod sql;
mod text;
mod waiting;
mod words;

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::model::refusal::Code;

use crate::repository;
use source::Source;

/// A tracked text file.
pub struct File {
    /// Its path from the root, with `/` between folders.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its lines as Rust sees them, if it is Rust.
    pub source: Source,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let rust = if is_rust(path) { text } else { "" };
        Self { path: path.to_owned(), text: text.to_owned(), source: Source::read(rust, is_test_file(path)) }
    }

    /// A finding at a line, counted from 1.
    fn finding(&self, line: usize, rule: &'static str, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, rule, message: message.into() }
    }

    /// Whether the bytes were made elsewhere and must stay as they are: real exports that tests read, snapshots of
    /// output.
    fn is_kept_verbatim(&self) -> bool {
        let folders = self.path.split('/').rev().skip(1);
        self.path.ends_with(".snap") || folders.into_iter().any(|folder| VERBATIM_FOLDERS.contains(&folder))
    }
}

/// Folders of files that other people's programs wrote.
const VERBATIM_FOLDERS: &[&str] = &["testdata", "fixtures"];

/// What the rules look at.
pub struct Tree {
    /// The tracked text files in order of their paths.
    pub files: Vec<File>,
    /// What `cargo metadata` printed.
    pub metadata: Value,
    /// Every refusal code: the variant's name and the word on the wire.
    pub codes: Vec<(String, String)>,
    /// Where this checkout lies: folders that another machine does not have.
    pub places: Vec<String>,
}

impl Tree {
    /// The Rust files under a folder.
    fn rust<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| is_rust(&file.path) && file.path.starts_with(folder))
    }

    fn read() -> Result<Self, String> {
        let mut files = Vec::new();
        for path in repository::files()? {
            let bytes = std::fs::read(repository::root().join(&path)).map_err(|e| format!("{path}: {e}"))?;
            // What is not UTF-8 is no text, and no rule here has a say in it.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File::new(&path, &text));
            }
        }
        let codes = Code::ALL.iter().map(|code| (format!("{code:?}"), code.to_string())).collect();
        Ok(Self { files, metadata: repository::metadata()?, codes, places: repository::places() })
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Self { files, metadata: Value::Null, codes: Vec::new(), places: Vec::new() }
    }
}

/// Something that is not as it should be, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    message: String,
}

/// A rule: what it finds in the tree.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    layers::dependencies_point_one_way,
    purity::core_is_pure,
    purity::core_and_engine_are_synchronous,
    purity::engine_reads_time_in_one_place,
    seams::outside_crates_stay_behind_their_seam,
    seams::manifests_keep_the_seams,
    seams::only_execute_begins_a_write,
    seams::only_rules_write_ownership,
    seams::proofs_run_what_the_daemon_runs,
    shape::names_say_what_is_inside,
    shape::files_tell_one_story,
    matches::matches_name_every_case,
    codes::every_refusal_has_a_page_and_a_test,
    attacks::every_attack_has_its_test,
    licences::licences_are_allowed,
    packages::packages_are_welcome,
    words::no_machine_paths_secrets_or_leftovers,
    text::lines_are_clean,
    waiting::tests_wait_for_states,
    sql::statements_run_on_every_engine,
    sql::statements_are_written_once,
];

/// Applies every rule to the checkout and prints what was found.
pub fn run() -> Result<(), String> {
    let tree = Tree::read()?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort_unstable();
    findings.dedup();
    print(&findings);
    match findings.len() {
        0 => {
            println!("tidy: {} files, {} rules, nothing found", tree.files.len(), RULES.len());
            Ok(())
        }
        count => Err(format!("tidy: {count} findings")),
    }
}

/// How many findings of one rule in one file are printed; a hundred more of the kind tell nothing new.
const SHOWN_MAX: usize = 8;

fn print(findings: &[Finding]) {
    let mut counts = BTreeMap::new();
    for finding in findings {
        let count = counts.entry((finding.path.as_str(), finding.rule)).or_insert(0);
        *count += 1;
        if *count <= SHOWN_MAX {
            println!("{}:{}: {}: {}", finding.path, finding.line, finding.rule, finding.message);
        }
    }
    for ((path, rule), count) in counts.into_iter().filter(|(_, count)| *count > SHOWN_MAX) {
        println!("{path}: {rule}: and {} more of them", count - SHOWN_MAX);
    }
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

/// Whether all of a file is test: it lies in a `tests` or `benches` folder or is a module called tests.
fn is_test_file(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or(path);
    name == "tests.rs"
        || name.ends_with("_tests.rs")
        || parts.any(|part| part == "tests" || part == "benches")
}

/// The lines that a rule complained about, for the rules' own tests.
#[cfg(test)]
fn lines(findings: &[Finding]) -> Vec<usize> {
    findings.iter().map(|finding| finding.line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_told_from_product_files() {
        for path in ["crates/engine/tests/store.rs", "crates/core/src/rules/tests.rs", "sim/tests/a/b.rs"] {
            assert!(is_test_file(path), "{path}");
        }
        for path in ["crates/core/src/rules/claim.rs", "crates/cli/src/latest.rs"] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
