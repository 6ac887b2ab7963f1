//! All small worlds: three agents and two tasks, the second waiting for the first, in every order of what can happen.
//!
//! The explorer goes breadth first through what [`tenure_engine::execute::run_batch`] makes of every step: claims,
//! renewals, late finishes, handoffs, recoveries, repeated requests, waiting for the lock, a process that dies right
//! after a commit, restarts with wrong clocks. In every state the promises are checked from the rows and from what the
//! agents were told ([`check`]). The first state that breaks one is reached by the fewest steps, and those are
//! printed.
//!
//! [`Mutant`]s and [`Flaw`]s are mistakes made on purpose: the explorer is worth something because it finds each.

pub mod agent;
pub mod check;
pub mod explore;
pub mod memory;
pub mod step;
pub mod world;

use tenure_core::mutant::Mutant;

/// A mistake of the store or of how it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The clock is read before the writer's lock is held.
    ClockBeforeLock,
    /// The receipt is written in a transaction of its own, after the one it vouches for.
    ReceiptOutside,
    /// The fleet's time is not committed when every command of a batch was refused.
    TimeNotCommitted,
}

/// A mistake to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// In a rule.
    Rule(Mutant),
    /// In the store.
    Store(Flaw),
}

impl Mistake {
    /// Every mistake that can show where nothing is exported and imported: the storms do that.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let flaws = [Flaw::ClockBeforeLock, Flaw::ReceiptOutside, Flaw::TimeNotCommitted];
        let elsewhere =
            [&Mutant::OF_PASSAGES[..], &Mutant::OF_ACCOUNTS, &Mutant::OF_TOKENS, &Mutant::OF_REPORTERS]
                .concat();
        let rules = Mutant::ALL.into_iter().filter(|mutant| !elsewhere.contains(mutant));
        rules.map(Self::Rule).chain(flaws.map(Self::Store)).collect()
    }
}
