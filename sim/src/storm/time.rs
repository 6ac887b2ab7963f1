//! Fake time: an agenda of what happens when, and a machine whose clocks can sleep and jump.

use std::collections::BTreeMap;

use tenure_engine::clock::Clocks;

/// What is going to happen, in the order of fake time; what falls on one moment happens in the order it was noted.
pub struct Agenda<T> {
    /// The present moment in milliseconds. It moves only from one happening to the next.
    pub now: i64,
    /// How many things have happened.
    pub steps: u64,
    grain_ms: i64,
    noted: BTreeMap<(i64, u64), T>,
    next: u64,
}

impl<T> Agenda<T> {
    /// Nothing is going to happen yet. A coarse grain lets much fall on one moment, deadlines too.
    #[must_use]
    pub fn of_grain(grain_ms: i64) -> Self {
        Self { now: 0, steps: 0, grain_ms, noted: BTreeMap::new(), next: 0 }
    }

    /// Something is going to happen so many milliseconds from now.
    pub fn note(&mut self, in_ms: i64, happening: T) {
        let at = self.now + in_ms.max(0);
        let at = (at + self.grain_ms - 1) / self.grain_ms * self.grain_ms;
        self.noted.insert((at, self.next), happening);
        self.next += 1;
    }
}

impl<T> Iterator for Agenda<T> {
    type Item = T;

    /// Goes on to the next happening.
    fn next(&mut self) -> Option<T> {
        let ((at, _), happening) = self.noted.pop_first()?;
        self.now = at;
        self.steps += 1;
        Some(happening)
    }
}

/// When the storm begins by the wall clock: in 2027.
const WALL_MS: i64 = 1_800_000_000_000;
/// What the monotonic clock showed then.
const MONOTONIC_MS: i64 = 77_000;

/// The clocks of the coordinator's machine, as they differ from true time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    /// How long it has slept in all.
    pub slept_ms: i64,
    /// How far the wall clock is off.
    pub wall_off_ms: i64,
}

impl Machine {
    /// What both clocks show at a true moment.
    #[must_use]
    pub fn clocks(&self, now: i64) -> Shown {
        Shown { monotonic: MONOTONIC_MS + now - self.slept_ms, wall: WALL_MS + now + self.wall_off_ms }
    }
}

/// What the clocks of a machine show. It stands still while a batch runs.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The clock that never goes back.
    pub monotonic: i64,
    /// The wall clock.
    pub wall: i64,
}

impl Clocks for Shown {
    fn monotonic_ms(&self) -> i64 {
        self.monotonic
    }

    fn wall_ms(&self) -> i64 {
        self.wall
    }
}
