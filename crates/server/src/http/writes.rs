//! How often whoever is known may write by the network: a loop that never rests must not take what all others need. The
//! socket has no such limit, since who runs there could stop the server as well.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use tenure_core::model::limits::{WRITERS, WRITES_BURST_S, WRITES_OF_ADDRESS};

use super::bucket::Rate;
use super::token::Bearer;
use super::turns::Turns;

/// Who has written lately.
pub(super) struct Writes {
    bearers: Turns<Bearer>,
    addresses: Turns<IpAddr>,
}

impl Writes {
    /// Each of them so often in a second, and an address a few times as often.
    pub(super) fn new(per_second: u32) -> Self {
        let rate = |per_second: u32| Rate {
            most: per_second.saturating_mul(WRITES_BURST_S),
            every: Duration::from_secs(1) / per_second.max(1),
        };
        let of_address = per_second.saturating_mul(WRITES_OF_ADDRESS);
        Self {
            bearers: Turns::new(rate(per_second), WRITERS),
            addresses: Turns::new(rate(of_address), WRITERS),
        }
    }

    /// Counts a write, or says after how long there may be one. Who is refused counts for nothing.
    pub(super) fn take(&self, bearer: &Bearer, address: IpAddr, now: Instant) -> Result<(), Duration> {
        self.bearers.take(bearer, now)?;
        self.addresses.take(&address, now).inspect_err(|_| self.bearers.give_back(bearer))
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::model::ids::Digest;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn bearer(number: u8) -> Bearer {
        Bearer::Token(Digest([number; 32]))
    }

    fn address(number: u8) -> IpAddr {
        [198, 51, 100, number].into()
    }

    #[test]
    fn a_loop_is_held_back_and_others_are_not() {
        let (writes, now) = (Writes::new(2), Instant::now());
        let most = 2 * WRITES_BURST_S;
        assert!((0..most).all(|_| writes.take(&bearer(1), address(1), now).is_ok()));
        assert_eq!(writes.take(&bearer(1), address(1), now), Err(SECOND / 2));
        assert_eq!(writes.take(&bearer(1), address(2), now), Err(SECOND / 2), "wherever it comes from");
        assert_eq!(writes.take(&bearer(2), address(1), now), Ok(()));
        assert_eq!(writes.take(&bearer(1), address(1), now + SECOND / 2), Ok(()));
    }

    #[test]
    fn an_address_writes_a_few_times_as_much_whoever_comes_from_it() {
        let (writes, now) = (Writes::new(1), Instant::now());
        let taken = (0..100).filter(|n| writes.take(&bearer(*n), address(1), now).is_ok()).count();
        assert_eq!(taken, (WRITES_OF_ADDRESS * WRITES_BURST_S) as usize);
        let wait = SECOND / WRITES_OF_ADDRESS;
        assert_eq!(writes.take(&bearer(200), address(1), now), Err(wait));
        let left = (0..2 * WRITES_BURST_S).filter(|_| writes.take(&bearer(200), address(2), now).is_ok());
        assert_eq!(left.count(), WRITES_BURST_S as usize, "what was refused counted for nothing");
    }

    #[test]
    fn the_largest_rate_is_one() {
        let (writes, now) = (Writes::new(1_000_000), Instant::now());
        assert!((0..100_000).all(|_| writes.take(&bearer(1), address(1), now).is_ok()));
    }
}
