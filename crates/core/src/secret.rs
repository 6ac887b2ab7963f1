//! Hashes and derived secrets. What is secret is derived by the client and known here only as a hash.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};

use crate::model::ids::{Digest, OperationId};

/// SHA-256 over a domain and parts, each preceded by its length, so that no two inputs read alike.
#[must_use]
pub fn digest(domain: &str, parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    for part in std::iter::once(domain.as_bytes()).chain(parts.iter().copied()) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    Digest(hasher.finalize().into())
}

/// A session's secret: drawn by the client, never sent.
#[derive(Clone)]
pub struct SessionSecret([u8; 32]);

/// A secret that travels to the coordinator, which keeps only its hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Proof(Digest);

/// An HMAC of a domain and an input, so that no two domains yield the same secret.
pub(crate) fn hmac(key: &[u8], domain: &str, input: &[u8]) -> Digest {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(&(domain.len() as u64).to_be_bytes());
    mac.update(domain.as_bytes());
    mac.update(input);
    Digest(mac.finalize().into_bytes().into())
}

impl SessionSecret {
    /// Wraps 32 random bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the hexadecimal form in which the client's session file keeps it.
    pub fn from_hex(text: &str) -> Result<Self, String> {
        text.parse::<Digest>().map(|digest| Self(digest.0)).map_err(|_| "not a session secret".to_owned())
    }

    /// The hexadecimal form, for the client's session file only.
    #[must_use]
    pub fn to_hex(&self) -> String {
        Digest(self.0).to_string()
    }

    /// What proves to the coordinator that a call comes from this session.
    #[must_use]
    pub fn session_proof(&self) -> Proof {
        self.derive("tenure session proof v1", b"")
    }

    /// The lease token of a claim: it can be computed again from the claim's operation id.
    #[must_use]
    pub fn lease_token(&self, claim: &OperationId) -> Proof {
        self.derive("tenure lease token v1", claim.as_str().as_bytes())
    }

    fn derive(&self, domain: &str, input: &[u8]) -> Proof {
        Proof(hmac(&self.0, domain, input))
    }
}

impl Proof {
    /// Reads a proof as it travelled.
    pub fn from_wire(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| "not a proof (64 hexadecimal digits)".to_owned())
    }

    /// The form that travels, once, to the coordinator.
    #[must_use]
    pub fn to_wire(&self) -> String {
        self.0.to_string()
    }

    /// What the coordinator keeps.
    #[must_use]
    pub fn hash(&self) -> Digest {
        digest("tenure proof hash v1", &[&self.0.0])
    }
}

impl std::fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionSecret(…)")
    }
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proof(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_token_can_be_computed_again_and_differs_by_claim_and_session() {
        let secret = SessionSecret::new([7; 32]);
        let operation = |text: &str| text.parse::<OperationId>().expect("valid");
        assert_eq!(secret.lease_token(&operation("a")), secret.lease_token(&operation("a")));
        assert_ne!(secret.lease_token(&operation("a")).hash(), secret.lease_token(&operation("b")).hash());
        assert_ne!(secret.lease_token(&operation("a")).hash(), secret.session_proof().hash());
        let other = SessionSecret::new([8; 32]);
        assert_ne!(secret.lease_token(&operation("a")).hash(), other.lease_token(&operation("a")).hash());
    }

    #[test]
    fn parts_cannot_be_shifted_between_each_other() {
        assert_ne!(digest("d", &[b"ab", b"c"]), digest("d", &[b"a", b"bc"]));
    }

    #[test]
    fn a_secret_does_not_print_itself() {
        let secret = SessionSecret::new([0xab; 32]);
        assert!(!format!("{secret:?}{:?}", secret.session_proof()).contains("ab"));
        assert_eq!(SessionSecret::from_hex(&secret.to_hex()).expect("valid").0, secret.0);
    }
}
