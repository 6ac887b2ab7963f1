//! Who calls: opening, showing and closing sessions.

use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::model::handle::Handle;
use crate::model::ids::{AttemptId, Capability, ConversationId, Digest, Epoch, PrincipalName, SessionId};
use crate::model::time::WallTime;

input! {
    /// Open a session under a name of your own
    ///
    /// The client draws the session's id and secret; the coordinator keeps only the hash of its proof. Opening
    /// again with the same id and proof changes nothing. A live session of the name or conversation is replaced only
    /// by who proves to be that session.
    pub struct OpenSession {
        /// The session's id, 32 hexadecimal digits drawn by the client
        pub session: SessionId,
        /// The hash of the session proof: SHA-256 over the text "tenure proof hash v1" and the proof's 32 bytes, each
        /// preceded by its length in 8 bytes, the highest first
        pub proof_hash: Digest,
        /// The agent's name
        pub name: PrincipalName,
        /// What survives a resume of the harness
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub conversation: Option<ConversationId>,
        /// The open session that starts this one, for a subagent; the call proves to be that session
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub parent: Option<SessionId>,
        /// What runs the agent, e.g. claude-code
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub harness: Option<String>,
        /// The machine it runs on
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub workstation: Option<String>,
        /// What it offers to tasks that require something
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "capability"))]
        pub capabilities: Vec<Capability>,
    }
}
operation!(OpenSession -> SessionAnswer, "session.open", Post "/sessions", Write, Anyone, None,
    [NameInUse, SessionUnknown, SessionClosed, TokenMismatch]);

output! {
    /// A session as others may see it.
    pub struct SessionView {
        /// Its id.
        pub id: SessionId,
        /// Whose it is.
        pub name: PrincipalName,
        /// Five words that mean exactly this session.
        pub handle: Handle,
        /// The session that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub parent: Option<SessionId>,
        /// What runs the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub harness: Option<String>,
        /// The machine it runs on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub workstation: Option<String>,
        /// What it offers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub capabilities: Vec<Capability>,
        /// Whether it can still act.
        pub open: bool,
        /// Whether it was heard of lately.
        pub present: bool,
        /// When it was opened, in milliseconds since 1970.
        pub opened_at: WallTime,
        /// What it holds.
        pub holds: Vec<AttemptId>,
    }
}

output! {
    /// One session.
    pub struct SessionAnswer {
        /// The session.
        pub session: SessionView,
        /// The fleet's incarnation, to be named beside every fence.
        pub epoch: Epoch,
    }
}
impl Answer for SessionAnswer {}

input! {
    /// Show a session by id or five-word handle
    pub struct ShowSession {
        /// The id or the handle
        pub session: String,
    }
}
operation!(ShowSession -> SessionAnswer, "session.show", Get "/sessions/{session}", Read, Anyone, None, [NotFound]);

input! {
    /// List open sessions, newest first
    pub struct ListSessions {
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
    }
}
operation!(ListSessions -> SessionList, "session.list", Get "/sessions", Read, Anyone, None, []);

output! {
    /// Open sessions.
    pub struct SessionList {
        /// Newest first.
        pub sessions: Vec<SessionView>,
        /// Whether there are more than are shown; a limit shows them.
        pub more: bool,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for SessionList {}

input! {
    /// Close the calling session
    ///
    /// What it still holds stays held until the leases end; release or hand off first.
    pub struct CloseSession {}
}
operation!(CloseSession -> SessionAnswer, "session.close", Post "/sessions/close", Write, Session, None, []);
