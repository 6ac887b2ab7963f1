//! What goes wrong in a storm, how likely each is under one seed, and how often each has bitten.

use std::collections::BTreeMap;
use std::fmt;

use crate::seed::Seed;

/// One kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A message was lost.
    Dropped,
    /// A message came very late.
    Delayed,
    /// A message came twice.
    Duplicated,
    /// A message was overtaken by a later one of the same client.
    Reordered,
    /// A client could not reach the coordinator for a while.
    CutOff,
    /// The store failed before anything was committed.
    Failed,
    /// Somebody else held the store's lock.
    Busy,
    /// The disk was full.
    Full,
    /// The connection ended at a commit, which did not happen.
    LostBefore,
    /// The connection ended at a commit, which did happen.
    LostAfter,
    /// The disk did not confirm a commit, and the writer ended.
    Unsynced,
    /// The daemon was killed between two commits.
    Killed,
    /// The daemon was killed in the middle of a commit.
    KilledInCommit,
    /// The machine slept.
    Slept,
    /// The wall clock jumped.
    Jumped,
    /// An agent's process died in mid-call or between calls, and came back later.
    Crashed,
    /// A backup took the place of the store.
    Restored,
    /// An agent paused for longer than its lease.
    Paused,
}

impl Fault {
    /// All kinds, each with the most times in a thousand that it strikes when it could.
    pub const ALL: [(Self, u64); 18] = [
        (Self::Dropped, 120),
        (Self::Delayed, 100),
        (Self::Duplicated, 150),
        // It follows from delays.
        (Self::Reordered, 0),
        (Self::CutOff, 60),
        (Self::Failed, 60),
        (Self::Busy, 60),
        (Self::Full, 60),
        (Self::LostBefore, 40),
        (Self::LostAfter, 60),
        (Self::Unsynced, 10),
        (Self::Killed, 40),
        (Self::KilledInCommit, 20),
        (Self::Slept, 20),
        (Self::Jumped, 30),
        (Self::Crashed, 60),
        (Self::Paused, 60),
        (Self::Restored, 40),
    ];
}

/// How often each kind of fault has bitten: changed the course of things, not only been drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bites(BTreeMap<Fault, u64>);

impl Bites {
    /// One more.
    pub fn count(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    /// Takes those of another storm along.
    pub fn add(&mut self, other: &Self) {
        for (fault, times) in &other.0 {
            *self.0.entry(*fault).or_default() += times;
        }
    }

    /// The kinds that have bitten fewer times than this.
    #[must_use]
    pub fn quieter_than(&self, times: u64) -> Vec<Fault> {
        let quiet = |fault: &Fault| self.0.get(fault).copied().unwrap_or_default() < times;
        Fault::ALL.iter().map(|(fault, _)| *fault).filter(quiet).collect()
    }
}

impl fmt::Display for Bites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (fault, times)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{fault:?} {times}")?;
        }
        Ok(())
    }
}

/// The chances of one storm.
#[derive(Debug)]
pub struct Weather {
    chances: BTreeMap<Fault, u64>,
    /// What has bitten.
    pub bites: Bites,
}

impl Weather {
    /// Each kind of fault is absent under one seed in three, and else anything up to its worst.
    #[must_use]
    pub fn of(dice: &mut Seed) -> Self {
        let draw = |(fault, worst): (Fault, u64)| {
            let chance = if dice.below(3) == 0 { 0 } else { 1 + dice.below(worst.max(1)) };
            (fault, if worst == 0 { 0 } else { chance })
        };
        Self { chances: Fault::ALL.into_iter().map(draw).collect(), bites: Bites::default() }
    }

    /// Nothing goes wrong any more.
    pub fn calm_down(&mut self) {
        self.chances.clear();
    }

    /// Whether a fault strikes now. Whether it bites is for its victim to say.
    pub fn strikes(&self, fault: Fault, dice: &mut Seed) -> bool {
        let chance = self.chances.get(&fault).copied().unwrap_or_default();
        dice.below(1000) < chance
    }

    /// The same for a fault that bites whenever it strikes.
    pub fn bites(&mut self, fault: Fault, dice: &mut Seed) -> bool {
        let strikes = self.strikes(fault, dice);
        if strikes {
            self.bites.count(fault);
        }
        strikes
    }
}
