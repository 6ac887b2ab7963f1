//! The wall clock: plausible, the same as the daemon's, and not before what is on record. Leases depend on none of
//! this; dates do.

use tenure_core::model::time::{WallTime, duration};
use tenure_engine::clock::{Clocks, MachineClocks};

use super::check::Check;

/// A wall clock before this moment is certainly wrong: 2026-01-01, in milliseconds since 1970.
const WALL_MS_MIN: i64 = 1_767_225_600_000;
/// How far clocks may be apart before that is told: more than a call takes.
const APART_MS_MAX: i64 = 5_000;
/// How a machine's clock is set right.
const NEXT: &str = "timedatectl set-ntp true";

/// What this command's wall clock shows.
pub fn here() -> WallTime {
    WallTime(MachineClocks.wall_ms())
}

/// Holds this wall clock against the daemon's and against the newest thing on record.
pub fn clock(here: WallTime, daemon: Option<WallTime>, newest: Option<WallTime>) -> Check {
    let apart = daemon.map(|daemon| daemon.0.saturating_sub(here.0));
    if here.0 < WALL_MS_MIN {
        return Check::failed("clock", "the wall clock is years behind", NEXT);
    }
    if let Some(ms) = apart.filter(|ms| ms.abs() > APART_MS_MAX) {
        let how = if ms > 0 { "ahead of" } else { "behind" };
        let found = format!("the daemon's wall clock is {} {how} this command's", duration(ms.abs()));
        return Check::failed("clock", found, NEXT);
    }
    let back = newest.map_or(0, |newest| newest.0.saturating_sub(here.0));
    if back > APART_MS_MAX {
        let found = format!("the wall clock went back: the newest event is {} ahead of it", duration(back));
        return Check::failed("clock", found, NEXT);
    }
    match (apart, newest) {
        (Some(_), _) => Check::passed("clock", "plausible, and the daemon's shows the same"),
        (None, Some(_)) => Check::passed("clock", "plausible, and not before the newest event"),
        (None, None) => Check::passed("clock", "plausible"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_is_held_against_the_daemon_s_and_the_record() {
        let now = WALL_MS_MIN + 10_000_000;
        let at = |ms: i64| Some(WallTime(now + ms));
        let ok = |daemon, newest| clock(WallTime(now), daemon, newest).ok == Some(true);
        assert!(ok(None, None) && ok(at(0), at(-1)) && ok(at(APART_MS_MAX), at(APART_MS_MAX)));
        assert!(ok(at(-APART_MS_MAX), at(-9_000_000)));
        assert!(!ok(at(APART_MS_MAX + 1), None) && !ok(at(-APART_MS_MAX - 1), None));
        assert!(!ok(at(0), at(APART_MS_MAX + 1)) && !ok(None, at(APART_MS_MAX + 1)));
        assert_eq!(clock(WallTime(WALL_MS_MIN - 1), None, None).ok, Some(false));
        let found = clock(WallTime(now), at(-3_600_000), None).found;
        assert_eq!(found, "the daemon's wall clock is 1h 0m behind this command's");
    }
}
