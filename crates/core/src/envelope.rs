//! What stands beside an operation: who calls, under which operation id, and what it holds.
//! HTTP headers, the client's session file and later MCP arguments all fill this one struct.

use crate::model::account::{Account, PasswordHash};
use crate::model::ids::{AttemptId, Digest, Epoch, EventCursor, OperationId, PrincipalName, SessionId};
use crate::model::limits::Durations;
use crate::model::reporter::Reporter;
use crate::model::session::Session;
use crate::model::time::Now;
use crate::model::token::TokenRecord;
use crate::secret::Proof;

/// Who calls: the session and the proof that it is this session.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The session's id.
    pub session: SessionId,
    /// What proves it; compared by hash.
    pub proof: Proof,
}

/// What a holder names in every write: the attempt (with its generation) and the lease token.
#[derive(Debug, Clone)]
pub struct Fence {
    /// The attempt: task and generation.
    pub attempt: AttemptId,
    /// The secret that proves it; compared by hash.
    pub token: Proof,
}

/// How a person was authenticated with this one call. The password itself, or the secret, stays where it was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// With the password of an account, as its hash was when the password was compared with it.
    Password {
        /// The account.
        name: PrincipalName,
        /// The digest of that hash. Whether it still is the account's is judged under the writer's lock.
        hash: Digest,
    },
    /// With the one-time secret that the server printed on its console.
    Console,
}

/// Everything that travels beside an operation.
#[derive(Debug, Clone, Default)]
pub struct Envelope {
    /// The calling session; absent for public questions and for opening a session.
    pub caller: Option<Caller>,
    /// The client's id of a mutation; absent for questions.
    pub operation_id: Option<OperationId>,
    /// What the caller holds; absent when it acts on nothing held.
    pub fence: Option<Fence>,
    /// For a claim: the SHA-256 of the lease token that the client derived.
    pub token_hash: Option<Digest>,
    /// The incarnation in which the fence was given.
    pub epoch: Option<Epoch>,
    /// For a question: an event that the state which answers it must have.
    pub at_least: Option<EventCursor>,
    /// The person who asks; absent for what needs none.
    pub authentication: Option<Authentication>,
    /// The hash of the password that an account is to have.
    pub new_password: Option<PasswordHash>,
    /// The hash of the token that came with a request by the network; absent on the socket, where the operating system
    /// vouches for the caller. Whether it counts is judged with the operation.
    pub token: Option<Digest>,
    /// The hash of the reporter's secret that came with the request, instead of a token and of a session.
    pub reporter: Option<Digest>,
}

/// What a rule knows beside the state: the moment, the caller (authenticated by then) and the limits.
#[derive(Debug, Clone)]
pub struct Call {
    /// The moment, read under the writer's lock.
    pub now: Now,
    /// The fleet's incarnation.
    pub epoch: Epoch,
    /// The authenticated session, for operations that have one.
    pub session: Option<Session>,
    /// The account of the authenticated person, for operations that need one.
    pub account: Option<Account>,
    /// The token that it came with by the network.
    pub token: Option<TokenRecord>,
    /// The reporter that renews; nobody else is known then.
    pub reporter: Option<Reporter>,
    /// The rest of what came with the operation.
    pub envelope: Envelope,
    /// The durations in force.
    pub durations: Durations,
}

impl Call {
    /// A call whose caller nobody has judged yet.
    #[must_use]
    pub const fn new(epoch: Epoch, now: Now, envelope: Envelope, durations: Durations) -> Self {
        Self { now, epoch, session: None, account: None, token: None, reporter: None, envelope, durations }
    }
}
