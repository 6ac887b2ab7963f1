//! Until when a command may run: two thirds of the lease, and the stop is complete before the lease can end.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_client::clock;

/// Longest time between asking a command to end and ending it.
const GRACE_MS: i64 = 10_000;
/// The same once ownership is lost: enough to write a file down.
const LOST_GRACE_MS: i64 = 1_000;

/// Moments of [`clock::boot_ms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// When the command is stopped unless the lease was renewed.
    pub stop_at: i64,
    /// When the lease ends at the earliest.
    pub ends_at: i64,
}

impl Bound {
    /// No lease is left that could end.
    pub const NONE: Self = Self { stop_at: i64::MAX, ends_at: i64::MAX };

    /// Of a lease of which so much was left when its answer was asked for.
    pub fn of(sent_at: i64, left_ms: i64) -> Self {
        Self { stop_at: sent_at + left_ms / 3 * 2, ends_at: sent_at + left_ms }
    }

    /// Of a lease that was lost at this moment.
    pub fn lost(now: i64) -> Self {
        Self { stop_at: now, ends_at: now + 2 * LOST_GRACE_MS }
    }

    /// How long a stop that begins now may ask before it ends: half of what is left.
    pub fn grace_ms(self, now: i64) -> i64 {
        ((self.ends_at - now) / 2).clamp(0, GRACE_MS)
    }

    /// When the stop should long have been complete: then whoever should have done it does not answer.
    pub fn last_call(self) -> i64 {
        self.stop_at.saturating_add((self.ends_at - self.stop_at) * 3 / 4)
    }

    /// How much of the lease is surely left.
    pub fn left(self) -> Duration {
        span(self.ends_at.saturating_sub(clock::boot_ms()))
    }

    /// Whether the lease may have ended.
    pub fn has_ended(self) -> bool {
        clock::boot_ms() >= self.ends_at
    }
}

/// So many milliseconds; none where they are over.
pub fn span(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_begins_at_two_thirds_and_is_complete_before_the_end() {
        for left_ms in [1, 2, 3, 300, 30_000, 600_000, 14_400_000] {
            let bound = Bound::of(1_000, left_ms);
            assert_eq!(bound.stop_at, 1_000 + left_ms / 3 * 2);
            let killed_at = bound.stop_at + bound.grace_ms(bound.stop_at);
            assert!(killed_at <= bound.last_call() && bound.last_call() <= bound.ends_at, "{bound:?}");
            assert!(killed_at - bound.stop_at <= GRACE_MS);
        }
        assert_eq!(Bound::of(0, 600_000), Bound { stop_at: 400_000, ends_at: 600_000 });
        assert_eq!(Bound::of(0, 600_000).grace_ms(400_000), GRACE_MS);
        assert_eq!(Bound::of(0, 30_000).grace_ms(20_000), 5_000);
        assert_eq!(Bound::of(0, 30_000).grace_ms(40_000), 0);
        assert_eq!(Bound::lost(7).grace_ms(7), LOST_GRACE_MS);
        assert_eq!((Bound::NONE.grace_ms(5), Bound::NONE.last_call()), (GRACE_MS, i64::MAX));
    }
}
