//! The operation that proves the list: this file and one line in it, and every surface has it.

use super::{Answer, input, operation, output};
use crate::envelope::Call;
use crate::rules::Rule;
use crate::working_set::{Step, WorkingSet};

input! {
    /// Say back what was said
    pub struct Echo {
        /// What to say
        pub text: String,
    }
}
operation!(Echo -> Echoed, "dummy.echo", Get "/dummy/{text}", Read, Anyone, None, []);

output! {
    /// What was said.
    pub struct Echoed {
        /// The text.
        pub text: String,
    }
}
impl Answer for Echoed {}

impl Rule for Echo {
    fn decide(&self, _set: &mut WorkingSet, _call: &Call) -> Step<Echoed> {
        Ok(Echoed { text: self.text.clone() })
    }
}
