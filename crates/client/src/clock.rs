//! The client's own measure of time, and its randomness.
//!
//! Leases are counted on CLOCK_BOOTTIME, which goes on while a laptop sleeps: whoever slept through a lease must
//! not believe in it. The count starts before the request is sent, so that it is never longer than the truth.

use rustix::time::{ClockId, clock_gettime};

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

/// An id of 32 hexadecimal digits: a session's, or an operation's.
#[must_use]
pub fn random_id<T: std::str::FromStr>() -> T
where
    T::Err: std::fmt::Debug,
{
    let text = format!("{:032x}", u128::from_be_bytes(random()));
    text.parse().expect("32 hexadecimal digits are a valid id")
}

/// A duration of up to twice `ms`, so that clients that failed together do not come back together.
#[must_use]
pub fn jittered(ms: u64) -> std::time::Duration {
    let part = u64::from(u16::from_be_bytes(random()));
    std::time::Duration::from_millis(ms + ms * part / 65_536)
}
