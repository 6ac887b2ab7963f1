//! How long to rest before asking again: longer each time, and each client differently, so that those who lost the
//! coordinator together do not come back together.
//!
//! Chance only ever adds. Where the coordinator said how long to wait, nobody asks earlier, and not all at that moment.

use std::time::Duration;

use crate::clock;

/// How rests grow.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// The first rest.
    pub first: Duration,
    /// Each is so many times the one before.
    pub factor: u32,
    /// None grows beyond this, chance aside.
    pub cap: Duration,
}

impl Steps {
    /// Of those who go on until there is a coordinator: who follows, who waits, who writes an outcome down.
    pub const PATIENT: Self =
        Self { first: Duration::from_millis(200), factor: 2, cap: Duration::from_secs(5) };
}

/// The rests of one who asks until there is an answer.
#[derive(Debug)]
pub struct Pause {
    steps: Steps,
    next: Duration,
}

impl Pause {
    /// Begins with the first step.
    #[must_use]
    pub fn new(steps: Steps) -> Self {
        Self { steps, next: steps.first.min(steps.cap) }
    }

    /// The next rest: the step or what was stated, whichever is longer, and up to as much again.
    pub fn rest(&mut self, stated: Option<Duration>) -> Duration {
        self.with_chance(stated, u16::from_be_bytes(clock::random()))
    }

    /// Begins anew: something succeeded.
    pub fn reset(&mut self) {
        self.next = self.steps.first.min(self.steps.cap);
    }

    fn with_chance(&mut self, stated: Option<Duration>, chance: u16) -> Duration {
        let least = self.next.max(stated.unwrap_or_default());
        self.next = self.next.saturating_mul(self.steps.factor).min(self.steps.cap);
        // Whole 65536ths first: no stated wait is long enough to overflow them.
        least.saturating_add((least / (u32::from(u16::MAX) + 1)).saturating_mul(u32::from(chance)))
    }
}

/// The wait that a `Retry-After` states. A date (RFC 9110, 10.2.3) is not one: it is of a clock that may differ from
/// ours, and the coordinator never sends it. A number too large for us is the longest wait there is.
#[must_use]
pub fn stated(retry_after: &str) -> Option<Duration> {
    let digits = retry_after.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Duration::from_secs(digits.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: Steps =
        Steps { first: Duration::from_millis(100), factor: 2, cap: Duration::from_millis(700) };

    fn ms(rests: impl IntoIterator<Item = Duration>) -> Vec<u128> {
        rests.into_iter().map(|rest| rest.as_millis()).collect()
    }

    #[test]
    fn rests_grow_to_the_cap_and_begin_anew_after_a_success() {
        let mut pause = Pause::new(STEPS);
        assert_eq!(ms((0..5).map(|_| pause.with_chance(None, 0))), [100, 200, 400, 700, 700]);
        pause.reset();
        assert_eq!(ms((0..2).map(|_| pause.with_chance(None, 0))), [100, 200]);
    }

    #[test]
    fn a_stated_wait_is_never_undercut_and_chance_adds_at_most_as_much_again() {
        for stated in [0, 50, 1_000, 90_000].map(Duration::from_millis) {
            let mut last = Duration::ZERO;
            for chance in [0, 1, 20_000, 40_000, u16::MAX] {
                let rest = Pause::new(STEPS).with_chance(Some(stated), chance);
                let least = stated.max(STEPS.first);
                assert!(rest >= least && rest < 2 * least, "{stated:?} with {chance}: {rest:?}");
                assert!(chance == 0 || rest > last, "{chance} is not spread: {rest:?}");
                last = rest;
            }
        }
        assert_eq!(Pause::new(STEPS).with_chance(Some(Duration::MAX), u16::MAX), Duration::MAX);
    }

    #[test]
    fn two_hundred_clients_rest_differently() {
        let rests: std::collections::BTreeSet<_> =
            (0..200).map(|_| Pause::new(STEPS).rest(Some(Duration::from_secs(1)))).collect();
        assert!(rests.len() > 100, "only {} different rests", rests.len());
    }

    #[test]
    fn seconds_are_read_and_nothing_else() {
        assert_eq!(stated(" 120 "), Some(Duration::from_secs(120)));
        assert_eq!(stated("99999999999999999999999"), Some(Duration::from_secs(u64::MAX)));
        for other in ["", "-1", "1.5", "+3", "Fri, 31 Dec 1999 23:59:59 GMT"] {
            assert_eq!(stated(other), None, "{other}");
        }
    }
}
