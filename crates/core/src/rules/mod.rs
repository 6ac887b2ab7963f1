//! The rules: pure decisions. A rule reads and writes the working set; the engine loads, takes back and stores.

use crate::envelope::Call;
use crate::operation::Operation;
use crate::working_set::{Need, Step, WorkingSet};

mod pending;

/// How an operation is decided.
pub trait Rule: Operation {
    /// What it will surely need, so that a batch can load it for all its commands at once. Only a hint: what is
    /// missing is loaded when the rule asks for it.
    fn scope(&self, _call: &Call) -> Vec<Need> {
        Vec::new()
    }

    /// Decides. A refusal leaves nothing behind, whatever was written to the working set before it.
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Self::Answer>;
}
