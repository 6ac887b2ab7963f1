//! Which signals `run` passes on, and how they are called.

use std::os::raw::c_int;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::signal_name;

/// What a shell adds to a signal's number for the exit code of what the signal ended.
pub const BY_SIGNAL: i32 = 128;

/// The signals that are passed on: those by which people and programs end a command, except what this process was
/// told to ignore (`nohup`), because the command ignores that too.
pub fn passed_on() -> Vec<c_int> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// A signal's name, or its number.
pub fn name(signal: c_int) -> String {
    signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0"), 0x1001);
        assert_eq!(ignored(""), 0);
        assert_eq!(passed_on(), [SIGINT, SIGTERM, SIGHUP]);
        assert_eq!((name(SIGTERM), name(77)), ("SIGTERM".to_owned(), "signal 77".to_owned()));
    }
}
