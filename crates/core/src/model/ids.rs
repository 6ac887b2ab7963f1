//! The names of things. Every id is a checked newtype: a value of the type is a valid id.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limits;

/// Declares a newtype over text whose only constructor checks it.
macro_rules! checked_text {
    ($(#[$meta:meta])* $name:ident, $check:expr, $rule:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
        #[schemars(transparent)]
        pub struct $name(String);

        impl $name {
            /// What a valid value looks like, for error texts.
            pub const RULE: &'static str = $rule;

            /// The text itself.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(format!(concat!("{:?} is not ", $rule), limits::excerpt(text)))
                }
            }
        }

        text_wire!($name);
    };
}

/// Serialises by `Display` and deserialises by `FromStr`.
macro_rules! text_wire {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
        from_str_wire!($name);
    };
}

/// Serialises by `Display` and deserialises by `FromStr`, for types that print themselves.
macro_rules! from_str_wire {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

fn is_project_key(text: &str) -> bool {
    text.len() <= 16
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn is_name(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@/:+".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

checked_text!(
    /// A project's short key, e.g. `afc`. It never changes.
    ProjectKey,
    is_project_key,
    "a project key (1 to 16 of a-z, 0-9 and -, first a letter)"
);
checked_text!(
    /// The name of an authenticated person, agent, machine or reporter.
    PrincipalName,
    |t| is_name(t, 64),
    "a name (1 to 64 of A-Z a-z 0-9 . _ - @ / : +, first a letter or digit)"
);
checked_text!(
    /// One live run of an agent: 32 hexadecimal digits drawn by the client.
    SessionId,
    |t| is_hex(t, 32),
    "a session id (32 lower-case hexadecimal digits)"
);
checked_text!(
    /// What survives a resume of the harness; several sessions can belong to one conversation.
    ConversationId,
    |t| is_name(t, 128),
    "a conversation id (1 to 128 of A-Z a-z 0-9 . _ - @ / : +)"
);
checked_text!(
    /// The client's id of one mutation; a retry carries the same.
    OperationId,
    |t| is_name(t, 64),
    "an operation id (1 to 64 of A-Z a-z 0-9 . _ - @ / : +)"
);
checked_text!(
    /// A capability that a task requires and a session offers, e.g. `rust` or `gpu/a100`.
    Capability,
    |t| is_name(t, 64),
    "a capability (1 to 64 of A-Z a-z 0-9 . _ - @ / : +)"
);

checked_text!(
    /// What names a token without showing it: the first 12 hexadecimal digits of its hash.
    TokenId,
    |t| is_hex(t, 12),
    "a token's id (12 lower-case hexadecimal digits)"
);

impl TokenId {
    /// The id of the token that has this hash.
    #[must_use]
    pub fn of(hash: &Digest) -> Self {
        Self(hash.to_string()[..12].to_owned())
    }
}

checked_text!(
    /// What names a reporter without showing its secret: the first 12 hexadecimal digits of the secret's hash.
    ReporterId,
    |t| is_hex(t, 12),
    "a reporter's id (12 lower-case hexadecimal digits)"
);

impl ReporterId {
    /// The id of the reporter whose secret has this hash.
    #[must_use]
    pub fn of(hash: &Digest) -> Self {
        Self(hash.to_string()[..12].to_owned())
    }
}

/// A task's id: its project's key and its number there, e.g. `afc-12`. A number is never issued twice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct TaskId {
    /// The project the task belongs to.
    pub project: ProjectKey,
    /// Its number, from 1.
    pub number: u64,
}

impl FromStr for TaskId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{:?} is not a task id (a project key, - and a number)", limits::excerpt(text));
        let (key, number) = text.rsplit_once('-').ok_or_else(wrong)?;
        let project = key.parse().map_err(|_| wrong())?;
        let number = positive(number).ok_or_else(wrong)?;
        Ok(Self { project, number })
    }
}

/// A number without sign or leading zero, so that it has one spelling, and small enough for the store to count to.
#[must_use]
pub fn counter(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|n| plain && *n <= i64::MAX as u64)
}

fn positive(text: &str) -> Option<u64> {
    counter(text).filter(|n| *n > 0)
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}-{}", self.project, self.number))
    }
}
from_str_wire!(TaskId);

