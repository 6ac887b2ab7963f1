//! Tokens of agents and machines: who they are by the network. What is kept of a token is its hash; its text is
//! [`crate::token::Token`].

use super::ids::{Digest, PrincipalName, TokenId};
use super::session::Session;
use super::time::WallTime;
use crate::mutant::Mutant;
use crate::secret::digest;
use crate::token::TokenKind;

/// What is kept of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// What it is called by.
    pub id: TokenId,
    /// Whom it is for.
    pub kind: TokenKind,
    /// The agent's or the machine's name.
    pub principal: PrincipalName,
    /// The hash of its text.
    pub hash: Digest,
    /// Whether it asks and changes nothing.
    pub read_only: bool,
    /// When it was made.
    pub created_at: WallTime,
    /// From when on it counts no more.
    pub expires_at: WallTime,
    /// When it was revoked.
    pub revoked_at: Option<WallTime>,
}

impl TokenRecord {
    /// Whether it counts at a moment of the wall clock. At its end it counts no more.
    #[must_use]
    pub fn counts(&self, wall: WallTime) -> bool {
        let is_over = wall >= self.expires_at && !Mutant::ExpiredToken.is_on();
        let is_revoked = self.revoked_at.is_some() && !Mutant::RevokedToken.is_on();
        !is_over && !is_revoked
    }

    /// The machine that whoever has it is on, if it is a machine's.
    #[must_use]
    pub fn machine(&self) -> Option<&PrincipalName> {
        match self.kind {
            TokenKind::Agent => None,
            TokenKind::Machine => Some(&self.principal),
        }
    }

    /// Whether whoever has it may act in a session: an agent in those of its own name, a machine in those that were opened
    /// from there.
    #[must_use]
    pub fn may_use(&self, session: &Session) -> bool {
        let is_own = match self.kind {
            TokenKind::Agent => session.principal == self.principal,
            TokenKind::Machine => session.machine.as_ref() == Some(&self.principal),
        };
        is_own || Mutant::ForeignSession.is_on()
    }

    /// What the record keeps of the row, so that one that was changed in the store without the coordinator shows.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let times = [self.created_at.0.to_be_bytes(), self.expires_at.0.to_be_bytes()];
        let revoked = self.revoked_at.map(|at| at.0.to_be_bytes().to_vec()).unwrap_or_default();
        digest(
            "tenure token record v1",
            &[
                self.id.as_str().as_bytes(),
                self.kind.as_str().as_bytes(),
                self.principal.as_str().as_bytes(),
                &self.hash.0,
                &[u8::from(self.read_only)],
                &times[0],
                &times[1],
                &revoked,
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> TokenRecord {
        TokenRecord {
            id: TokenId::of(&Digest([7; 32])),
            kind: TokenKind::Agent,
            principal: "ada".parse().expect("a name"),
            hash: Digest([7; 32]),
            read_only: false,
            created_at: WallTime(1),
            expires_at: WallTime(5),
            revoked_at: None,
        }
    }

    #[test]
    fn it_counts_until_it_ends_or_is_revoked() {
        let token = token();
        assert!(token.counts(WallTime(4)) && !token.counts(WallTime(5)));
        let revoked = TokenRecord { revoked_at: Some(WallTime(2)), ..token };
        assert!(!revoked.counts(WallTime(1)));
    }

    #[test]
    fn whatever_of_a_row_is_changed_changes_its_digest() {
        let token = token();
        let others = [
            TokenRecord { id: TokenId::of(&Digest([8; 32])), ..token.clone() },
            TokenRecord { kind: TokenKind::Machine, ..token.clone() },
            TokenRecord { principal: "bob".parse().expect("a name"), ..token.clone() },
            TokenRecord { hash: Digest([8; 32]), ..token.clone() },
            TokenRecord { read_only: true, ..token.clone() },
            TokenRecord { created_at: WallTime(2), ..token.clone() },
            TokenRecord { expires_at: WallTime(6), ..token.clone() },
            TokenRecord { revoked_at: Some(WallTime(0)), ..token.clone() },
        ];
        for other in others {
            assert_ne!(other.digest(), token.digest(), "{other:?}");
        }
    }
}
