//! The two kinds of time. Fleet time judges every lease; wall time is for calendars and people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mutant::Mutant;

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
        if Mutant::AliveAtDeadline.is_on() { self > deadline } else { self >= deadline }
    }
}

impl WallTime {
    /// This moment minus a duration in milliseconds.
    #[must_use]
    pub fn minus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_sub(ms))
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

/// A duration in words, in its two largest units; what is left of a second is dropped.
#[must_use]
pub fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds}s"),
        (0, 0, minutes, 0) => format!("{minutes}m"),
        (0, 0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (0, hours, minutes, _) => format!("{hours}h {minutes}m"),
        (days, hours, ..) => format!("{days}d {hours}h"),
    }
}

/// What is left of a duration, in words: a started second counts whole, so that nobody waits too short.
#[must_use]
pub fn duration_left(ms: i64) -> String {
    duration(ms.saturating_add(999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let shown = [0, 999, 61_000, 600_000, 3_660_000, 90_000_000, -5].map(duration);
        assert_eq!(shown, ["0s", "0s", "1m 1s", "10m", "1h 1m", "1d 1h", "0s"]);
        assert_eq!(duration_left(1), "1s");
    }
}