/// A task's ownership number, raised by every claim. It only grows.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl Generation {
    /// The number the next claim gets.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One session's try at a task: the task and the generation of its claim, e.g. `afc-12@3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct AttemptId {
    /// The task that was claimed.
    pub task: TaskId,
    /// The generation that the claim gave.
    pub generation: Generation,
}

impl FromStr for AttemptId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{:?} is not an attempt id (a task id, @ and a generation)", limits::excerpt(text));
        let (task, generation) = text.split_once('@').ok_or_else(wrong)?;
        let generation = positive(generation).map(Generation).ok_or_else(wrong)?;
        Ok(Self { task: task.parse().map_err(|_| wrong())?, generation })
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}@{}", self.task, self.generation))
    }
}
from_str_wire!(AttemptId);

/// The fleet's incarnation. A restore or a store copy raises it; what was granted before is history.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The number of an event within the fleet, in commit order and without gaps within an epoch.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct EventNumber(pub u64);

impl fmt::Display for EventNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A place in the event log: `EPOCH-NUMBER`. A cursor of another epoch is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct EventCursor {
    /// The incarnation the number belongs to.
    pub epoch: Epoch,
    /// The last event that was seen.
    pub number: EventNumber,
}

impl FromStr for EventCursor {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (epoch, number) = text.split_once('-')?;
            Some(Self { epoch: Epoch(counter(epoch)?), number: EventNumber(counter(number)?) })
        };
        parse().ok_or_else(|| format!("{:?} is not an event cursor (EPOCH-NUMBER)", limits::excerpt(text)))
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}
from_str_wire!(EventCursor);

/// A SHA-256 value, written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct Digest(pub [u8; 32]);

impl FromStr for Digest {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "not a digest (64 lower-case hexadecimal digits)".to_owned();
        if !is_hex(text, 64) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            text.push(DIGITS[usize::from(byte >> 4)] as char);
            text.push(DIGITS[usize::from(byte & 15)] as char);
        }
        f.write_str(&text)
    }
}
from_str_wire!(Digest);

/// An event and its hash: `NUMBER:HASH`. The hash covers every event up to this one. Whoever edits a store can hash its
/// whole record anew; an anchor that was noted where they cannot edit it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct Anchor {
    /// The event's number.
    pub event: EventNumber,
    /// Its link in the chain.
    pub hash: Digest,
}

impl FromStr for Anchor {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (event, hash) = text.split_once(':')?;
            let event = counter(event).filter(|number| *number > 0)?;
            Some(Self { event: EventNumber(event), hash: hash.parse().ok()? })
        };
        parse().ok_or_else(|| {
            format!(
                "{:?} is not an anchor (NUMBER:HASH, the hash in 64 lower-case hexadecimal digits)",
                limits::excerpt(text)
            )
        })
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.event, self.hash)
    }
}
from_str_wire!(Anchor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        for text in ["afc-12", "a-b-1", "x-9223372036854775807"] {
            assert_eq!(text.parse::<TaskId>().expect("valid").to_string(), text);
        }
        for text in
            ["afc-0", "afc-012", "afc-+1", "Afc-1", "afc", "-1", "9a-1", "afc-", "afc-99999999999999999999"]
        {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
        assert_eq!("a-b-7@3".parse::<AttemptId>().expect("valid").to_string(), "a-b-7@3");
        assert!("a-7@0".parse::<AttemptId>().is_err());
        assert_eq!("1-0".parse::<EventCursor>().expect("valid").to_string(), "1-0");
        for text in ["1-9223372036854775808", "1-18446744073709551615", "01-1", "1-+1", "1-", "1-02", "-1-2"]
        {
            assert!(text.parse::<EventCursor>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_digest_survives_its_text() {
        let digest = Digest([0xa5; 32]);
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        assert!("A5".repeat(32).parse::<Digest>().is_err());
    }

    #[test]
    fn an_anchor_is_read_as_it_is_written_and_in_no_other_way() {
        let anchor = Anchor { event: EventNumber(12), hash: Digest([0xab; 32]) };
        assert_eq!(anchor.to_string().parse(), Ok(anchor));
        let hash = "ab".repeat(32);
        for wrong in [
            "",
            "12",
            &hash,
            &format!("0:{hash}"),
            &format!("012:{hash}"),
            &format!("+12:{hash}"),
            &format!("12:{hash}0"),
        ] {
            let told = wrong.parse::<Anchor>().expect_err("refused");
            assert!(told.contains("is not an anchor"), "{told}");
        }
    }
}
