//! The commands, one file per noun.

pub mod audit;
pub mod backup;
pub mod blocker;
pub mod call;
pub mod config;
pub mod demo;
pub mod dependency;
pub mod digest;
pub mod doctor;
pub mod help;
pub mod import;
pub mod init;
pub mod label;
pub mod ownership;
pub mod project;
pub mod queue;
pub mod record;
pub mod restore;
pub mod run;
pub mod search;
pub mod serve;
pub mod session;
pub mod start;
pub mod task;
pub mod version;
pub mod wait;
