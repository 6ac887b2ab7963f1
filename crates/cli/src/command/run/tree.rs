//! Where the work is in Git, as Git itself tells.

use std::path::Path;
use std::process::{Command, Stdio};

use tenure_client::repository;
use tenure_core::model::attempt::{Evidence, TreeState};

/// A checkout as it is now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Branch and commit of a clean checkout. What is not committed is at no commit.
    pub evidence: Evidence,
    /// That it is not clean.
    pub state: Option<TreeState>,
}

/// Looks at the checkout that a folder lies in. What Git does not tell is left out.
pub fn of(folder: &Path) -> Tree {
    if repository::checkout(folder).is_none() {
        return Tree::default();
    }
    let status = Command::new("git")
        .args(["--no-optional-locks", "status", "--porcelain=v2", "--branch"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match status {
        Ok(output) if output.status.success() => read(&String::from_utf8_lossy(&output.stdout)),
        Ok(_) | Err(_) => Tree::default(),
    }
}

fn read(status: &str) -> Tree {
    if status.lines().any(|line| !line.starts_with('#')) {
        return Tree { state: Some(TreeState::Dirty), ..Tree::default() };
    }
    // Words in parentheses stand for what there is not: no commit yet, no branch.
    let told = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        value.filter(|value| !value.starts_with('(')).map(str::to_owned)
    };
    let (branch, commit) = (told("# branch.head "), told("# branch.oid "));
    let is_there = commit.is_some();
    Tree {
        evidence: Evidence { branch: branch.filter(|_| is_there), commit, ..Evidence::default() },
        state: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clean_checkout_is_at_a_commit() {
        let clean = "# branch.oid 1a2b3c4d\n# branch.head main\n# branch.ab +1 -0\n";
        let tree = read(clean);
        assert_eq!(tree.evidence.branch.as_deref(), Some("main"));
        assert_eq!((tree.evidence.commit.as_deref(), tree.state), (Some("1a2b3c4d"), None));
        for change in ["? new.txt\n", "1 .M N... 100644 100644 100644 a b file.txt\n"] {
            let tree = read(&format!("{clean}{change}"));
            assert!(tree.evidence.is_empty() && tree.state == Some(TreeState::Dirty), "{tree:?}");
        }
        let detached = read("# branch.oid 1a2b3c4d\n# branch.head (detached)\n");
        assert_eq!((detached.evidence.branch, detached.evidence.commit.is_some()), (None, true));
        assert_eq!(read("# branch.oid (initial)\n# branch.head main\n"), Tree::default());
    }
}
