//! Names that say what is inside, and files that tell one story.

use super::{Finding, Tree};

const DRAWERS: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"];

/// No file, folder or module is a drawer.
pub fn names_say_what_is_inside(tree: &Tree) -> Vec<Finding> {
    let rule = "no-drawers";
    let mut findings = Vec::new();
    for file in &tree.files {
        let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
        if let Some(word) = parts.filter_map(drawer).next() {
            let message = format!("`{word}` names no idea: move each thing to the noun that it belongs to");
            findings.push(file.finding(1, rule, message));
        }
        for (number, line) in file.source.numbered() {
            let name = line.code.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
            let name = name.strip_prefix("mod ").map(|rest| rest.trim_end_matches(['{', ';', ' ']));
            if let Some(word) = name.and_then(drawer) {
                let message = format!("a module called `{word}` names no idea: name what is inside");
                findings.push(file.finding(number, rule, message));
            }
        }
    }
    findings
}

fn drawer(name: &str) -> Option<&'static str> {
    DRAWERS.iter().find(|word| name.split(['_', '-']).any(|part| part == **word)).copied()
}

const LINES_MAX: usize = 500;

/// Files that may be longer, each with the reason why a second story could not be found.
const LONG_FILES: &[(&str, &str)] = &[];

/// A source file tells one story; past 500 lines there is a second one in it.
pub fn files_tell_one_story(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let source = |path: &str| [".rs", ".js", ".css", ".sql"].iter().any(|end| path.ends_with(end));
    for file in tree.files.iter().filter(|file| source(&file.path) && !file.is_kept_verbatim()) {
        let count = file.text.lines().count();
        let allowed = LONG_FILES.iter().any(|(path, _)| *path == file.path);
        if count > LINES_MAX && !allowed {
            let message = format!(
                "{count} lines, the limit is {LINES_MAX}: look for the second story and give it a file (or a reason in \
                 LONG_FILES, xtask/src/tidy/shape.rs)"
            );
            findings.push(file.finding(count, "long-file", message));
        } else if count <= LINES_MAX && allowed {
            let message = "it is short enough again: take it out of LONG_FILES in xtask/src/tidy/shape.rs";
            findings.push(file.finding(count, "long-file", message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn a_drawer_is_refused_as_file_folder_and_module() {
        let tree = Tree::of(&[
            ("crates/cli/src/util.rs", ""),
            ("crates/cli/tests/common/mod.rs", ""),
            ("crates/cli/src/lease_manager.rs", ""),
            ("crates/cli/src/a.rs", "pub mod helpers {\n}\nmod commonplace;\n"),
        ]);
        let found: Vec<String> =
            names_say_what_is_inside(&tree).into_iter().map(|finding| finding.path).collect();
        let expected = ["util.rs", "tests/common/mod.rs", "lease_manager.rs", "a.rs"];
        assert_eq!(found.len(), 4);
        assert!(found.iter().zip(expected).all(|(path, end)| path.ends_with(end)), "{found:?}");
    }

    #[test]
    fn a_file_of_501_lines_is_refused() {
        let tree = Tree::of(&[
            ("a.rs", &"\n".repeat(501)),
            ("b.rs", &"\n".repeat(500)),
            ("c.md", &"\n".repeat(501)),
        ]);
        assert_eq!(lines(&files_tell_one_story(&tree)), [501]);
    }
}
