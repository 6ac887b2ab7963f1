//! How often each of many may do something. How many of them are remembered is bounded, and who has waited long enough is
//! forgotten.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::bucket::{Bucket, Rate};

/// Those who have done it lately.
pub(super) struct Turns<K> {
    rate: Rate,
    most: usize,
    known: Mutex<BTreeMap<K, Bucket>>,
}

impl<K: Ord + Clone> Turns<K> {
    /// Each may do it so often, and so many of them are remembered.
    pub(super) fn new(rate: Rate, most: usize) -> Self {
        Self { rate, most, known: Mutex::default() }
    }

    /// Whether this one may do it. If it must wait, it is told how long.
    pub(super) fn may_take(&self, who: &K, now: Instant) -> Result<(), Duration> {
        let known = self.lock().get(who).copied();
        known.unwrap_or_else(|| Bucket::full(now)).take(now, self.rate)
    }

    /// Notes that this one does it. If it must wait, it is told how long, and nothing is noted.
    pub(super) fn take(&self, who: &K, now: Instant) -> Result<(), Duration> {
        let mut known = self.lock();
        if known.len() >= self.most && !known.contains_key(who) {
            known.retain(|_, bucket| !bucket.is_full(now));
            // Who has done it least makes room for who does it now.
            if known.len() >= self.most
                && let Some((least, _)) = known.iter().min_by_key(|(_, bucket)| bucket.full_at())
            {
                let least = least.clone();
                known.remove(&least);
            }
        }
        known.entry(who.clone()).or_insert_with(|| Bucket::full(now)).take(now, self.rate)
    }

    /// Notes that this one has not done it after all.
    pub(super) fn give_back(&self, who: &K) {
        if let Some(bucket) = self.lock().get_mut(who) {
            bucket.give_back(self.rate);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<K, Bucket>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { most: 30, every: Duration::from_secs(2) };
    const MOST: usize = 100;

    fn turns() -> (Turns<usize>, Instant) {
        (Turns::new(RATE, MOST), Instant::now())
    }

    #[test]
    fn each_has_a_burst_and_then_one_at_a_time() {
        let (turns, begun) = turns();
        for _ in 0..RATE.most {
            assert_eq!(turns.take(&1, begun), Ok(()));
        }
        assert_eq!(turns.take(&1, begun), Err(RATE.every));
        assert_eq!(turns.take(&2, begun), Ok(()), "another one");
        assert_eq!(turns.take(&1, begun + RATE.every), Ok(()));
        assert_eq!(turns.take(&1, begun + RATE.every), Err(RATE.every));
        assert_eq!(turns.may_take(&1, begun + RATE.every), Err(RATE.every));
        assert_eq!(turns.may_take(&1, begun + RATE.every * 2), Ok(()));
        assert_eq!(turns.may_take(&3, begun), Ok(()));
        turns.give_back(&1);
        assert_eq!(turns.take(&1, begun + RATE.every), Ok(()), "one was put back");
        let later = begun + RATE.every * (RATE.most + 1);
        assert!((0..RATE.most).all(|_| turns.take(&1, later).is_ok()));
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let (turns, now) = turns();
        for _ in 0..RATE.most {
            assert_eq!(turns.take(&0, now), Ok(()));
        }
        for number in 1..3 * MOST {
            assert_eq!(turns.take(&number, now), Ok(()));
        }
        assert_eq!(turns.lock().len(), MOST);
        assert!(turns.take(&0, now).is_err(), "who did it most is remembered longest");
        assert_eq!(turns.take(&usize::MAX, now + RATE.every), Ok(()));
        assert_eq!(turns.lock().len(), 2, "who has waited long enough is forgotten");
    }
}
