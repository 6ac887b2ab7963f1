//! The text of a token: what kind it is of, chance, and a checksum, so that one that was cut or mistyped is told apart from
//! one that nobody has, and a scanner for secrets knows it. The coordinator keeps its hash alone.
//!
//! `tnr_KIND_` is followed by 30 letters and digits of chance, and by 6 that are the CRC-32 of all before them. The secret
//! of a reporter is written in the same way and is no token: it stands for one attempt, and for nobody.

use std::fmt;
use std::str::FromStr;

use crate::model::ids::Digest;
use crate::model::text_enum::text_enum;
use crate::secret::digest;

text_enum! {
    /// Whom a token is for.
    TokenKind {
        /// One agent, under one name.
        Agent = "agent",
        /// One machine, whose agents have names of their own.
        Machine = "machine",
    }
}

/// What stands in the place of the kind in a reporter's secret.
const REPORTER: &str = "reporter";
const CHANCE: usize = 30;
const CHECKSUM: usize = 6;
/// The digits of a number to the base 62, the smallest first.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token, for whoever draws it and whoever is shown it. It does not print itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    kind: TokenKind,
    text: String,
}

impl Token {
    /// The token that these random bytes are.
    #[must_use]
    pub fn of(kind: TokenKind, random: [u8; 32]) -> Self {
        Self { kind, text: spell(kind.as_str(), random) }
    }

    /// Whom it is for, as its text says. What it may do is what the coordinator knows of its hash.
    #[must_use]
    pub fn kind(&self) -> TokenKind {
        self.kind
    }

    /// The text, to be shown once.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What the coordinator keeps.
    #[must_use]
    pub fn hash(&self) -> Digest {
        digest("tenure token v1", &[self.text.as_bytes()])
    }
}

impl FromStr for Token {
    type Err = String;

    /// Reads a token. What is wrong is told without a part of it.
    fn from_str(text: &str) -> Result<Self, String> {
        let kind = read(text)?;
        if kind == REPORTER {
            return Err("the secret of a reporter, which renews one attempt and is no token".to_owned());
        }
        Ok(Self { kind: kind.parse().map_err(|_| malformed())?, text: text.to_owned() })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}, …)", self.kind)
    }
}

/// The secret of a reporter, for the helper that renews with it. It does not print itself.
#[derive(Clone, PartialEq, Eq)]
pub struct ReporterSecret(String);

impl ReporterSecret {
    /// The secret that these random bytes are.
    #[must_use]
    pub fn of(random: [u8; 32]) -> Self {
        Self(spell(REPORTER, random))
    }

    /// The text, for the header that carries it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the coordinator keeps.
    #[must_use]
    pub fn hash(&self) -> Digest {
        digest("tenure reporter v1", &[self.0.as_bytes()])
    }
}

impl FromStr for ReporterSecret {
    type Err = String;

    /// Reads a reporter's secret. What is wrong is told without a part of it.
    fn from_str(text: &str) -> Result<Self, String> {
        if read(text)? == REPORTER { Ok(Self(text.to_owned())) } else { Err(malformed()) }
    }
}

impl fmt::Debug for ReporterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReporterSecret(…)")
    }
}

/// The text of a secret of this kind that these random bytes are.
fn spell(kind: &str, random: [u8; 32]) -> String {
    let text = format!("tnr_{kind}_{}", digits(&mut random.to_vec(), CHANCE));
    let checksum = checksum(&text);
    text + &checksum
}

/// The kind of a whole secret, whose checksum fits.
fn read(text: &str) -> Result<&str, String> {
    let (kind, rest) =
        text.strip_prefix("tnr_").and_then(|rest| rest.split_once('_')).ok_or_else(malformed)?;
    if rest.len() != CHANCE + CHECKSUM || !rest.bytes().all(|byte| DIGITS.contains(&byte)) {
        return Err(malformed());
    }
    let (before, given) = text.split_at(text.len() - CHECKSUM);
    if checksum(before) == given {
        Ok(kind)
    } else {
        Err("a token that was mistyped or cut: its checksum does not fit".to_owned())
    }
}

