//! The fleet's own time: it judges every lease, never runs backwards, and no wall clock can move it far.
//!
//! T = max(highest T ever committed, base + this process's monotonic clock since it joined). A process that joins
//! takes as base the stored T plus the wall time since that commit, limited to a few seconds: a wrong wall clock
//! moves T by no more than that, and a lease outlives a long stop of the coordinator by the stop.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tenure_core::model::event::Fleet;
use tenure_core::model::limits::JOIN_WALL_MS_MAX;
use tenure_core::model::time::{FleetTime, Now, WallTime};

/// The two clocks of a machine, in milliseconds. Simulation brings its own.
pub trait Clocks: Send + Sync {
    /// A clock that never goes back and stands still while the machine sleeps; its zero means nothing.
    fn monotonic_ms(&self) -> i64;

    /// The wall clock since 1970. It can be wrong and can jump.
    fn wall_ms(&self) -> i64;
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineClocks;

impl Clocks for MachineClocks {
    fn monotonic_ms(&self) -> i64 {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    fn wall_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            // A clock before 1970 is as wrong as any other; nothing depends on it.
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        }
    }
}

/// Where a process stands in the fleet's time since it joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetClock {
    base: FleetTime,
    joined_ms: i64,
}

impl FleetClock {
    /// Joins the fleet as it was last committed.
    #[must_use]
    pub fn join(fleet: &Fleet, clocks: &dyn Clocks) -> Self {
        let stopped = clocks.wall_ms().saturating_sub(fleet.wall.0).clamp(0, JOIN_WALL_MS_MAX);
        Self { base: fleet.time.plus_ms(stopped), joined_ms: clocks.monotonic_ms() }
    }

    /// The moment to judge at, given the fleet row as read under the writer's lock.
    #[must_use]
    pub fn now(&self, fleet: &Fleet, clocks: &dyn Clocks) -> Now {
        let soon = self.soon(clocks);
        Now { fleet: soon.fleet.max(fleet.time), ..soon }
    }

    /// The same before the fleet row was read: good for finding out what to ask for, and for judging nothing.
    #[must_use]
    pub fn soon(&self, clocks: &dyn Clocks) -> Now {
        let since = clocks.monotonic_ms().saturating_sub(self.joined_ms).max(0);
        Now { fleet: self.base.plus_ms(since), wall: WallTime(clocks.wall_ms()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

    use tenure_core::model::ids::{Digest, Epoch, EventNumber};

    use super::*;

    const HOUR: i64 = 3_600_000;

    /// Clocks that stand still until a test moves them.
    struct Shared {
        monotonic: AtomicI64,
        wall: AtomicI64,
    }

    impl Shared {
        fn new(monotonic: i64, wall: i64) -> Self {
            Self { monotonic: monotonic.into(), wall: wall.into() }
        }

        fn pass(&self, monotonic: i64, wall: i64) {
            self.monotonic.fetch_add(monotonic, Relaxed);
            self.wall.fetch_add(wall, Relaxed);
        }
    }

    impl Clocks for Shared {
        fn monotonic_ms(&self) -> i64 {
            self.monotonic.load(Relaxed)
        }

        fn wall_ms(&self) -> i64 {
            self.wall.load(Relaxed)
        }
    }

    fn fleet(time: i64, wall: i64) -> Fleet {
        Fleet {
            id: "f".to_owned(),
            epoch: Epoch(1),
            time: FleetTime(time),
            wall: WallTime(wall),
            event: EventNumber(1),
            head: Digest([0; 32]),
            floor: 0,
        }
    }

    #[test]
    fn a_join_adds_the_wall_time_since_the_last_commit_up_to_a_limit() {
        for (passed, added) in [(0, 0), (300, 300), (5_000, 5_000), (5_001, 5_000), (3 * HOUR, 5_000)] {
            let clocks = Shared::new(77, 1_000_000 + passed);
            let fleet = fleet(500, 1_000_000);
            assert_eq!(FleetClock::join(&fleet, &clocks).now(&fleet, &clocks).fleet, FleetTime(500 + added));
        }
    }

    #[test]
    fn a_wall_clock_that_went_back_adds_nothing_at_a_join() {
        let clocks = Shared::new(77, 1_000_000 - 3 * HOUR);
        let fleet = fleet(500, 1_000_000);
        assert_eq!(FleetClock::join(&fleet, &clocks).now(&fleet, &clocks).fleet, FleetTime(500));
    }

    #[test]
    fn jumps_of_the_wall_clock_while_running_do_not_move_fleet_time() {
        for jump in [3 * HOUR, -3 * HOUR] {
            let clocks = Shared::new(77, 1_000_000);
            let fleet = fleet(500, 1_000_000);
            let clock = FleetClock::join(&fleet, &clocks);
            clocks.pass(1_200, jump);
            let now = clock.now(&fleet, &clocks);
            assert_eq!((now.fleet, now.wall), (FleetTime(1_700), WallTime(1_000_000 + jump)));
        }
    }

    #[test]
    fn what_another_server_committed_is_never_undercut() {
        let clocks = Shared::new(77, 1_000_000);
        let clock = FleetClock::join(&fleet(500, 1_000_000), &clocks);
        clocks.pass(1_000, 1_000);
        assert_eq!(clock.now(&fleet(9_000, 1_000_500), &clocks).fleet, FleetTime(9_000));
        clocks.pass(10_000, 10_000);
        assert_eq!(clock.now(&fleet(9_000, 1_000_500), &clocks).fleet, FleetTime(11_500));
    }

    #[test]
    fn fleet_time_grows_over_restarts_whatever_the_wall_clock_does() {
        let mut stored = fleet(0, 1_000_000);
        let mut wall = 1_000_000;
        for (down, jump) in [(100, 0), (60_000, -3 * HOUR), (10, 3 * HOUR), (0, -HOUR)] {
            wall += down + jump;
            let clocks = Shared::new(5, wall);
            let clock = FleetClock::join(&stored, &clocks);
            clocks.pass(50, 50);
            let now = clock.now(&stored, &clocks);
            assert!(now.fleet >= stored.time.plus_ms(50));
            assert!(now.fleet <= stored.time.plus_ms(50 + JOIN_WALL_MS_MAX));
            stored = fleet(now.fleet.0, now.wall.0);
            wall = now.wall.0;
        }
    }
}
