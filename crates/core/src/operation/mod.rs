//! What a caller can ask: one struct per operation, and the one list of them.
//!
//! An operation's fields are its input, its doc comment is its help text, its `Answer` is its output and its
//! [`Spec`] says the rest. HTTP routes, OpenAPI, command-line arguments, the typed client and the reference pages
//! all follow from [`crate::with_operations!`] by generic code. A new operation is its own file and one line there.

pub mod account;
#[cfg(feature = "cli")]
pub mod arguments;
pub mod catalog;
pub mod commits;
pub mod digest;
pub mod example;
pub mod graph;
pub mod label;
pub mod ownership;
pub mod permission;
pub mod project;
pub mod queue;
pub mod record;
pub mod reporter;
pub mod search;
pub mod session;
pub mod task;
pub mod token;
pub mod tools;
pub mod view;
pub mod wait;
pub mod whoami;

#[cfg(feature = "dummy-operation")]
pub mod dummy;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::account::Role;
use crate::model::refusal::Code;
use crate::model::time::FleetTime;

/// The HTTP method of an operation's route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Asks.
    Get,
    /// Does, or asks with a body.
    Post,
    /// Edits under a revision.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// The method as HTTP writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// What an operation does to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it is answered from committed state.
    Read,
    /// Changes state, appends events and leaves a receipt.
    Write,
    /// Changes state and leaves neither event nor receipt; a repeat answers the same by its own means.
    Light,
}

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody who reaches the socket.
    Anyone,
    /// A session that proves itself.
    Session,
    /// A person with an account, by a password of their own.
    Person,
    /// The same, and the account is an operator's.
    Operator,
    /// The same, and the account is an administrator's.
    Administrator,
    /// A reporter, by the secret that its holder drew.
    Reporter,
    /// Whoever read the one-time secret that the server printed on its console.
    Console,
    /// The coordinator itself, in the background. It has no route and is on no surface.
    Coordinator,
}

impl Access {
    /// The role that a person's account must have at least; absent where no person is asked for.
    #[must_use]
    pub const fn role(self) -> Option<Role> {
        match self {
            Self::Person => Some(Role::Member),
            Self::Operator => Some(Role::Operator),
            Self::Administrator => Some(Role::Administrator),
            Self::Anyone | Self::Session | Self::Reporter | Self::Console | Self::Coordinator => None,
        }
    }

    /// Whether somebody proves who they are with each call.
    #[must_use]
    pub const fn is_authenticated(self) -> bool {
        self.role().is_some() || matches!(self, Self::Console)
    }
}

/// Whether a holder's fence comes with an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fencing {
    /// It acts on nothing held.
    None,
    /// It is for holders and others alike; a fence that comes with it is checked.
    Optional,
    /// Only the holder may ask.
    Required,
}

/// What is constant about an operation.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Noun and verb, e.g. `task.create`; verbs of the loop stand alone.
    pub name: &'static str,
    /// The route's method.
    pub method: Method,
    /// The route below `/api/v1`, with the fields that stand in it in braces.
    pub path: &'static str,
    /// What it does to the store.
    pub effect: Effect,
    /// Who may call.
    pub access: Access,
    /// Whether a fence comes with it.
    pub fencing: Fencing,
    /// The refusals that its rules return, besides those that every operation shares.
    pub refusals: &'static [Code],
}

/// Refusals that any operation can return.
pub const SHARED_REFUSALS: &[Code] =
    &[Code::InvalidInput, Code::CannotTell, Code::ProtocolMismatch, Code::PeerRefused];
/// Refusals of a server on the network, most of them before anything but the head of a request is looked at.
pub const NETWORK_REFUSALS: &[Code] = &[
    Code::Unauthenticated,
    Code::HostRefused,
    Code::OriginRefused,
    Code::RateLimited,
    Code::EncryptionRequired,
];
/// Refusals of every request by the network that changes something.
pub const NETWORK_WRITE_REFUSALS: &[Code] = &[Code::TokenReadOnly];
/// Refusals that any operation of a session can return.
pub const SESSION_REFUSALS: &[Code] =
    &[Code::SessionRequired, Code::SessionUnknown, Code::SessionClosed, Code::EpochChanged];
/// Refusals that any operation of a person can return.
pub const PERSON_REFUSALS: &[Code] =
    &[Code::OperatorRequired, Code::AuthenticationFailed, Code::RateLimited, Code::Overloaded];
