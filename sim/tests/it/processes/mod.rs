//! Tests that start real processes. They want the processors for themselves, so the test runner takes them one by
//! one by the name of this module.

mod clocks;
mod cuts;
mod database;
mod exports;
mod followers;
mod full_disk;
mod imports;
mod kills;
mod lock_set;
mod lost_clients;
mod passages;
mod power;
mod races;
mod read_only;
mod requests;
mod restoring;
mod run;
mod secrets;
mod starting;
mod waiters;
