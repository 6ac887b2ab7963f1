//! The client's own measure of time, and its randomness.
//!
//! Leases are counted on CLOCK_BOOTTIME, which goes on while a laptop sleeps: whoever slept through a lease must
//! not believe in it. The count starts before the request is sent, so that it is never longer than the truth.

use rustix::time::{ClockId, clock_gettime};
use tenure_core::model::ids::{OperationId, SessionId};

/// Milliseconds since this machine started, sleep included.
#[must_use]
pub fn boot_ms() -> i64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// Names this start of the machine; a count of [`boot_ms`] from before a restart means nothing.
#[must_use]
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Bytes from the operating system's generator.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system's generator never fails once the machine is up");
    bytes
}

/// A session's id: 32 hexadecimal digits of chance.
#[must_use]
pub fn session_id() -> SessionId {
    let text = format!("{:032x}", u128::from_be_bytes(random()));
    text.parse().expect("32 hexadecimal digits are a valid id")
}

/// An operation's id: 32 hexadecimal digits, 12 of this machine's time in milliseconds and 20 of chance. What happens
/// one after the other is kept side by side in the store that way. Nobody reads the time from it, and a wrong clock
/// costs a little speed and nothing else.
#[must_use]
pub fn operation_id() -> OperationId {
    let now = clock_gettime(ClockId::Realtime);
    let ms = now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000;
    let chance = u128::from_be_bytes(random()) >> (128 - 80);
    let text = format!("{:012x}{chance:020x}", ms & 0xffff_ffff_ffff);
    text.parse().expect("32 hexadecimal digits are a valid id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_ids_differ_and_follow_the_time() {
        let ids: Vec<String> = (0..100).map(|_| operation_id().to_string()).collect();
        assert!(ids.iter().all(|id| id.len() == 32));
        assert!(ids.windows(2).all(|pair| pair[0][..12] <= pair[1][..12] && pair[0][12..] != pair[1][12..]));
    }
}
