//! The engine in a storm: real rules and real SQL, in one thread, on a fake clock, from one seed.
//!
//! A [`world::World`] has a coordinator that commits in groups as the writer's thread does, agents that are honest,
//! careless, doomed or doubled under one name, some with wrong clocks, and a network and a store between them that fail
//! as the [`weather`] of the seed has it. After every commit the [judge](check) compares what was answered, and what the
//! store tells anybody, with the promises. Then the faults stop, and every task must be finished or say what it waits
//! for. The same seed gives the same bytes.

/// Ends a check with the words of the promise that does not hold.
macro_rules! must {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

mod acting;
pub mod agent;
pub mod check;
pub mod coordinator;
pub mod deeds;
mod ending;
mod fate;
pub mod ground;
pub mod lock_set;
mod passage;
pub mod store;
pub mod time;
pub mod told;
pub mod trace;
mod troubles;
pub mod weather;
pub mod world;

use std::collections::BTreeMap;
use std::fmt;

use check::Answered;
use ground::Database;
use store::Store;
use tenure_core::operation::catalog::{Entry, entries};
use tenure_core::operation::{Access, Effect};
use weather::Bites;
use world::World;

/// What came of one storm, or of many.
#[derive(Debug, Default)]
pub struct Figures {
    /// How many storms were played.
    pub storms: u64,
    /// How much happened.
    pub steps: u64,
    /// How many events were recorded.
    pub events: u64,
    /// How many calls there are in the histories that were found to be a lock's.
    pub calls: u64,
    /// How many answers were given again to whoever asked again.
    pub replayed: u64,
    /// How many writes came too late and were refused.
    pub stale_refused: u64,
    /// How many requests of an epoch before a restore were refused as such.
    pub restored_refused: u64,
    /// How often each operation was answered.
    pub answered: BTreeMap<&'static str, Answered>,
    /// How often a record was exported, and came to another fleet and back.
    pub passages: u64,
    /// What went wrong.
    pub bites: Bites,
}

impl Figures {
    /// Takes those of other storms along.
    pub fn add(&mut self, other: &Self) {
        self.storms += other.storms;
        self.steps += other.steps;
        self.events += other.events;
        self.calls += other.calls;
        self.replayed += other.replayed;
        self.stale_refused += other.stale_refused;
        self.restored_refused += other.restored_refused;
        self.passages += other.passages;
        for (operation, Answered { accepted, refused }) in &other.answered {
            let all = self.answered.entry(operation).or_default();
            all.accepted += accepted;
            all.refused += refused;
        }
        self.bites.add(&other.bites);
    }

    /// Refuses figures in which a kind of fault has hardly bitten: they would prove nothing.
    pub fn check_loud(&self) -> Result<(), String> {
        let quiet = self.bites.quieter_than(BITES_MIN);
        must!(quiet.is_empty(), "too quiet to prove anything: {quiet:?} in {self}");
        must!(self.stale_refused > STALE_MIN, "nobody came too late: {self}");
        must!(self.replayed > STALE_MIN, "nobody asked again: {self}");
        must!(self.restored_refused > 0, "nobody asked in an epoch that was over: {self}");
        must!(self.passages > self.storms, "exports were made at the end alone: {self}");
        let unplayed = self.unplayed();
        must!(unplayed.is_empty(), "never carried out: {unplayed:?} in {self}");
        Ok(())
    }

    /// The operations that change something and were never carried out, or never even refused where that is all that can
    /// become of them.
    #[must_use]
    pub fn unplayed(&self) -> Vec<&'static str> {
        let changing = entries().into_iter().filter(is_played);
        let is_unplayed = |name: &&str| {
            let Answered { accepted, refused } = self.answered.get(name).copied().unwrap_or_default();
            if ALWAYS_REFUSED.iter().any(|(refused, _)| refused == name) {
                refused == 0
            } else {
                accepted == 0
            }
        };
        changing.map(|entry| entry.spec.name).filter(is_unplayed).collect()
    }
}

/// Whether storms carry an operation out, or are refused it. Nobody in them is a person or a reporter: accounts and renewals
/// beside the holder's are played by tests of their own.
#[must_use]
pub fn is_played(entry: &Entry) -> bool {
    let is_of_others = matches!(
        entry.spec.access,
        Access::Person | Access::Administrator | Access::Console | Access::Reporter
    );
    entry.spec.effect != Effect::Read && !is_of_others
}

/// Operations that storms ask for and never see carried out, and why.
const ALWAYS_REFUSED: [(&str, &str); 3] = [
    ("project.policy", "only operators may, and nobody here is one"),
    ("task.reopen", "only operators may, and nobody here is one"),
    ("task.force-release", "only operators may, and nobody here is one"),
];
/// Each kind of fault bites so often at least, in a run that counts.
const BITES_MIN: u64 = 3;
/// So many stale writes are refused at least, in a run that counts.
const STALE_MIN: u64 = 20;

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            storms,
            steps,
            events,
            calls,
            replayed,
            stale_refused,
            restored_refused,
            answered,
            passages,
            bites,
        } = self;
        write!(
            f,
            "{storms} storms, {steps} steps, {events} events, {calls} calls in histories, {replayed} answers given \
             again, {stale_refused} stale writes and {restored_refused} of an earlier epoch refused, \
             {passages} passages into another fleet and back; faults: {bites}; \
             operations done and refused:"
        )?;
        for (operation, Answered { accepted, refused }) in answered {
            write!(f, " {operation} {accepted}/{refused}")?;
        }
        Ok(())
    }
}

/// A storm in which a promise did not hold.
#[derive(Debug)]
pub struct Broken {
    /// Its seed.
    pub seed: u64,
    /// The option that says where its store was, for the command that repeats it.
    pub option: &'static str,
    /// What did not hold.
    pub why: String,
    /// The last that happened before.
    pub end: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, option, why, end } = self;
        write!(f, "{end}\nseed {seed}: {why}\nrepeat with: cargo xtask storm{option} --seed {seed}")
    }
}

/// Plays the storm of a seed over a store in a database. Its trace comes with what came of it.
pub fn run(database: &Database, seed: u64) -> Result<(Figures, String), Box<Broken>> {
    let mut world = World::new(seed, Store::on(database.ground(seed)));
    match world.run() {
        Ok(()) => {
            let figures = Figures {
                storms: 1,
                steps: world.steps(),
                events: world.judge.events.len() as u64,
                calls: world.calls,
                replayed: world.judge.replayed,
                stale_refused: world.judge.stale_refused,
                restored_refused: world.judge.restored_refused,
                answered: std::mem::take(&mut world.judge.answered),
                passages: world.passages,
                bites: world.bites().clone(),
            };
            Ok((figures, world.trace.text().to_owned()))
        }
        Err(why) => Err(Box::new(Broken { seed, option: database.option(), why, end: world.trace.end() })),
    }
}

/// Plays the storms of many seeds, up to the first that is broken.
pub fn run_all(database: &Database, seeds: impl Iterator<Item = u64>) -> Result<Figures, Box<Broken>> {
    let mut all = Figures::default();
    for seed in seeds {
        all.add(&run(database, seed)?.0);
    }
    Ok(all)
}
