//! The key of a caller that cannot keep a secret of its own.

use crate::model::ids::{OperationId, SessionId};
use crate::secret::{SessionSecret, hmac};
use crate::token::Token;

/// What the secrets of sessions are derived from whose callers cannot keep one: a model that calls tools by the network
/// carries the session's id alone. It is made of what such a caller brings anyway with each request, so only who has that
/// can act as its sessions, and the coordinator keeps hashes as ever.
#[derive(Clone)]
pub struct CallerKey([u8; 32]);

impl CallerKey {
    /// That of whoever has this token of this fleet.
    #[must_use]
    pub fn of_token(fleet: &str, token: &Token) -> Self {
        Self(hmac(token.as_str().as_bytes(), "tenure caller key v1", fleet.as_bytes()).0)
    }

    /// That of whoever the operating system vouches for, from bytes that the server drew and keeps.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The id of the session that an operation opens: repeated, it opens the same.
    #[must_use]
    pub fn session_id(&self, operation: &OperationId) -> SessionId {
        let id = hmac(&self.0, "tenure caller session id v1", operation.as_str().as_bytes()).to_string();
        id[..32].parse().expect("32 hexadecimal digits are a session's id")
    }

    /// The secret of a session of this caller.
    #[must_use]
    pub fn session(&self, id: &SessionId) -> SessionSecret {
        SessionSecret::new(hmac(&self.0, "tenure caller session secret v1", id.as_str().as_bytes()).0)
    }
}

impl std::fmt::Debug for CallerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallerKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TokenKind;

    #[test]
    fn a_caller_without_a_secret_has_the_sessions_of_its_token_and_fleet() {
        let token = |seed| Token::of(TokenKind::Agent, [seed; 32]);
        let operation = "a".parse::<OperationId>().expect("valid");
        let proofs = |fleet: &str, seed| {
            let key = CallerKey::of_token(fleet, &token(seed));
            let id = key.session_id(&operation);
            (id.clone(), key.session(&id).session_proof().to_wire())
        };
        assert_eq!(proofs("one", 1), proofs("one", 1));
        assert_ne!(proofs("one", 1), proofs("one", 2));
        assert_ne!(proofs("one", 1), proofs("other", 1));
        let (id, proof) = proofs("one", 1);
        let other = CallerKey::of_token("one", &token(2)).session(&id).session_proof();
        assert_ne!(other.to_wire(), proof, "the id alone proves nothing");
        assert_eq!(format!("{:?}", CallerKey::new([7; 32])), "CallerKey(…)");
    }
}
