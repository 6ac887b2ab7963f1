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
/// Whose commits they are where the repository knows nobody, by what Git is asked for.
const NOBODY: [(&str, [(&str, &str); 2]); 2] = [
    ("GIT_AUTHOR_IDENT", [("GIT_AUTHOR_NAME", "tenure"), ("GIT_AUTHOR_EMAIL", "tenure@localhost")]),
    ("GIT_COMMITTER_IDENT", [("GIT_COMMITTER_NAME", "tenure"), ("GIT_COMMITTER_EMAIL", "tenure@localhost")]),
];
/// Below what every ref for anchors is: nothing else stands there, so nothing that somebody works with is moved.
const OWN: &str = "refs/tenure/";
/// Most bytes that what is noted has.
const BYTES_MAX: usize = 1024;

/// The full name of a ref that is for anchors alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference(String);

/// What a ref held when it was read.
pub struct Tip {
    /// The commit.
    commit: String,
    /// What is noted in it.
    pub noted: Noted,
}

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
        // What else Git refuses in a name, it refuses itself.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        if text.starts_with(OWN) && text.len() > OWN.len() && text.bytes().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{:?} is no ref below {OWN}, such as {OWN}audit", excerpt(text)))
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
        let detail =
            format!("{reference} is of the fleet {}, and the fleet {fleet} answers", excerpt(&self.fleet));
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
    /// What the ref holds now, or nothing where the repository has no such ref.
    pub fn read(&self) -> Result<Option<Tip>, Failure> {
        let Some(commit) = self.commit()? else { return Ok(None) };
        let file = format!("{commit}:{FILE}");
        let none = || {
            let next =
                format!("name another ref below {OWN}: this one was not written by `tenure audit anchor`");
            Failure::cannot_tell(format!("{self} holds no anchor"), next)
        };
        let size = git(&["cat-file", "-s", &file], "").ok().and_then(|size| size.parse::<usize>().ok());
        size.filter(|size| *size <= BYTES_MAX).ok_or_else(none)?;
        let noted = Noted::read(&git(&["cat-file", "blob", &file], "")?).ok_or_else(none)?;
        Ok(Some(Tip { commit, noted }))
    }

    /// Notes something behind what the ref held when it was read, and says in which commit. Nothing is written where nothing
    /// is new; a ref that somebody moved meanwhile is left as it is.
    pub fn note(&self, tip: Option<Tip>, noted: &Noted) -> Result<String, Failure> {
        if let Some(tip) = tip.as_ref().filter(|tip| tip.noted == *noted) {
            return Ok(tip.commit.clone());
        }
        let parent = tip.map(|tip| tip.commit);
        let blob = git(&["hash-object", "-w", "--stdin"], &noted.text())?;
        let tree = git(&["mktree"], &format!("100644 blob {blob}\t{FILE}\n"))?;
        let message = format!("Event {} of fleet {}", noted.anchor.event, noted.fleet);
        let mut words = vec!["commit-tree", &tree, "-m", &message];
        if let Some(parent) = &parent {
            words.extend(["-p", parent]);
        }
        let commit = git(&words, "")?;
        // Where there was none, there must be none now. A name that only points to another ref becomes one of its own.
        let expected = parent.unwrap_or_default();
        let moved = git(&["update-ref", "--no-deref", "-m", &message, &self.0, &commit, &expected], "");
        moved.map_err(|failure| {
            let next = "if somebody noted an anchor there meanwhile, type it again";
            Failure::cannot_tell(failure.problem().detail, next)
        })?;
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
        Failure::cannot_tell(detail, "type it in a checkout of the repository that is to hold the anchors")
    };
    let mut git = Command::new("git");
    // What a repository puts in the place of its objects is not what was noted.
    git.arg("--no-replace-objects").args(words);
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if words[0] == "commit-tree" {
        git.envs(NOBODY.into_iter().filter(|(ident, _)| !is_known(ident)).flat_map(|(_, own)| own));
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

/// Whether Git knows who this is here.
fn is_known(ident: &str) -> bool {
    let asked = Command::new("git")
        .args(["var", ident])
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
        for own in ["refs/tenure/audit", "refs/tenure/main/2.1"] {
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
