//! Who calls: principals and their sessions.

use super::handle::Handle;
use super::ids::{Capability, ConversationId, Digest, PrincipalName, ProjectKey, SessionId};
use super::text_enum::text_enum;
use super::time::{FleetTime, WallTime};

text_enum! {
    /// What kind of principal it is.
    PrincipalKind {
        /// A person.
        Person = "person",
        /// A named agent.
        Agent = "agent",
        /// A machine, whose agents have names of their own.
        Machine = "machine",
    }
}

/// An authenticated person or agent. On one laptop each named agent is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Its name.
    pub name: PrincipalName,
    /// What it is.
    pub kind: PrincipalKind,
    /// When it was first seen.
    pub created_at: WallTime,
    /// The machine that first opened a session under this name by the network. The name is that machine's.
    pub machine: Option<PrincipalName>,
}

/// One live run of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Drawn by the client.
    pub id: SessionId,
    /// Whose session it is.
    pub principal: PrincipalName,
    /// What survives a resume; a later session of the same conversation closes this one.
    pub conversation: Option<ConversationId>,
    /// The session that started this one, if it is a subagent's.
    pub parent: Option<SessionId>,
    /// SHA-256 of the session proof.
    pub proof_hash: Digest,
    /// Five words that mean exactly this session.
    pub handle: Handle,
    /// What runs the agent, e.g. `claude-code`, as reported.
    pub harness: Option<String>,
    /// The machine it runs on, as reported.
    pub workstation: Option<String>,
    /// What it offers to tasks that require something.
    pub capabilities: Vec<Capability>,
    /// Whether it can still act.
    pub open: bool,
    /// When it was opened.
    pub opened_at: WallTime,
    /// The machine whose token it was opened with; absent for an agent's own token and on the server's own machine.
    pub machine: Option<PrincipalName>,
    /// Until when it counts as present without another call.
    pub present_until: FleetTime,
}

impl Session {
    /// Whether the session is open and was heard of lately.
    #[must_use]
    pub fn is_present(&self, now: FleetTime) -> bool {
        self.open && !now.has_reached(self.present_until)
    }
}

/// When a session last claimed in a project; the least recently served project comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The session.
    pub session: SessionId,
    /// The project.
    pub project: ProjectKey,
    /// The number of the event that recorded the claim: grows with every claim.
    pub event: u64,
}