fn malformed() -> String {
    "not a token (tnr_, its kind, 36 letters and digits)".to_owned()
}

fn checksum(text: &str) -> String {
    digits(&mut crc32(text.as_bytes()).to_be_bytes().to_vec(), CHECKSUM)
}

/// The last digits of a number to the base 62. Its bytes stand with the highest first, and are used up.
fn digits(number: &mut [u8], count: usize) -> String {
    let mut text = String::with_capacity(count);
    for _ in 0..count {
        let mut rest = 0u16;
        for byte in number.iter_mut() {
            let part = rest << 8 | u16::from(*byte);
            *byte = u8::try_from(part / 62).expect("the rest is smaller than 62");
            rest = part % 62;
        }
        text.push(char::from(DIGITS[usize::from(rest)]));
    }
    text
}

/// CRC-32 as in ISO 3309, which everybody has: no secret depends on it.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_everybody_has() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_token_reads_back_and_says_whom_it_is_for() {
        for kind in TokenKind::ALL {
            for seed in 0..=255 {
                let token = Token::of(*kind, [seed; 32]);
                assert_eq!(token.as_str().len(), format!("tnr_{kind}_").len() + 36);
                assert_eq!(token.as_str().parse(), Ok(token.clone()));
                assert_eq!(token.kind(), *kind);
            }
        }
        let (one, other) = (Token::of(TokenKind::Agent, [1; 32]), Token::of(TokenKind::Agent, [2; 32]));
        assert_ne!(one.hash(), other.hash());
        assert_eq!(format!("{one:?}"), "Token(agent, …)");
    }

    #[test]
    fn a_reporters_secret_is_no_token_and_no_token_is_one() {
        let secret = ReporterSecret::of([9; 32]);
        assert_eq!(secret.as_str().parse(), Ok(secret.clone()));
        let wrong = secret.as_str().parse::<Token>().expect_err("it is no token");
        assert!(wrong.contains("is no token") && !wrong.contains(&secret.as_str()[13..]), "{wrong}");
        let token = Token::of(TokenKind::Agent, [9; 32]);
        assert!(token.as_str().parse::<ReporterSecret>().is_err());
        assert!(
            secret.as_str()[..secret.as_str().len() - 1].parse::<ReporterSecret>().is_err(),
            "it was cut"
        );
        assert_ne!(secret.hash(), token.hash());
        assert_eq!(format!("{secret:?}"), "ReporterSecret(…)");
    }

    #[test]
    fn every_bit_of_chance_but_the_highest_few_makes_another_token() {
        let all: std::collections::BTreeSet<String> = (0..178)
            .map(|bit| {
                let mut random = [0; 32];
                random[31 - bit / 8] = 1 << (bit % 8);
                Token::of(TokenKind::Agent, random).as_str().to_owned()
            })
            .collect();
        assert_eq!(all.len(), 178);
    }

    #[test]
    fn a_token_with_one_wrong_character_is_malformed_and_is_not_repeated() {
        let token = Token::of(TokenKind::Machine, [0x5a; 32]);
        for place in 0..token.as_str().len() {
            let mut bytes = token.as_str().as_bytes().to_vec();
            bytes[place] = if bytes[place] == b'x' { b'y' } else { b'x' };
            let text = String::from_utf8(bytes).expect("ASCII");
            let wrong = text.parse::<Token>().expect_err("it is wrong");
            assert!(!wrong.contains(&text[12..]), "{wrong}");
        }
        for text in ["", "tnr_", "tnr_agent_", "tnr_operator_0", token.as_str().trim_end_matches(|_| true)] {
            assert!(text.parse::<Token>().is_err(), "{text}");
        }
        assert!(token.as_str()[..token.as_str().len() - 1].parse::<Token>().is_err(), "it was cut");
        assert!(format!("{}é", token.as_str()).parse::<Token>().is_err());
    }
}
