//! The engine against its promises: on a store in memory and on one in a file, alone and in its thread, with
//! every call to the database failing in turn.

mod accounts;
mod backups;
mod chain;
mod checkups;
mod commits;
mod copying;
mod digest;
mod duplicates;
mod encryption;
mod exporting;
mod failures;
mod folder;
mod foreseeing;
mod hosts;
mod labels;
mod layout;
mod loop_of_work;
mod model;
mod neighbours;
mod plans;
mod projects;
mod questions;
mod readiness;
mod records;
mod replacing;
mod reporters;
mod restoring;
mod scene;
mod search;
mod servers;
mod statements;
mod tokens;
mod unfinished;
mod world;
mod writing;
