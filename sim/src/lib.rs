//! Real daemons and real clients, and what is done to them: races, kills, cut connections, moved clocks, full disks.
//!
//! A test takes a [`place::Place`], starts a [`daemon::Daemon`] of the workspace's own program in it, and lets
//! [`agent::Agent`]s (the client library) or a [`shell::Shell`] (whole `tenure` processes) work there. Each client
//! writes down what it asked and what it heard ([`log`]); afterwards the store is read through its public surface
//! ([`store`]) and compared with those logs ([`recount`]). The recount shares no code with what it judges.
//!
//! Only processes that were started here are ended, each by its number.

pub mod agent;
pub mod cable;
pub mod clocks;
pub mod cut;
pub mod daemon;
pub mod disk;
pub mod drawn;
pub mod failover;
pub mod fill;
pub mod fleet;
pub mod flushes;
pub mod fuzz;
pub mod history;
pub mod load;
pub mod log;
pub mod ownership;
pub mod place;
pub mod program;
pub mod recount;
pub mod seed;
pub mod shell;
pub mod store;
pub mod storm;
pub mod untimed;
pub mod waiting;
pub mod worlds;
