//! What a caller of the engine hears: an answer, a refusal, or that nobody can tell.

use tenure_core::model::ids::EventCursor;
use tenure_core::model::refusal::{Code, Refusal};

use crate::store::driver::{Class, StoreError};

/// An answer as JSON, or why there is none.
pub type Outcome = Result<String, Failure>;

/// What a caller hears, and when it was so.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// What it hears.
    pub outcome: Outcome,
    /// The last event of the committed state that this is true of; nothing where no state was looked at.
    pub at: Option<EventCursor>,
}

impl From<Outcome> for Told {
    /// What was said without looking at a state.
    fn from(outcome: Outcome) -> Self {
        Self { outcome, at: None }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The rules said no, and nothing was changed.
    Refused(Refusal),
    /// The store failed. It may have happened or not; asking again with the same operation id finds out.
    CannotTell(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::CannotTell(error)
    }
}

impl From<Failure> for Refusal {
    /// As it travels to a caller: without the store's own words, which may name paths or statements.
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal,
            Failure::CannotTell(error) => {
                let refusal = Self::new(Code::CannotTell, said(error.class));
                // Asking again does not help here.
                if error.class == Class::Corrupt { refusal.next(StoreError::DAMAGED) } else { refusal }
            }
        }
    }
}

fn said(class: Class) -> &'static str {
    match class {
        Class::Busy => "the store is busy",
        Class::Full => "the store's disk is full",
        Class::ReadOnly => "the store cannot be written to",
        Class::Corrupt => "the store holds something that cannot be read",
        Class::NewerSchema => "the store was written by a newer version",
        Class::Io => "the store cannot be reached, or its disk failed",
        Class::Sync => "the store's disk failed",
        Class::Lost => "the connection to the store was lost",
        Class::Other => "the store could not do it",
    }
}

/// For tests of errors: the code, the exit code, and whether the text and the code agree on what is worth a repetition.
#[cfg(test)]
pub(crate) fn assert_agrees<E: std::fmt::Debug + Into<Refusal>>(error: E, code: Code, exit: u8) {
    let shown = format!("{error:?}");
    let refusal: Refusal = error.into();
    assert_eq!((refusal.code, refusal.code.exit()), (code, exit), "{shown}");
    let says_repeat = refusal.next_actions.concat().contains("and repeat the command");
    assert_eq!(says_repeat, code.retryable(), "{shown}: {:?}", refusal.next_actions);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_meets_a_damaged_store_is_told_what_finds_and_mends_it() {
        let steps = Refusal::from(Failure::from(StoreError::corrupt("a page"))).steps().concat();
        assert!(steps.contains("`tenure doctor --offline`") && steps.contains("`tenure restore FILE`"));
    }

    #[test]
    fn what_the_store_says_never_travels() {
        let error = StoreError::new(Class::Io, "~someone/tenure.db: SELECT secret");
        let refusal = Refusal::from(Failure::CannotTell(error));
        assert_eq!(refusal.code, Code::CannotTell);
        assert!(!refusal.detail.contains("someone") && !refusal.detail.contains("SELECT"));
    }
}
