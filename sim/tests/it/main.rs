//! Real daemons and real clients under attack.

mod checkers;
mod histories;
mod lock_set;
mod processes;
mod storm;
mod worlds;
