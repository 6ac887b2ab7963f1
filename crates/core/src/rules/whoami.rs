//! As whom somebody is known, and what that lets them do.

use super::{Rule, as_of};
use crate::envelope::Call;
use crate::operation::Spec;
use crate::operation::catalog::entries;
use crate::operation::permission::{Permission, Standing, permission};
use crate::operation::whoami::{Allowance, Identity, KnownSession, May, WhoAmI};
use crate::rules::token::view;
use crate::working_set::{Step, WorkingSet};

impl Rule for WhoAmI {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Identity> {
        let standing = standing(call);
        let can = if self.can {
            entries().iter().map(|entry| allowance(&entry.spec, standing)).collect()
        } else {
            Vec::new()
        };
        Ok(Identity {
            token: call.token.as_ref().map(|token| view(token, call)),
            session: call.session.as_ref().map(|session| KnownSession {
                id: session.id.clone(),
                name: session.principal.clone(),
                handle: session.handle.clone(),
            }),
            standing,
            can,
            as_of: as_of(set, call),
        })
    }
}

/// What a call has proven besides any password: a question that everybody may ask is asked without one.
fn standing(call: &Call) -> Standing {
    match (&call.token, &call.session) {
        (Some(token), _) if token.read_only => Standing::Reader,
        // A password beside a question that everybody may ask is a login's.
        (None, None) if call.envelope.authentication.is_some() => Standing::Browser,
        (_, Some(_)) => Standing::Session,
        (_, None) => Standing::Caller,
    }
}

fn allowance(spec: &Spec, standing: Standing) -> Allowance {
    let (may, condition) = match permission(spec, standing) {
        Permission::Granted => (May::Yes, None),
        Permission::If(condition) => (May::If, Some(condition)),
        Permission::Refused(_) => (May::No, None),
    };
    let needs = if may == May::No { weakest(spec) } else { None };
    Allowance { operation: spec.name.to_owned(), may, condition, needs }
}

/// The first standing that may, from the weakest to the strongest.
fn weakest(spec: &Spec) -> Option<Standing> {
    let may = |standing: &&Standing| !matches!(permission(spec, **standing), Permission::Refused(_));
    Standing::ALL.iter().find(may).copied()
}
