//! What must not be in a tracked file: paths of one machine, what looks like a secret, notes to oneself.

use super::{File, Finding, Tree};

/// Beginnings of absolute paths into somebody's home. Where this checkout lies is refused as well.
const HOMES: [&str; 2] = ["/root/", "/home/"];

/// Words that postpone. What is to be done stands on the list of issues.
const LEFTOVERS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// How known secrets begin, and how many characters of the key follow at least.
const SECRETS: &[(&str, usize)] = &[
    ("AKIA", 16),
    ("ghp_", 36),
    ("gho_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("sk-ant-", 24),
    ("xoxb-", 20),
    ("xoxp-", 20),
];

/// This folder names what it looks for.
const EXEMPT: &str = "xtask/src/tidy/";

/// No path of somebody's machine, no secret, no note to oneself.
pub fn no_machine_paths_secrets_or_leftovers(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| !file.path.starts_with(EXEMPT));
    files.flat_map(|file| look(file, &tree.places)).collect()
}

fn look(file: &File, places: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let number = index + 1;
        if let Some(kind) = secret(line) {
            let message =
                format!("this looks like a secret ({kind}): revoke it, then take it out of the history");
            findings.push(file.finding(number, "secret", message));
        }
        if file.is_kept_verbatim() {
            continue;
        }
        let mut paths = HOMES.into_iter().chain(places.iter().map(String::as_str));
        if let Some(path) = paths.find(|path| begins_a_path(line, path)) {
            let message =
                format!("`{path}` is a path of one machine: say it relative to the repository or to `~`");
            findings.push(file.finding(number, "machine-path", message));
        }
        if let Some(word) = LEFTOVERS.iter().find(|word| is_word(line, word)) {
            let message = format!("`{word}`: do it now, or put it on the list of issues");
            findings.push(file.finding(number, "leftover", message));
        }
    }
    findings
}

fn secret(line: &str) -> Option<&'static str> {
    if line.contains("-----BEGIN") && line.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    let key =
        |rest: &str| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).count();
    let found = SECRETS.iter().find(|(prefix, length)| {
        line.match_indices(prefix).any(|(start, _)| key(&line[start + prefix.len()..]) >= *length)
    });
    found.map(|(prefix, _)| *prefix)
}

/// Whether the text occurs where an absolute path begins, not inside a longer path or address.
fn begins_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "/._-~}".contains(c)))
    })
}

fn is_word(line: &str, word: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
    line.match_indices(word).any(|(start, _)| {
        edge(line[..start].chars().next_back()) && edge(line[start + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    fn found(text: &str) -> Vec<usize> {
        lines(&no_machine_paths_secrets_or_leftovers(&Tree::of(&[("docs/src/a.md", text)])))
    }

    #[test]
    fn paths_of_one_machine_are_refused() {
        let text = "see /root/a\n`/home/b`\nat=/builds/c\nhttps://x.org/home/d\n~/builds/e\n";
        let mut tree = Tree::of(&[("docs/src/a.md", text)]);
        tree.places = vec!["/builds/".to_owned()];
        assert_eq!(lines(&no_machine_paths_secrets_or_leftovers(&tree)), [1, 2, 3]);
    }

    #[test]
    fn notes_to_oneself_are_refused() {
        assert_eq!(found("// TODO: later\nFIXME\nmethod TODOS\na HACK\n"), [1, 2, 4]);
    }

    #[test]
    fn what_looks_like_a_secret_is_refused_even_in_data() {
        let key = format!("token = ghp_{}\n-----BEGIN RSA PRIVATE KEY-----\nghp_short\n", "a".repeat(36));
        assert_eq!(found(&key), [1, 2]);
        let tree = Tree::of(&[("testdata/beads/x.jsonl", &format!("{key}TODO\n"))]);
        assert_eq!(lines(&no_machine_paths_secrets_or_leftovers(&tree)), [1, 2]);
    }
}
