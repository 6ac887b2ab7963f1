//! Who asks, and what they may do.

use tenure_core::operation::permission::{Condition, Standing};
use tenure_core::operation::whoami::{Allowance, Identity, May};

use super::wrap::wrapped;
use super::{Page, Show, token};

/// How wide the lists of operations are, in columns, without the two that they are set in by.
const WIDTH: usize = 76;

impl Show for Identity {
    fn show(&self, page: &mut Page) {
        match &self.token {
            Some(known) => token::show(known, page),
            None => page.line("a user of the server's own machine, which asks for no token"),
        }
        if let Some(session) = &self.session {
            page.field("session", &format!("{} ({})", session.name, session.handle));
        }
        if self.can.is_empty() {
            return;
        }
        list(page, "may", &self.can, |one| one.may == May::Yes);
        for condition in Condition::ALL {
            let heading = format!("may, if {}", condition.told());
            list(page, &heading, &self.can, |one| one.condition == Some(*condition));
        }
        for standing in Standing::ALL {
            list(page, needs(*standing), &self.can, |one| one.needs == Some(*standing));
        }
    }
}

/// What somebody lacks who does not have a standing.
const fn needs(standing: Standing) -> &'static str {
    match standing {
        Standing::Stranger | Standing::Reader | Standing::Caller => "needs a token that may change things",
        Standing::Session => "needs a session: set TENURE_SESSION to a name of your own",
        Standing::Reporter => "needs the secret of a reporter",
        Standing::Member => "needs a person's password",
        Standing::Operator => "needs an operator's password",
        Standing::Administrator => "needs an administrator's password",
        Standing::Console => "needs the server's one-time secret",
        Standing::Browser => "needs a login in a browser",
    }
}

/// One paragraph of the operations that something holds for, if there are any.
fn list(page: &mut Page, heading: &str, all: &[Allowance], is_of_it: impl Fn(&&Allowance) -> bool) {
    let names: Vec<&str> = all.iter().filter(is_of_it).map(|one| one.operation.as_str()).collect();
    if !names.is_empty() {
        page.line(&format!("{heading}:"));
        page.block(&wrapped(&names.join(", "), Some(WIDTH)));
    }
}
