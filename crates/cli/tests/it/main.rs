//! Whole runs of the real `tenure` with its real daemon, each in a place of its own.

mod answers;
mod auditing;
mod backups;
mod connecting;
mod copies;
mod daemons;
mod doctoring;
mod endings;
mod exports;
mod expressions;
mod finding;
mod gallery;
mod keeping;
mod network;
mod onboarding;
mod people;
mod permissions;
mod place;
mod progress;
mod restored;
mod shells;
mod stories;
mod surfaces;
mod terminal;
mod tools;
mod waiting;
