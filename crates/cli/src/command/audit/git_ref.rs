//! Anchors in a Git repository: each is a commit of its own on a ref that nothing else stands on, so that what was noted
//! before stays in its history.

use std::fmt;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::str::FromStr;

use tenure_client::failure::Failure;
use tenure_core::model::ids::Anchor;
use tenure_core::model::limits::excerpt;
use tenure_core::model::refusal::{Code, Refusal};

/// The file in the commit's tree.
const FILE: &str = "anchor";
/// Whose commits they are where the repository knows nobody.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "tenure"),
    ("GIT_AUTHOR_EMAIL", "tenure@localhost"),
    ("GIT_COMMITTER_NAME", "tenure"),
    ("GIT_COMMITTER_EMAIL", "tenure@localhost"),
];
/// Where branches, tags and the like are: what somebody works with is never moved.
const TAKEN: [&str; 6] = ["heads", "tags", "remotes", "notes", "stash", "bisect"];

/// The full name of a ref that is for anchors alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference(String);

/// What is noted: an anchor, and the fleet whose record it is of.
#[derive(Debug, PartialEq, Eq)]
pub struct Noted {
    /// The fleet's id.
    pub fleet: String,
    /// The anchor.
    pub anchor: Anchor,
}

impl FromStr for Reference {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('/');
        let (is_full, space, has_name) =
            (parts.next() == Some("refs"), parts.next().unwrap_or_default(), parts.next().is_some());
        // What else Git refuses in a name, it refuses itself.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
        if is_full && has_name && is_plain && !TAKEN.contains(&space) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{:?} is not a ref of its own, such as refs/tenure/audit", excerpt(text)))
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Noted {
    /// The anchor, if it is of this fleet's record.
    pub fn of_fleet(&self, fleet: &str, reference: &Reference) -> Result<Anchor, Refusal> {
        if self.fleet == fleet {
            return Ok(self.anchor);
        }
        let detail = format!("{reference} is of the fleet {}, and the fleet {fleet} answers", self.fleet);
        Err(Refusal::new(Code::StateConflict, detail).next("name the fleet's own ref, or its own server"))
    }

    fn text(&self) -> String {
        format!("fleet {}\nanchor {}\n", self.fleet, self.anchor)
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let fleet = lines.next()?.strip_prefix("fleet ")?.to_owned();
        let anchor = lines.next()?.strip_prefix("anchor ")?.parse().ok()?;
        Some(Self { fleet, anchor }).filter(|_| lines.next().is_none())
    }
}

impl Reference {
    /// What was noted last, or nothing where the repository has no such ref.
    pub fn read(&self) -> Result<Option<Noted>, Failure> {
        let Some(commit) = self.commit()? else { return Ok(None) };
        let text = git(&["cat-file", "blob", &format!("{commit}:{FILE}")], "")?;
        Noted::read(&text).map(Some).ok_or_else(|| {
            let next = "name another ref: this one was not written by `tenure audit anchor`";
            Failure::cannot_tell(format!("{self} holds no anchor"), next)
        })
    }

    /// Notes something behind what was noted `before`, and says in which commit. Nothing is written where nothing is new; a
    /// ref that somebody moved meanwhile is left as it is.
    pub fn note(&self, before: Option<&Noted>, noted: &Noted) -> Result<String, Failure> {
        let parent = self.commit()?;
        if let Some(parent) = parent.as_ref().filter(|_| before == Some(noted)) {
            return Ok(parent.clone());
        }
        let blob = git(&["hash-object", "-w", "--stdin"], &noted.text())?;
        let tree = git(&["mktree"], &format!("100644 blob {blob}\t{FILE}\n"))?;
        let message = format!("Event {} of fleet {}", noted.anchor.event, noted.fleet);
        let mut words = vec!["commit-tree", &tree, "-m", &message];
        if let Some(parent) = &parent {
            words.extend(["-p", parent]);
        }
        let commit = git(&words, "")?;
        // Nobody's: where there was none, there must be none now.
        let expected = parent.unwrap_or_default();
        git(&["update-ref", "-m", &message, &self.0, &commit, &expected], "")?;
        Ok(commit)
    }

    fn commit(&self) -> Result<Option<String>, Failure> {
        let found = git(&["for-each-ref", "--format=%(refname) %(objectname)", &self.0], "")?;
        let own = found.lines().find_map(|line| line.strip_prefix(&self.0)?.strip_prefix(' '));
        Ok(own.map(str::to_owned))
    }
}

/// Runs Git in the checkout that the command was called in, with a text to read, and returns what it prints without the
/// last line's end.
fn git(words: &[&str], input: &str) -> Result<String, Failure> {
    let failed = |detail: String| {
        let detail = format!("`git {}` failed: {detail}", words[0]);
        Failure::cannot_tell(detail, "run it in a checkout of the repository that is to hold the anchors")
    };
    let mut git = Command::new("git");
    git.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if !is_somebody_known() {
        git.envs(AUTHOR);
    }
    let mut child = git.spawn().map_err(|error| failed(error.to_string()))?;
    let mut stdin = child.stdin.take().expect("it was asked for");
    // A program that reads nothing tells why by its end.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// Whether Git knows whose commits are made here.
fn is_somebody_known() -> bool {
    let asked = Command::new("git")
        .args(["var", "GIT_COMMITTER_IDENT"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_ref_that_is_for_nothing_else_is_taken() {
        for own in ["refs/tenure/audit", "refs/audit/main.1"] {
            assert_eq!(own.parse::<Reference>().expect("taken").to_string(), own);
        }
        for other in [
            "",
            "audit",
            "refs/audit",
            "refs/heads/main",
            "refs/tags/v1",
            "refs/x/a b",
            "--all",
            "refs/x/a:b",
        ] {
            assert!(other.parse::<Reference>().is_err(), "{other}");
        }
    }

    #[test]
    fn what_is_noted_is_read_again_and_nothing_else_is() {
        let anchor = format!("7:{}", "ab".repeat(32)).parse().expect("an anchor");
        let noted = Noted { fleet: "f-1".to_owned(), anchor };
        assert_eq!(Noted::read(&noted.text()), Some(noted));
        for other in ["", "fleet f-1\n", "anchor 7:00\nfleet f-1\n"] {
            assert_eq!(Noted::read(other), None, "{other}");
        }
    }
}
