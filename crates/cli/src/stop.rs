//! Why a command ends other than well.

use tenure_client::failure::Failure;
use tenure_core::model::refusal::{Code, Refusal};

/// A command's bad end.
#[derive(Debug)]
pub enum Stop {
    /// Refused, or nobody can tell.
    Failure(Failure),
    /// A check failed; what it found has been printed.
    CheckFailed,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Failure(refusal.into())
    }
}

/// What the command line itself refuses.
pub fn usage(detail: impl Into<String>, next: impl Into<String>) -> Stop {
    Refusal::new(Code::InvalidInput, detail).next(next).into()
}
