//! Accounts of people. A password is in none of these: it travels beside them, and the server hands on its hash.

use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::model::account::Role;
use crate::model::ids::{Digest, PrincipalName};
use crate::model::time::WallTime;

input! {
    /// Make the first administrator of a fleet
    pub struct BootstrapAccount {
        /// The person's name
        pub name: PrincipalName,
    }
}
operation!(BootstrapAccount -> AccountAnswer, "account.bootstrap", Post "/accounts/bootstrap", Write, Console, None,
    [StateConflict]);

input! {
    /// Give a person an account (administrators only)
    pub struct CreateAccount {
        /// The person's name
        pub name: PrincipalName,
        /// What it may do
        #[cfg_attr(feature = "cli", arg(long))]
        pub role: Role,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(CreateAccount -> AccountAnswer, "account.create", Post "/accounts", Write, Administrator, None,
    [AlreadyExists]);

output! {
    /// A person's account.
    pub struct AccountView {
        /// The person's name.
        pub name: PrincipalName,
        /// What it may do.
        pub role: Role,
        /// Whether it may do nothing for now.
        pub disabled: bool,
        /// When it was made, in milliseconds since 1970.
        pub created_at: WallTime,
        /// When its password was set last, in milliseconds since 1970.
        pub password_changed_at: WallTime,
    }
}

output! {
    /// One account.
    pub struct AccountAnswer {
        /// The account.
        pub account: AccountView,
    }
}
impl Answer for AccountAnswer {}

input! {
    /// List accounts by name (administrators only)
    pub struct ListAccounts {
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
        /// Only names after this one
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub after: Option<PrincipalName>,
    }
}
operation!(ListAccounts -> AccountList, "account.list", Get "/accounts", Read, Administrator, None, []);

output! {
    /// Accounts in the order of their names.
    pub struct AccountList {
        /// By name.
        pub accounts: Vec<AccountView>,
        /// Whether there are more; ask for those after the last name.
        pub more: bool,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for AccountList {}

input! {
    /// Change what an account may do (administrators only)
    pub struct EditAccount {
        /// The person's name
        pub name: PrincipalName,
        /// What it may do from now on
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub role: Option<Role>,
        /// Whether it may do nothing from now on
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub disabled: Option<bool>,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(EditAccount -> AccountAnswer, "account.edit", Post "/accounts/edit", Write, Administrator, None,
    [NotFound, StateConflict]);

input! {
    /// Set a password: one's own, or as an administrator somebody else's
    pub struct SetPassword {
        /// Whose; one's own when absent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<PrincipalName>,
        /// The reason, where it is somebody else's
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: Option<String>,
    }
}
operation!(SetPassword -> AccountAnswer, "account.password", Post "/accounts/password", Write, Person, None,
    [NotFound]);

input! {
    /// Keep a password that was just proven under the present cost of hashing.
    pub struct RehashPassword {
        /// Whose
        pub name: PrincipalName,
        /// The digest of the hash that it was compared with
        pub from: Digest,
    }
}
operation!(RehashPassword -> Recorded, "account.rehash", Post "/accounts/rehash", Write, Coordinator, None, []);

input! {
    /// Record who proved to be who they say, and who did not.
    pub struct RecordAuthentications {
        /// The account that was named; absent for all names that have none
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<PrincipalName>,
        /// How often it was proven
        pub proven: u64,
        /// How often it was not
        pub refused: u64,
    }
}
operation!(RecordAuthentications -> Recorded, "account.record", Post "/accounts/record", Write, Coordinator, None, []);

output! {
    /// What the coordinator recorded by itself.
    pub struct Recorded {
        /// Whether there was anything to record.
        pub recorded: bool,
    }
}
impl Answer for Recorded {}
