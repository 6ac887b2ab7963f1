//! Who may do what: one table over everything that can be asked for and everybody who can ask.
//!
//! Admission decides by it, `whoami` tells it, its page of the documentation is written from it, and the tests of every
//! surface try each of its cells.

use super::{Access, Effect, Fencing, Spec};
use crate::model::account::Role;
use crate::model::refusal::Code;
use crate::model::text_enum::text_enum;

text_enum! {
    /// As what somebody asks: the strongest that was proven with the call.
    Standing {
        /// By the network, without a token that counts.
        Stranger = "stranger",
        /// By the network, with a token that only asks.
        Reader = "reader",
        /// On the server's own machine, or by the network with a token.
        Caller = "caller",
        /// The same, as an agent in a session of its own.
        Session = "session",
        /// A helper that renews one attempt, by the secret that was made for that.
        Reporter = "reporter",
        /// A person whose account is a member's.
        Member = "member",
        /// A person whose account is an operator's.
        Operator = "operator",
        /// A person whose account is an administrator's.
        Administrator = "administrator",
        /// Whoever read the one-time secret on the server's console.
        Console = "console",
        /// A person who has logged in with a browser.
        Browser = "browser",
    }
}

impl From<Role> for Standing {
    fn from(role: Role) -> Self {
        match role {
            Role::Member => Self::Member,
            Role::Operator => Self::Operator,
            Role::Administrator => Self::Administrator,
        }
    }
}

impl Standing {
    /// Who has it.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Stranger => "by the network, without a token that counts",
            Self::Reader => "by the network, with a token that only asks",
            Self::Caller => "on the server's own machine, or by the network with a token",
            Self::Session => "the same, as an agent in a session of its own",
            Self::Reporter => "a helper that renews one attempt, by the secret that was made for that",
            Self::Member => "a person whose account is a member's",
            Self::Operator => "a person whose account is an operator's",
            Self::Administrator => "a person whose account is an administrator's",
            Self::Console => "whoever read the one-time secret on the server's console",
            Self::Browser => "a person who has logged in with a browser",
        }
    }

    /// The role of the account that was proven, if a person was.
    const fn role(self) -> Option<Role> {
        match self {
            Self::Member => Some(Role::Member),
            Self::Operator => Some(Role::Operator),
            Self::Administrator => Some(Role::Administrator),
            Self::Stranger
            | Self::Reader
            | Self::Caller
            | Self::Session
            | Self::Reporter
            | Self::Console
            | Self::Browser => None,
        }
    }
}

text_enum! {
    /// What has to be so in addition. The rules of the operation judge it.
    Condition {
        /// The session holds the task, its lease has not ended, and the call brings its fence.
        Holder = "holder",
        /// The same, where anybody holds the task.
        HolderWhereHeld = "holder_where_held",
        /// The holder of the task is asked to stop, where it is another.
        AsksHolder = "asks_holder",
        /// By the network, under the token's own name, or on a machine under a name that is free or its own.
        OwnName = "own_name",
        /// The account is the person's own.
        OwnAccount = "own_account",
        /// What is changed of the policy is among what the project lets agents change.
        AllowedPart = "allowed_part",
        /// The role of the person's account is enough, and they logged in lately.
        RecentLogin = "recent_login",
    }
}

impl Condition {
    /// The condition, to be read after "if" or "where".
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Holder => "it holds the task",
            Self::HolderWhereHeld => "it holds the task, or nobody does",
            Self::AsksHolder => "it holds the task, or nobody does; another holder is asked to stop",
            Self::OwnName => "the name is its token's, or free on its machine",
            Self::OwnAccount => "the account is their own",
            Self::AllowedPart => "it changes nothing of the policy but what the project lets agents change",
            Self::RecentLogin => "their role is enough, and they logged in less than ten minutes ago",
        }
    }
}

/// What is refused because of who asks, whatever it is: what the table refuses, and what is wrong with what somebody brings.
pub const OF_AUTHORITY: [Code; 9] = [
    Code::Unauthenticated,
    Code::TokenReadOnly,
    Code::TokenMismatch,
    Code::SessionRequired,
    Code::SessionUnknown,
    Code::SessionClosed,
    Code::OperatorRequired,
    Code::AuthenticationFailed,
    Code::LocalOnly,
];

/// One cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// It may.
    Granted,
    /// It may, if that is so.
    If(Condition),
    /// It may not, and hears this.
    Refused(Code),
}

/// The cell of an operation.
#[must_use]
pub fn permission(spec: &Spec, standing: Standing) -> Permission {
    let is_refused = match (spec.access, standing) {
        (_, Standing::Stranger) => Some(Code::Unauthenticated),
        (Access::Reporter, Standing::Reporter) | (Access::Console, Standing::Console) => None,
        (_, Standing::Reporter) => Some(Code::ReporterLimited),
        (Access::Console, _) => Some(Code::AuthenticationFailed),
        (_, Standing::Reader) if spec.effect != Effect::Read => Some(Code::TokenReadOnly),
        // What it lets somebody do as an agent would have to say as which one.
        (Access::Anyone | Access::Session | Access::Reporter, Standing::Browser)
            if spec.effect != Effect::Read =>
        {
            Some(Code::TokenReadOnly)
        }
        (Access::Person | Access::Operator | Access::Administrator, Standing::Browser) => None,
        (Access::Anyone, _) | (Access::Session, Standing::Session) => None,
        (Access::Session, _) => Some(Code::SessionRequired),
        (Access::Reporter, _) => Some(Code::Unauthenticated),
        (Access::Person | Access::Operator | Access::Administrator, _) => {
            let is_enough = match (standing.role(), spec.access.role()) {
                (Some(role), Some(needed)) => role.includes(needed),
                (None, _) | (_, None) => false,
            };
            (!is_enough).then_some(Code::OperatorRequired)
        }
        // It has no surface: nobody ever asks for it.
        (Access::Coordinator, _) => Some(Code::NotFound),
    };
    match (is_refused, condition(spec, standing)) {
        (Some(code), _) => Permission::Refused(code),
        (None, Some(condition)) => Permission::If(condition),
        (None, None) => Permission::Granted,
    }
}

