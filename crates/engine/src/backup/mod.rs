//! Backups: written while the store serves, checked when written, and put in the place of a store that nobody serves.
//!
//! [`create`](create::create) and [`verify`](check::verify) are about the file and its manifest;
//! [`plan`](replace::plan) and [`restore`](replace::restore) are about a state folder. What becomes of the record itself
//! is [`crate::restore`].

mod aside;
pub mod check;
pub mod create;
mod draft;
mod error;
mod pair;
mod past;
pub mod replace;

use std::path::{Path, PathBuf};

pub use error::BackupError;

use crate::store::folder::beside;

/// How far a long piece of work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many bytes of the backup were compared with its manifest.
    Compared {
        /// How many.
        done: u64,
        /// Of how many.
        all: u64,
    },
    /// Its pages and its record are being walked through.
    Walking,
    /// So many bytes of it were copied.
    Copied {
        /// How many.
        done: u64,
        /// Of how many.
        all: u64,
    },
    /// A restore has made a step.
    Reached(replace::Step),
}

/// Where a backup's manifest is.
#[must_use]
pub fn manifest_of(file: &Path) -> PathBuf {
    beside(file, ".json")
}
