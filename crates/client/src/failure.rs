//! How a call can end badly: the coordinator said no, or nobody can tell. Never an empty success.

use std::time::Duration;

use tenure_core::model::refusal::{Code, Problem, Refusal};

/// The fact that tells for how many seconds the coordinator wants not to be asked.
const RETRY_AFTER: &str = "retry_after_s";

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The rules said no; nothing was changed.
    Refused(Box<Refusal>),
    /// The outcome is unknown, or the question could not be asked.
    CannotTell {
        /// What happened.
        detail: String,
        /// What to do about it.
        next: String,
    },
}

impl Failure {
    /// Nobody can tell, because of this.
    #[must_use]
    pub fn cannot_tell(detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self::CannotTell { detail: detail.into(), next: next.into() }
    }

    /// A file or folder of ours could not be used.
    #[must_use]
    pub fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::cannot_tell(
            format!("cannot {doing} {}: {error}", path.display()),
            "make the file usable for you, or name another state folder with TENURE_STATE_DIR",
        )
    }

    /// The stable name of the reason.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::CannotTell { .. } => Code::CannotTell,
        }
    }

    /// Whether the coordinator decided. Exit code 2 says that nobody can tell, and then the same request may be
    /// answered otherwise in a moment.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.code().exit() != Code::CannotTell.exit()
    }

    /// The same failure of a reply that states how long to wait before the request is sent again.
    #[must_use]
    pub(crate) fn stating(self, wait: Option<Duration>) -> Self {
        let Some(wait) = wait else { return self };
        let refusal = match self {
            Self::Refused(refusal) => *refusal,
            Self::CannotTell { detail, next } => Refusal::new(Code::CannotTell, detail).next(next),
        };
        refusal.fact(RETRY_AFTER, wait.as_secs()).into()
    }

    /// How long the coordinator wants not to be asked, if it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.facts.get(RETRY_AFTER)?.as_u64().map(Duration::from_secs),
            Self::CannotTell { .. } => None,
        }
    }

    /// The same failure, with the stated wait named if there is one: nobody waits that long here.
    #[must_use]
    pub(crate) fn naming_the_wait(mut self) -> Self {
        if let (Some(wait), Self::Refused(refusal)) = (self.retry_after(), &mut self) {
            let seconds = wait.as_secs();
            refusal.detail +=
                &format!("; it asks to be asked again after {seconds} s, and this call ends before");
        }
        self
    }

    /// The failure as problem details, as the coordinator itself would tell it.
    #[must_use]
    pub fn problem(&self) -> Problem {
        match self {
            Self::Refused(refusal) => Problem::from(refusal.as_ref()),
            Self::CannotTell { detail, next } => {
                Problem::from(&Refusal::new(Code::CannotTell, detail.clone()).next(next.clone()))
            }
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => f.write_str(&refusal.detail),
            Self::CannotTell { detail, .. } => f.write_str(detail),
        }
    }
}

impl std::error::Error for Failure {}
