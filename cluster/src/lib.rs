//! A real PostgreSQL on a private folder, for tests and figures. It depends on nothing of ours, so all may use it.
//!
//! A server is started as its own user where the caller is root, listens on a socket in its folder and, if it is asked to,
//! on the loopback, and ends with the value that stands for it; if the caller is killed, with the caller. What a machine
//! or an operator may do to it is here too: kills, standstills, restarts, cut connections, a standby that takes its
//! place, and Patroni over several of them.

mod authority;
mod patroni;
mod place;
mod pooler;
mod processes;
mod program;
mod recovery;
mod server;
mod standby;
mod version;

pub use authority::{Authority, Identity};
pub use patroni::Patroni;
pub use place::Place;
pub use pooler::{Lending, Pooler};
pub use processes::Still;
pub use server::{Cluster, Ending};
pub use version::{Version, versions};
