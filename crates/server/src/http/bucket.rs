//! How often something may be done: so often in a row, and then again whenever one of them has come back.

use std::time::{Duration, Instant};

/// How many there are, and how long it takes for one to come back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) most: u32,
    pub(super) every: Duration,
}

/// What is left of them. They come back one after the other; it is kept when the last of them will have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    full_at: Instant,
}

impl Bucket {
    /// All of them are there.
    pub(super) fn full(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Takes one, or says after how long there is one.
    pub(super) fn take(&mut self, now: Instant, rate: Rate) -> Result<(), Duration> {
        let full_at = self.full_at.max(now) + rate.every;
        let missing = full_at - now;
        match missing.checked_sub(rate.every * rate.most) {
            None | Some(Duration::ZERO) => {
                self.full_at = full_at;
                Ok(())
            }
            Some(wait) => Err(wait),
        }
    }

    /// Puts one back.
    pub(super) fn give_back(&mut self, rate: Rate) {
        self.full_at -= rate.every;
    }

    /// When all of them are there again.
    pub(super) fn full_at(&self) -> Instant {
        self.full_at
    }

    /// Whether all of them are there.
    pub(super) fn is_full(&self, now: Instant) -> bool {
        self.full_at <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { most: 3, every: Duration::from_secs(10) };

    #[test]
    fn they_run_out_and_come_back_one_by_one() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut bucket = Bucket::full(begun);
        for _ in 0..RATE.most {
            assert_eq!(bucket.take(begun, RATE), Ok(()));
        }
        assert_eq!(bucket.take(begun, RATE), Err(RATE.every));
        assert_eq!(bucket.take(after(9), RATE), Err(Duration::from_secs(1)));
        assert_eq!(bucket.take(after(10), RATE), Ok(()));
        assert_eq!(bucket.take(after(10), RATE), Err(RATE.every));
        bucket.give_back(RATE);
        assert_eq!(bucket.take(after(10), RATE), Ok(()), "one was put back");
        assert!(!bucket.is_full(after(39)) && bucket.is_full(after(40)));
        assert!((0..RATE.most).all(|_| bucket.take(after(40), RATE).is_ok()));
    }
}
