//! Several servers on one PostgreSQL, and what may happen between them, to them, and to the database.
//!
//! Each test lets agents work at the servers while something is done, and then counts their logs against the store. Where
//! the database comes back, it tells how long it took from there to the next acknowledged mutation.

mod at_least;
mod clocks;
mod connections;
mod failover;
mod full_disk;
mod readiness;
mod restarts;
mod restored;
mod silence;
mod standstill;

/// What processes wrote outlives them: no machine loses its power here, and nothing has to wait for a disk.
pub(super) const UNFLUSHED: &[&str] = &["fsync=off"];