/// Operations of which the rules ask for more than the standing, besides those that are fenced.
const CONDITIONS: [(&str, Condition); 5] = [
    ("project.edit", Condition::AllowedPart),
    ("close", Condition::HolderWhereHeld),
    ("task.cancel", Condition::AsksHolder),
    ("session.open", Condition::OwnName),
    ("account.password", Condition::OwnAccount),
];

fn condition(spec: &Spec, standing: Standing) -> Option<Condition> {
    if standing == Standing::Browser {
        return spec.access.role().map(|_| Condition::RecentLogin);
    }
    if spec.fencing == Fencing::Required {
        return Some(Condition::Holder);
    }
    let (_, condition) = CONDITIONS.iter().find(|(name, _)| *name == spec.name)?;
    // Administrators set everybody's password.
    (*condition != Condition::OwnAccount || standing != Standing::Administrator).then_some(*condition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::catalog::entries;

    fn cells(name: &str) -> Vec<Permission> {
        let entry = entries().into_iter().find(|entry| entry.spec.name == name).expect("an operation");
        Standing::ALL.iter().map(|standing| permission(&entry.spec, *standing)).collect()
    }

    #[test]
    fn a_question_is_for_everybody_who_is_known() {
        for (standing, cell) in Standing::ALL.iter().zip(cells("task.show")) {
            let expected = match standing {
                Standing::Stranger => Permission::Refused(Code::Unauthenticated),
                Standing::Reporter => Permission::Refused(Code::ReporterLimited),
                Standing::Reader
                | Standing::Caller
                | Standing::Session
                | Standing::Member
                | Standing::Operator
                | Standing::Administrator
                | Standing::Console
                | Standing::Browser => Permission::Granted,
            };
            assert_eq!(cell, expected, "{standing}");
        }
    }

    #[test]
    fn what_changes_something_is_for_sessions_people_or_the_console_and_never_for_a_reader() {
        use Permission::{Granted, If, Refused};
        let not_in_session = Refused(Code::SessionRequired);
        let expected = |session| {
            let mut cells = vec![not_in_session; Standing::ALL.len()];
            cells[0] = Refused(Code::Unauthenticated);
            cells[1] = Refused(Code::TokenReadOnly);
            cells[3] = session;
            cells[4] = Refused(Code::ReporterLimited);
            cells[9] = Refused(Code::TokenReadOnly);
            cells
        };
        assert_eq!(cells("task.create"), expected(Granted));
        assert_eq!(cells("heartbeat"), expected(If(Condition::Holder)));
        assert_eq!(cells("close"), expected(If(Condition::HolderWhereHeld)));
        let [person, limited] = [Refused(Code::OperatorRequired), Refused(Code::ReporterLimited)];
        let recent = If(Condition::RecentLogin);
        let [stranger, reader] = [Refused(Code::Unauthenticated), Refused(Code::TokenReadOnly)];
        assert_eq!(
            cells("task.reopen"),
            [stranger, reader, person, person, limited, person, Granted, Granted, person, recent]
        );
        let own = If(Condition::OwnAccount);
        assert_eq!(
            cells("account.password"),
            [stranger, reader, person, person, limited, own, own, Granted, person, recent]
        );
        let console = Refused(Code::AuthenticationFailed);
        assert_eq!(
            cells("account.bootstrap"),
            [stranger, console, console, console, limited, console, console, console, Granted, console]
        );
    }

    #[test]
    fn every_condition_is_an_operations() {
        let names: Vec<&str> = entries().iter().map(|entry| entry.spec.name).collect();
        assert!(CONDITIONS.iter().all(|(name, _)| names.contains(name)));
        let used = |condition: &Condition| {
            entries().iter().any(|entry| {
                Standing::ALL
                    .iter()
                    .any(|standing| permission(&entry.spec, *standing) == Permission::If(*condition))
            })
        };
        assert!(Condition::ALL.iter().all(used));
    }

    #[test]
    fn every_operation_is_for_somebody_and_what_everybody_sends_is_told_by_its_document() {
        for entry in entries() {
            let mut refused = 0;
            for standing in Standing::ALL {
                if let Permission::Refused(code) = permission(&entry.spec, *standing) {
                    assert!(
                        entry.spec.all_refusals().contains(&code),
                        "{} {standing}: {code}",
                        entry.spec.name
                    );
                    refused += 1;
                }
            }
            assert!(refused < Standing::ALL.len(), "{} is for nobody", entry.spec.name);
        }
    }
}
