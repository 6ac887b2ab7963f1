//! Rules that are still to be written.
use super::Rule;
use crate::envelope::Call;
use crate::model::refusal::{Code, Refusal};
use crate::operation::{Operation, record};
use crate::working_set::{Step, WorkingSet};

macro_rules! pending {
    ($($name:ty),+ $(,)?) => {$(
        impl Rule for $name {
            fn decide(&self, _set: &mut WorkingSet, _call: &Call) -> Step<<Self as Operation>::Answer> {
                Err(Refusal::new(Code::NotYetBuilt, "to be written").into())
            }
        }
    )+};
}
pending!(record::PreviewImport, record::ApplyImport);
