//! One step of a rule: it has what it needs, it needs more, or the answer is no.

use super::Need;
use crate::model::refusal::Refusal;

/// Why a rule stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// It must know these first.
    Need(Vec<Need>),
    /// The answer is no.
    Refused(Box<Refusal>),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<Need> for Stop {
    fn from(need: Need) -> Self {
        Self::Need(vec![need])
    }
}

/// What a rule returns: its answer, or why it stopped.
pub type Step<T> = Result<T, Stop>;

/// Takes several steps and, if any of them lack something, says all that they lack at once.
pub fn together<T>(steps: impl IntoIterator<Item = Step<T>>) -> Step<Vec<T>> {
    let mut taken = Vec::new();
    let mut needs = Vec::new();
    for step in steps {
        match step {
            Ok(value) => taken.push(value),
            Err(Stop::Need(more)) => needs.extend(more),
            Err(refused) => return Err(refused),
        }
    }
    if needs.is_empty() { Ok(taken) } else { Err(Stop::Need(needs)) }
}
