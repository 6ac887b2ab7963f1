//! What is true: the words of Tenure as types, what a caller can ask, and the rules that decide.
//!
//! This crate does no input or output, reads no clock, draws no randomness and spawns nothing. It holds its
//! state in ordered maps only, so that the same question always gets the same answer, byte for byte.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod caller_key;
pub mod envelope;
pub mod import;
pub mod instructions;
pub mod json;
pub mod model;
pub mod mutant;
pub mod operation;
pub mod rules;
pub mod search;
pub mod secret;
pub mod server_route;
pub mod token;
pub mod wire;
pub mod working_set;
