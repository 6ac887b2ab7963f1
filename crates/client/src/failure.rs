//! How a call can end badly: the coordinator said no, or nobody can tell. Never an empty success.

use tenure_core::model::refusal::{Code, Problem, Refusal};

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
