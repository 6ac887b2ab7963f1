//! Accounts of people: what proves that a person asks, and what that person may do.

use std::fmt;
use std::str::FromStr;

use super::ids::{Digest, PrincipalName};
use super::text_enum::text_enum;
use super::time::WallTime;
use crate::secret::digest;

text_enum! {
    /// What an account may do. Each role includes those before it.
    Role {
        /// Has a password of their own and nothing else.
        Member = "member",
        /// Reopens finished tasks and takes tasks from their holders.
        Operator = "operator",
        /// Makes and changes accounts.
        Administrator = "administrator",
    }
}

impl Role {
    /// Whether who has this role may do what that one may.
    #[must_use]
    pub fn includes(self, other: Self) -> bool {
        self >= other
    }
}

/// What is kept of a password: an Argon2id hash in PHC form, with its salt and parameters. It is no secret that opens
/// anything, and it is shown to nobody all the same: whoever has it can guess at leisure.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

/// Longest PHC text that is taken, in bytes.
const HASH_BYTES: usize = 256;

impl PasswordHash {
    /// The text, for the store and for comparing a password.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What names this hash without showing it. The salt makes it another one whenever a password is set, also the same.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest("tenure password hash v1", &[self.0.as_bytes()])
    }
}

impl FromStr for PasswordHash {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.starts_with("$argon2id$v=19$") && text.len() <= HASH_BYTES && is_plain {
            Ok(Self(text.to_owned()))
        } else {
            Err("not the hash of a password".to_owned())
        }
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// A person's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The person's name.
    pub name: PrincipalName,
    /// What it may do.
    pub role: Role,
    /// What proves the person.
    pub password: PasswordHash,
    /// Whether it may do nothing for now.
    pub disabled: bool,
    /// When it was made.
    pub created_at: WallTime,
    /// When its password was set last.
    pub password_changed_at: WallTime,
}

impl Account {
    /// What the record keeps of the row, so that one that was changed in the store without the coordinator shows.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let times = [self.created_at.0.to_be_bytes(), self.password_changed_at.0.to_be_bytes()];
        digest(
            "tenure account v1",
            &[
                self.name.as_str().as_bytes(),
                self.role.as_str().as_bytes(),
                self.password.as_str().as_bytes(),
                &[u8::from(self.disabled)],
                &times[0],
                &times[1],
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_includes_those_before_it() {
        for (place, role) in Role::ALL.iter().enumerate() {
            for (other_place, other) in Role::ALL.iter().enumerate() {
                assert_eq!(role.includes(*other), other_place <= place, "{role} {other}");
            }
        }
    }

    #[test]
    fn a_hash_does_not_print_itself_and_other_texts_are_none() {
        let hash: PasswordHash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA".parse().expect("a hash");
        assert_eq!(format!("{hash:?}"), "PasswordHash(…)");
        for text in
            ["", "correct horse battery", "$argon2i$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA", "$argon2id$v=19$a b"]
        {
            assert!(text.parse::<PasswordHash>().is_err(), "{text}");
        }
    }

    #[test]
    fn whatever_of_a_row_is_changed_changes_its_digest() {
        let account = Account {
            name: "ada".parse().expect("a name"),
            role: Role::Operator,
            password: "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA".parse().expect("a hash"),
            disabled: false,
            created_at: WallTime(1),
            password_changed_at: WallTime(2),
        };
        let others = [
            Account { name: "bob".parse().expect("a name"), ..account.clone() },
            Account { role: Role::Administrator, ..account.clone() },
            Account {
                password: "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaB".parse().expect("a hash"),
                ..account.clone()
            },
            Account { disabled: true, ..account.clone() },
            Account { created_at: WallTime(2), ..account.clone() },
            Account { password_changed_at: WallTime(1), ..account.clone() },
        ];
        for other in others {
            assert_ne!(other.digest(), account.digest(), "{other:?}");
        }
    }
}
