//! The nouns: ids, tasks, attempts, sessions, projects, dependencies, events, receipts, refusals and limits.

pub(crate) mod text_enum;

pub mod account;
pub mod attempt;
pub mod backup;
pub mod dependency;
pub mod event;
pub mod export;
pub mod glyphs;
pub mod handle;
pub mod ids;
pub mod limits;
pub mod project;
pub mod refusal;
pub mod reporter;
pub mod session;
pub mod status;
pub mod task;
pub mod time;
pub mod token;
