//! Tokens of agents and machines. The client draws a token and sends its hash, so no answer carries a secret and none is
//! lost with one.

use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::model::ids::{Digest, PrincipalName, TokenId};
use crate::model::time::WallTime;
use crate::token::TokenKind;

input! {
    /// Give an agent or a machine a token for the network (administrators only)
    pub struct CreateToken {
        /// The agent's or the machine's name
        pub name: PrincipalName,
        /// Whom it is for
        #[cfg_attr(feature = "cli", arg(long))]
        pub kind: TokenKind,
        /// The hash of the token: SHA-256 over the text "tenure token v1" and the token, each preceded by its length in 8
        /// bytes, the highest first
        pub hash: Digest,
        /// Whether it asks and changes nothing
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub read_only: bool,
        /// How long it counts, in milliseconds, from a minute to 366 days (90 days)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub valid_ms: Option<i64>,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(CreateToken -> TokenAnswer, "token.create", Post "/tokens", Write, Administrator, None,
    [AlreadyExists, StateConflict]);

output! {
    /// A token, without its text.
    pub struct TokenView {
        /// What it is called by.
        pub token: TokenId,
        /// Whom it is for.
        pub kind: TokenKind,
        /// The agent's or the machine's name.
        pub name: PrincipalName,
        /// Whether it asks and changes nothing.
        pub read_only: bool,
        /// Whether it counts now.
        pub counts: bool,
        /// When it was made, in milliseconds since 1970.
        pub created_at: WallTime,
        /// From when on it counts no more, in milliseconds since 1970.
        pub expires_at: WallTime,
        /// When it was revoked, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub revoked_at: Option<WallTime>,
    }
}

output! {
    /// One token.
    pub struct TokenAnswer {
        /// The token.
        pub token: TokenView,
    }
}
impl Answer for TokenAnswer {}

input! {
    /// List tokens by their ids (administrators only)
    pub struct ListTokens {
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
        /// Only ids after this one
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub after: Option<TokenId>,
    }
}
operation!(ListTokens -> TokenList, "token.list", Get "/tokens", Read, Administrator, None, []);

output! {
    /// Tokens in the order of their ids.
    pub struct TokenList {
        /// By id.
        pub tokens: Vec<TokenView>,
        /// Whether there are more; ask for those after the last id.
        pub more: bool,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for TokenList {}

input! {
    /// Replace a token by another one of the same name (administrators only)
    ///
    /// The new one counts as long as the old one was made for. The old one ends at once, or after the overlap.
    pub struct RotateToken {
        /// The token's id
        pub token: TokenId,
        /// Whom it is for, as before: the new token's text says it
        #[cfg_attr(feature = "cli", arg(long))]
        pub kind: TokenKind,
        /// The hash of the new token, made as that of `token.create`
        pub hash: Digest,
        /// How long the old one goes on beside it, in milliseconds, up to a day (0)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub overlap_ms: Option<i64>,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(RotateToken -> TokenAnswer, "token.rotate", Post "/tokens/{token}/rotate", Write, Administrator, None,
    [NotFound, AlreadyExists, StateConflict]);

input! {
    /// Take a token back, at once (administrators only)
    pub struct RevokeToken {
        /// The token's id
        pub token: TokenId,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(RevokeToken -> TokenAnswer, "token.revoke", Post "/tokens/{token}/revoke", Write, Administrator, None,
    [NotFound, StateConflict]);