/// Refusals that any operation of a reporter can return.
pub const REPORTER_REFUSALS: &[Code] = &[
    Code::ReporterEnded,
    Code::LeaseExpired,
    Code::Superseded,
    Code::SessionClosed,
    Code::EpochChanged,
    Code::Unauthenticated,
];
/// Refusals that any other operation can return, where the secret of a reporter comes with it.
pub const NO_REPORTER_REFUSALS: &[Code] = &[Code::ReporterLimited];
/// Refusals that any question can return, of which event it must not be older than.
pub const READ_REFUSALS: &[Code] = &[Code::Behind, Code::EpochChanged];
/// Refusals that any write can return.
pub const WRITE_REFUSALS: &[Code] =
    &[Code::OperationConflict, Code::ReceiptExpired, Code::EpochChanged, Code::Overloaded];
/// Refusals of what takes up room of which there is not enough for everybody: imports and their preview, waiting, and
/// following.
pub const CROWD_REFUSALS: &[Code] = &[Code::Overloaded];
/// Refusals that any fenced operation can return.
pub const FENCE_REFUSALS: &[Code] =
    &[Code::NotHolder, Code::LeaseExpired, Code::Superseded, Code::NotFound, Code::StateConflict];

impl Spec {
    /// Whether the whole text of a file travels in the request. How many such texts are kept at once is bounded.
    #[must_use]
    pub fn is_import(&self) -> bool {
        self.name.starts_with("import.")
    }

    /// Whether an agent can ask for it: no password, no secret of a helper and no console is needed.
    #[must_use]
    pub const fn is_for_agents(&self) -> bool {
        match self.access {
            Access::Anyone | Access::Session => true,
            Access::Reporter
            | Access::Person
            | Access::Operator
            | Access::Administrator
            | Access::Console
            | Access::Coordinator => false,
        }
    }

    /// Every refusal that the operation can return.
    #[must_use]
    pub fn all_refusals(&self) -> Vec<Code> {
        let mut codes = [self.refusals, SHARED_REFUSALS].concat();
        if self.access == Access::Session {
            codes.extend(SESSION_REFUSALS);
        }
        if self.access.is_authenticated() {
            codes.extend(PERSON_REFUSALS);
        }
        if self.access == Access::Reporter {
            codes.extend(REPORTER_REFUSALS);
        } else {
            codes.extend(NO_REPORTER_REFUSALS);
        }
        // A token is judged with the operation as well, where it has just been revoked.
        codes.push(Code::Unauthenticated);
        match self.effect {
            Effect::Read => codes.extend(READ_REFUSALS),
            Effect::Write | Effect::Light => codes.extend([WRITE_REFUSALS, NETWORK_WRITE_REFUSALS].concat()),
        }
        if self.is_import() || matches!(self.name, "wait" | "events") {
            codes.extend(CROWD_REFUSALS);
        }
        if self.fencing != Fencing::None {
            codes.extend(FENCE_REFUSALS);
        }
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}

/// What an operation returns.
pub trait Answer: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// Whether [`Answer::at`] changes anything.
    const TIMED: bool = false;

    /// Fills in what depends on the moment of answering, e.g. how long a lease still lasts. What is stored in a
    /// receipt names deadlines only, so that a replay counts from its own moment.
    fn at(&mut self, _now: FleetTime) {}
}

/// Something a caller can ask.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static {
    /// What it returns.
    type Answer: Answer;
    /// What is constant about it.
    const SPEC: Spec;
}

/// Declares an operation's struct with everything that its surfaces derive from it.
macro_rules! input {
    ($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[cfg_attr(feature = "cli", derive(clap::Args))]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($body)* }
    };
}

/// Declares a plain struct of an answer.
macro_rules! output {
    ($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $name { $($body)* }
    };
}

/// States what is constant about an operation.
macro_rules! operation {
    ($input:ident -> $answer:ty, $name:literal, $method:ident $path:literal, $effect:ident, $access:ident, $fencing:ident,
     [$($code:ident),* $(,)?]) => {
        impl $crate::operation::Operation for $input {
            type Answer = $answer;
            const SPEC: $crate::operation::Spec = $crate::operation::Spec {
                name: $name,
                method: $crate::operation::Method::$method,
                path: $path,
                effect: $crate::operation::Effect::$effect,
                access: $crate::operation::Access::$access,
                fencing: $crate::operation::Fencing::$fencing,
                refusals: &[$($crate::model::refusal::Code::$code),*],
            };
        }
    };
}

pub(crate) use {input, operation, output};
