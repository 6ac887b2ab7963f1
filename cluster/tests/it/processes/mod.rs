//! Tests that start servers. They want the processors for themselves.

mod encryption;
mod ends;
mod standby;

/// No machine loses its power here, and what a process wrote outlives it: nothing has to wait for a disk.
const UNFLUSHED: &[&str] = &["fsync=off"];
