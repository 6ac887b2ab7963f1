//! A real PostgreSQL on a private folder, for tests and figures. It depends on nothing of ours, so all may use it.
//!
//! A server is started as its own user where the caller is root, listens on a socket in its folder, and ends with the
//! value that stands for it; if the caller is killed, with the caller.

mod place;
mod pooler;
mod server;

pub use place::{Place, versions};
pub use pooler::{Lending, Pooler};
pub use server::{Cluster, Ending};
