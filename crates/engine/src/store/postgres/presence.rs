//! Who has a schema: all servers of its fleet together, or one that must be alone with it. The lock is of the connection and
//! goes with it, so that nobody has to clear anything away.

use super::Postgres;
use super::error::Step;
use crate::store::driver::{Driver, StoreError, Value};

/// Whoever serves a schema holds its lock together with others.
const PRESENT: &str = "SELECT 1 WHERE pg_try_advisory_lock_shared(hashtextextended($1, 1))";
/// Whoever copies one holds it alone.
const ALONE: &str = "SELECT 1 WHERE pg_try_advisory_lock(hashtextextended($1, 1))";
/// Gives it back: the end of a connection is noticed only a moment later.
const LEAVE: &str = "SELECT 1 WHERE pg_advisory_unlock(hashtextextended($1, 1))";
/// Nobody waits for the locks of who is alone, however long it thinks.
const UNHURRIED: &str = "SET idle_in_transaction_session_timeout = 0";

impl Postgres {
    /// Whether nobody is alone with the schema; nobody will be as long as this connection lasts.
    pub(super) fn is_present(&mut self) -> Result<bool, StoreError> {
        self.is_so(PRESENT)
    }

    /// Whether nobody else has the schema; nobody will as long as this connection lasts.
    pub(super) fn is_alone(&mut self) -> Result<bool, StoreError> {
        let is_alone = self.is_so(ALONE)?;
        if is_alone {
            self.later(UNHURRIED);
            self.wire.finish(Step::Before)?;
        }
        Ok(is_alone)
    }

    /// Lets others have the schema from now on, and ends the connection.
    pub fn leave(mut self) -> Result<(), StoreError> {
        self.rollback()?;
        self.is_so(LEAVE).map(drop)
    }

    fn is_so(&mut self, sql: &str) -> Result<bool, StoreError> {
        let mut is_so = false;
        let schema = self.schema.clone();
        self.query(sql, &[Value::Text(schema.into())], &mut |_| {
            is_so = true;
            Ok(())
        })?;
        Ok(is_so)
    }
}
