//! The leader of several database servers is lost under load, and another one takes its place.

use std::fmt;
use std::time::{Duration, Instant};

use crate::fleet::RECOVERY_MAX;
use crate::load::Load;

/// What the loss of a leader has cost.
#[derive(Debug, Clone, Copy)]
pub struct Failover {
    /// How long nobody could write: until the database had another leader.
    pub leaderless: Duration,
    /// How long it took from there to the next acknowledged mutation.
    pub recovery: Duration,
}

impl Failover {
    /// Lets the leader be replaced while agents work: `replace` takes it away and ends when another one can be written to.
    pub fn during<E>(load: &Load, replace: impl FnOnce() -> Result<(), E>) -> Result<Self, E> {
        let begun = Instant::now();
        replace()?;
        let leaderless = begun.elapsed();
        Ok(Self { leaderless, recovery: load.recovery() })
    }

    /// Whether the servers were back at work as soon as they have to be.
    #[must_use]
    pub fn is_in_time(&self) -> bool {
        self.recovery <= RECOVERY_MAX
    }
}

/// For people.
impl fmt::Display for Failover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ms without a leader, and {} ms from there to the next acknowledged mutation",
            self.leaderless.as_millis(),
            self.recovery.as_millis()
        )
    }
}
