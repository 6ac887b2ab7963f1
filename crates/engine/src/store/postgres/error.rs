//! What an error of PostgreSQL means to the engine.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::WrongType;

use crate::store::driver::{Class, StoreError};

/// Where in a transaction something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Before its commit was sent: it did not happen.
    Before,
    /// After that: nobody knows.
    Commit,
}

/// The connection is of no more use.
pub fn lost(step: Step, detail: impl Into<String>) -> StoreError {
    let class = match step {
        Step::Before => Class::Io,
        Step::Commit => Class::Lost,
    };
    StoreError::new(class, detail)
}

/// What a client's error means. Its text names statements and never values.
pub fn stated(error: &Error, step: Step) -> StoreError {
    let Some(state) = error.code() else {
        // No word of the server's: the connection, or a value that does not fit its place.
        let reason = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        let detail = format!("{error}{reason}");
        let is_ours = error.source().is_some_and(<dyn std::error::Error>::is::<WrongType>);
        return if is_ours { StoreError::new(Class::Other, detail) } else { lost(step, detail) };
    };
    let message = error.as_db_error().map_or_else(|| error.to_string(), |told| told.message().to_owned());
    let detail = format!("{message} ({})", state.code());
    match class(state) {
        Some(class) => StoreError::new(class, detail),
        None => lost(step, detail),
    }
}

/// The class of what the server says, or nothing where its word is the end of the connection.
fn class(state: &SqlState) -> Option<Class> {
    // A statement that took too long was given up, and its connection stands.
    let busy = [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::QUERY_CANCELED,
    ];
    if busy.contains(state) {
        return Some(Class::Busy);
    }
    match state.code().get(..2) {
        // The connection, or a server that starts, stops, or is no primary any more (25006 of a writer).
        Some("08" | "57") => None,
        Some("25") => (state != &SqlState::READ_ONLY_SQL_TRANSACTION
            && state != &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT)
            .then_some(Class::Other),
        Some("53") if state == &SqlState::DISK_FULL => Some(Class::Full),
        Some("53") => Some(Class::Busy),
        Some("28" | "42") if state == &SqlState::INSUFFICIENT_PRIVILEGE => Some(Class::ReadOnly),
        Some("58") => Some(Class::Io),
        Some("XX") if state == &SqlState::DATA_CORRUPTED || state == &SqlState::INDEX_CORRUPTED => {
            Some(Class::Corrupt)
        }
        Some(_) | None => Some(Class::Other),
    }
}
