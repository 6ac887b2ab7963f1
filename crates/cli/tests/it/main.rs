//! Whole runs of the real `tenure` with its real daemon, each in a place of its own.

mod answers;
mod backups;
mod daemons;
mod endings;
mod finding;
mod place;
mod stories;
mod surfaces;
mod waiting;
