//! Real daemons and real clients under attack.

mod checkers;
mod processes;
mod storm;
mod worlds;
