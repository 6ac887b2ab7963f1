//! The pages that are written from the code: refusals, operations, exit codes, and the table of contents.
//!
//! Generated pages are committed, so that a change of the API shows in a review, and checked, so that none is
//! edited by hand. Pages that people write stand beside them and are only linked.

mod exit_codes;
mod openapi;
mod operations;
mod permissions;
mod refusals;
mod schema;
mod summary;
mod types;

use std::collections::BTreeMap;

use tenure_core::operation::catalog::{self, Entry};

use crate::repository;

/// Whether pages are written or compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Writes what differs, removes what is gone.
    Write,
    /// Fails if anything differs.
    Check,
}

/// Generated files: the path from the root and the text.
type Pages = BTreeMap<String, String>;

/// Stands at the top of every generated page.
const GENERATED: &str = "<!-- Written by `cargo xtask docs` from the code. Edit that, not this. -->\n\n";

/// Folders in which every file is generated.
const GENERATED_FOLDERS: &[&str] = &["docs/src/refusals", "docs/src/reference"];

/// Writes or checks the generated pages.
pub fn run(mode: Mode) -> Result<(), String> {
    let pages = pages();
    let mut stale = Vec::new();
    for (path, text) in &pages {
        let file = repository::root().join(path);
        if std::fs::read_to_string(&file).ok().as_ref() == Some(text) {
            continue;
        }
        stale.push(path.clone());
        if mode == Mode::Write {
            let folder = file.parent().expect("every page lies in a folder");
            std::fs::create_dir_all(folder).map_err(|error| format!("{path}: {error}"))?;
            std::fs::write(&file, text).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    for path in strangers(&pages)? {
        if mode == Mode::Write {
            std::fs::remove_file(repository::root().join(&path))
                .map_err(|error| format!("{path}: {error}"))?;
        }
        stale.push(path);
    }
    match (mode, stale.is_empty()) {
        (Mode::Check, false) => {
            Err(format!("these pages differ from what the code says:\n  {}", stale.join("\n  ")))
        }
        (Mode::Check, true) => {
            println!("docs: {} pages, all as the code says", pages.len());
            Ok(())
        }
        (Mode::Write, _) => {
            println!("docs: {} pages, {} written or removed", pages.len(), stale.len());
            Ok(())
        }
    }
}

/// Every generated page.
fn pages() -> Pages {
    let entries = entries();
    let mut pages = Pages::new();
    pages.extend(refusals::pages(&entries));
    let (operations, types) = operations::pages(&entries);
    pages.insert("docs/src/reference/operations.md".to_owned(), operations);
    pages.insert("docs/src/reference/types.md".to_owned(), types);
    pages.insert("docs/src/reference/permissions.md".to_owned(), permissions::page(&entries));
    pages.insert("docs/src/reference/exit-codes.md".to_owned(), exit_codes::page());
    pages.insert("docs/openapi.json".to_owned(), openapi::document());
    pages.insert("docs/src/SUMMARY.md".to_owned(), summary::page());
    pages
}

/// The operations that users meet. The one that only proves the list is there when all features are on.
fn entries() -> Vec<Entry> {
    let mut entries = catalog::entries();
    entries.retain(|entry| !entry.spec.name.starts_with("dummy."));
    entries
}

/// Files in generated folders that nothing generates any more.
fn strangers(pages: &Pages) -> Result<Vec<String>, String> {
    let mut strangers = Vec::new();
    for folder in GENERATED_FOLDERS {
        let Ok(listed) = std::fs::read_dir(repository::root().join(folder)) else { continue };
        for file in listed {
            let name = file.map_err(|error| format!("{folder}: {error}"))?.file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            if !pages.contains_key(&path) {
                strangers.push(path);
            }
        }
    }
    strangers.sort_unstable();
    Ok(strangers)
}

/// A table in Markdown.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.iter().map(|cell| (*cell).to_owned()).collect());
    text.push_str(&line(head.iter().map(|_| "---".to_owned()).collect()));
    for row in rows {
        text.push_str(&line(row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_code_gives_the_same_pages() {
        assert_eq!(pages(), pages());
    }

    #[cfg(feature = "dummy-operation")]
    #[test]
    fn a_new_operation_is_on_the_pages_without_a_line_for_it() {
        let (operations, types) = operations::pages(&catalog::entries());
        assert!(operations.contains("dummy.echo") && operations.contains("/api/v1/dummy/{text}"));
        assert!(operations.contains("Say back what was said") && operations.contains("What to say"));
        assert!(types.contains("Echoed") || operations.contains("Echoed"));
        assert!(!pages()["docs/src/reference/operations.md"].contains("dummy.echo"));
    }

    #[test]
    fn every_link_between_pages_leads_somewhere() {
        let pages = pages();
        for (path, text) in pages.iter().filter(|(path, _)| path.ends_with(".md")) {
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target = if file.is_empty() { path.clone() } else { resolve(path, file) };
                let written = repository::root().join(&target).is_file();
                assert!(pages.contains_key(&target) || written, "{path} links to {target}");
                if let Some(page) = pages.get(&target).filter(|_| !anchor.is_empty()) {
                    let headings = page.lines().filter_map(|line| line.strip_prefix('#'));
                    let mut anchors =
                        headings.map(|heading| operations::anchor(heading.trim_start_matches('#').trim()));
                    assert!(anchors.any(|known| known == anchor), "{path} links to {link}");
                }
            }
        }
    }

    #[test]
    fn no_two_headings_of_a_page_share_an_anchor() {
        for (path, text) in pages().into_iter().filter(|(path, _)| path.ends_with(".md")) {
            let headings = text.lines().filter(|line| line.starts_with('#'));
            let mut anchors: Vec<String> =
                headings.map(|heading| operations::anchor(heading.trim_start_matches('#').trim())).collect();
            let count = anchors.len();
            anchors.sort_unstable();
            anchors.dedup();
            assert_eq!(anchors.len(), count, "{path}");
        }
    }

    fn resolve(from: &str, link: &str) -> String {
        let mut parts: Vec<&str> = from.split('/').collect();
        parts.pop();
        for part in link.split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." => {}
                name => parts.push(name),
            }
        }
        parts.join("/")
    }

    #[test]
    fn a_cell_cannot_break_its_table() {
        assert_eq!(table(&["a"], &[vec!["b|c\nd".to_owned()]]), "| a |\n| --- |\n| b\\|c d |\n");
    }
}
