//! Which repository a folder belongs to. Reads Git's files itself, because starting `git` would take longer than
//! the whole command; what only Git can know (includes, rewritten addresses) is left out of an identity.

use std::path::{Path, PathBuf};

use crate::{private, remote_url};

/// A place in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// What names the repository, the surest first: its normalised remote URL, its canonical Git directory.
    pub identities: Vec<String>,
    /// The folder inside it, without leading or trailing slash; empty at the top.
    pub folder: String,
    /// The top of the checkout.
    pub top: PathBuf,
}

/// The place of a folder, if it lies in a Git checkout. Worktrees resolve to their repository.
#[must_use]
pub fn checkout(folder: &Path) -> Option<Checkout> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let (top, git_directory) =
        folder.ancestors().find_map(|top| git_directory(top).map(|directory| (top, directory)))?;
    let common = common_directory(&git_directory);
    let remote = private::read_text(&common.join("config"))
        .ok()
        .and_then(|config| remote_of(&config))
        .and_then(|url| remote_url::normalise(&url, top));
    let identities = remote.into_iter().chain(common.to_str().map(str::to_owned)).collect();
    let inside = folder.strip_prefix(top).ok()?.to_str()?.to_owned();
    Some(Checkout { identities, folder: inside, top: top.to_owned() })
}

/// The Git directory of a checkout whose top this is: `.git` itself, or where the file `.git` points.
fn git_directory(top: &Path) -> Option<PathBuf> {
    let entry = top.join(".git");
    if entry.join("HEAD").is_file() {
        return Some(entry);
    }
    let text = private::read_text(&entry).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    let directory = std::fs::canonicalize(top.join(target)).ok()?;
    directory.join("HEAD").is_file().then_some(directory)
}

/// The directory that all worktrees of the repository share.
fn common_directory(git_directory: &Path) -> PathBuf {
    let common = match private::read_text(&git_directory.join("commondir")) {
        Ok(text) => git_directory.join(text.trim()),
        Err(_) => git_directory.to_owned(),
    };
    std::fs::canonicalize(&common).unwrap_or(common)
}

/// The address of `origin`, else of the first remote that has one.
fn remote_of(config: &str) -> Option<String> {
    let mut remote: Option<String> = None;
    let mut first: Option<String> = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.split(']').next().unwrap_or_default();
            remote = name
                .split_once(char::is_whitespace)
                .filter(|(kind, _)| kind.eq_ignore_ascii_case("remote"))
                .map(|(_, name)| name.trim().trim_matches('"').to_owned());
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let (Some(name), true) = (&remote, key.trim().eq_ignore_ascii_case("url")) else { continue };
        let value = value.trim().trim_matches('"').to_owned();
        if name == "origin" {
            return Some(value);
        }
        first.get_or_insert(value);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_comes_before_other_remotes() {
        let config = "[core]\n\turl = no\n[remote \"upstream\"]\n\turl = u\n\turl = v\n[Remote \"origin\"]\n URL = \"o\"\n";
        assert_eq!(remote_of(config).as_deref(), Some("o"));
        assert_eq!(remote_of("[remote \"upstream\"]\n\turl = u\n").as_deref(), Some("u"));
        assert_eq!(remote_of("[branch \"main\"]\n\tremote = origin\n"), None);
    }
}
