//! How often an address may ask without being known. How many addresses are remembered is bounded, and who has waited long enough is forgotten.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::model::limits::{UNKNOWN_ADDRESSES, UNKNOWN_BURST, UNKNOWN_EVERY_MS};

use super::bucket::{Bucket, Rate};

/// How often an address may ask.
const RATE: Rate = Rate { most: UNKNOWN_BURST, every: Duration::from_millis(UNKNOWN_EVERY_MS) };

/// Addresses that have asked without being known.
#[derive(Default)]
pub(super) struct Guesses(Mutex<BTreeMap<IpAddr, Bucket>>);

impl Guesses {
    /// Whether this address may ask. If it must wait, it is told how long.
    pub(super) fn may_ask(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let known = self.lock().get(&address).copied();
        known.unwrap_or_else(|| Bucket::full(now)).take(now, RATE)
    }

    /// Notes that this address has asked without being known. If it must wait, it is told how long, and nothing is noted.
    pub(super) fn ask(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut addresses = self.lock();
        if addresses.len() >= UNKNOWN_ADDRESSES && !addresses.contains_key(&address) {
            addresses.retain(|_, bucket| !bucket.is_full(now));
            // Who has asked least makes room for who asks now.
            if addresses.len() >= UNKNOWN_ADDRESSES
                && let Some(least) = addresses.iter().min_by_key(|(_, bucket)| bucket.full_at())
            {
                let least = *least.0;
                addresses.remove(&least);
            }
        }
        addresses.entry(address).or_insert_with(|| Bucket::full(now)).take(now, RATE)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<IpAddr, Bucket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from(number).into()
    }

    #[test]
    fn an_address_has_a_burst_and_then_one_at_a_time() {
        let (guesses, begun) = (Guesses::default(), Instant::now());
        for _ in 0..UNKNOWN_BURST {
            assert_eq!(guesses.ask(address(1), begun), Ok(()));
        }
        assert_eq!(guesses.ask(address(1), begun), Err(RATE.every));
        assert_eq!(guesses.ask(address(2), begun), Ok(()), "another address");
        assert_eq!(guesses.ask(address(1), begun + RATE.every), Ok(()));
        assert_eq!(guesses.ask(address(1), begun + RATE.every), Err(RATE.every));
        assert_eq!(guesses.may_ask(address(1), begun + RATE.every), Err(RATE.every));
        assert_eq!(guesses.may_ask(address(1), begun + RATE.every * 2), Ok(()));
        assert_eq!(guesses.may_ask(address(3), begun), Ok(()));
        let later = begun + RATE.every * (UNKNOWN_BURST + 1);
        assert!((0..UNKNOWN_BURST).all(|_| guesses.ask(address(1), later).is_ok()));
    }

    #[test]
    fn no_more_addresses_are_remembered_than_there_is_room_for() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        for _ in 0..UNKNOWN_BURST {
            assert_eq!(guesses.ask(address(0), now), Ok(()));
        }
        for number in 1..3 * UNKNOWN_ADDRESSES as u32 {
            assert_eq!(guesses.ask(address(number), now), Ok(()));
        }
        assert_eq!(guesses.lock().len(), UNKNOWN_ADDRESSES);
        assert!(guesses.ask(address(0), now).is_err(), "who asked most is remembered longest");
        assert_eq!(guesses.ask(address(u32::MAX), now + RATE.every), Ok(()));
        assert_eq!(guesses.lock().len(), 2, "who has waited long enough is forgotten");
    }
}
