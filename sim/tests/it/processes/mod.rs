//! Tests that start real processes. They want the processors for themselves, so the test runner takes them one by
//! one by the name of this module.

mod clocks;
mod cuts;
mod full_disk;
mod imports;
mod kills;
mod lock_set;
mod lost_clients;
mod races;
mod read_only;
mod secrets;
mod starting;
