//! Who calls: a typed call over the local socket or the network, with retries that never make a second effect, the session's
//! secrets, and the start of the daemon.
//!
//! Everything here is synchronous and small, because it runs in every `tenure` process. It knows no terminal: what
//! a person should hear goes through [`call::Client`]'s notices, what went wrong is a [`failure::Failure`].

pub mod aftermath;
pub mod ask;
pub mod autostart;
pub mod call;
pub mod clock;
pub mod config_file;
pub mod export;
pub mod failure;
pub mod follow;
pub mod identity;
pub mod info;
pub mod mutation;
pub mod pause;
pub mod person;
pub mod place;
pub mod private;
pub mod processes;
pub mod remote_url;
pub mod reporting;
pub mod repository;
pub mod route;
pub mod server_url;
pub mod session;
pub mod session_file;
mod tcp;
pub mod token;
pub mod transport;
pub mod version;
