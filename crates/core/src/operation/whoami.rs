//! Who asks, as the coordinator knows it, and what that lets them do.

use super::permission::{Condition, Standing};
use super::token::TokenView;
use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::model::handle::Handle;
use crate::model::ids::{PrincipalName, SessionId};
use crate::model::text_enum::text_enum;

input! {
    /// Tell as whom the coordinator knows who asks, and what they may do
    pub struct WhoAmI {
        /// Tell of every operation whether they may call it
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub can: bool,
    }
}
operation!(WhoAmI -> Identity, "whoami", Get "/whoami", Read, Anyone, None, []);

output! {
    /// As whom the coordinator knows who asks.
    pub struct Identity {
        /// The token; absent on the server's own machine, where the operating system vouches for the caller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub token: Option<TokenView>,
        /// The session, if the call proves one that is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub session: Option<KnownSession>,
        /// What that amounts to.
        pub standing: Standing,
        /// What they may do with it, operation by operation; absent unless asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub can: Vec<Allowance>,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for Identity {}

output! {
    /// A session that was proven.
    pub struct KnownSession {
        /// Its id.
        pub id: SessionId,
        /// Whose it is.
        pub name: PrincipalName,
        /// Five words that mean exactly this session.
        pub handle: Handle,
    }
}

output! {
    /// What whoever asks may do with one operation.
    pub struct Allowance {
        /// The operation, e.g. `task.create`.
        pub operation: String,
        /// Whether they may.
        pub may: May,
        /// What must be so, where it is conditional.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub condition: Option<Condition>,
        /// The weakest standing that may, where theirs may not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub needs: Option<Standing>,
    }
}

text_enum! {
    /// Whether somebody may do something.
    May {
        /// They may.
        Yes = "yes",
        /// They may, if the condition is met.
        If = "if",
        /// They may not.
        No = "no",
    }
}
