//! The two kinds of time. Fleet time judges every lease; wall time is for calendars and people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds of the coordinator's own time. It never runs backwards and no wall clock can move it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct FleetTime(pub i64);

/// Milliseconds since 1970-01-01T00:00:00Z by the wall clock, read under the writer's lock.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct WallTime(pub i64);

impl FleetTime {
    /// This moment plus a duration in milliseconds.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` until this moment; negative when `earlier` is later.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whether a deadline has been reached. Equality is expired.
    #[must_use]
    pub fn has_reached(self, deadline: Self) -> bool {
        self >= deadline
    }
}

/// The moment a command is judged at: both clocks, read under the writer's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Judges leases, generations and windows.
    pub fleet: FleetTime,
    /// Judges calendar dates and is shown to people.
    pub wall: WallTime,
}
