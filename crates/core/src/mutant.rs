//! Deliberate mistakes. A proof is worth what it would notice, so each of these must be found by one.
//!
//! They exist only with the feature `mutants`, which proofs switch on and no product does: without it every question
//! here is the constant `false`.

/// A mistake in a rule or in how a command is run. Mistakes of a store or a clock are made by the store or the clock that
/// a proof brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// A holder's write is not compared with the current generation and its deadline.
    NoFence,
    /// A lease still lives at its deadline.
    AliveAtDeadline,
    /// A claim by name does not ask whether the task is ready.
    ClaimUnready,
    /// A restore keeps the epoch.
    RestoreKeepsEpoch,
    /// A replay is judged by the lease that the original may have ended.
    ReplayNeedsLease,
    /// A replay is answered with what would be said now instead of what was said.
    ReplayAnswersAnew,
    /// The epoch that a request names is not compared with the fleet's.
    AnyEpoch,
    /// An export says how far the record was when it was written.
    ExportTellsWhen,
    /// An import does not know the fleet's own tasks again.
    OwnIsForeign,
    /// A password that was compared before counts, whatever the account's is now.
    StalePassword,
    /// A disabled account still acts.
    DisabledActs,
    /// Another first administrator is made.
    BootstrapAgain,
    /// A revoked token still counts.
    RevokedToken,
    /// A token counts beyond its end.
    ExpiredToken,
    /// A token that only asks changes something.
    ReadOnlyWrites,
    /// A token acts in the session of somebody else.
    ForeignSession,
    /// A reporter renews beyond its window.
    ReporterBeyondWindow,
    /// A reporter that was ended still renews.
    ReporterEnded,
    /// A reporter renews an attempt that is over, or taken over.
    ReporterAfterAttempt,
    /// A reporter goes on although the session that made it, or its token, is over.
    ReporterOutlives,
    /// A reporter is known by its id alone.
    ReporterUnproven,
    /// A reporter's secret opens what everybody may ask.
    ReporterReads,
    /// A blocker that was resolved where it comes from is open where it is imported.
    ImportUnresolves,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::NoFence,
        Self::AliveAtDeadline,
        Self::ClaimUnready,
        Self::RestoreKeepsEpoch,
        Self::ReplayNeedsLease,
        Self::ReplayAnswersAnew,
        Self::AnyEpoch,
        Self::ExportTellsWhen,
        Self::OwnIsForeign,
        Self::ImportUnresolves,
        Self::StalePassword,
        Self::DisabledActs,
        Self::BootstrapAgain,
        Self::RevokedToken,
        Self::ExpiredToken,
        Self::ReadOnlyWrites,
        Self::ForeignSession,
        Self::ReporterBeyondWindow,
        Self::ReporterEnded,
        Self::ReporterAfterAttempt,
        Self::ReporterOutlives,
        Self::ReporterUnproven,
        Self::ReporterReads,
    ];

    /// Those that only a reporter can notice.
    pub const OF_REPORTERS: [Self; 6] = [
        Self::ReporterBeyondWindow,
        Self::ReporterEnded,
        Self::ReporterAfterAttempt,
        Self::ReporterOutlives,
        Self::ReporterUnproven,
        Self::ReporterReads,
    ];

    /// Those that only somebody on the network can notice.
    pub const OF_TOKENS: [Self; 4] =
        [Self::RevokedToken, Self::ExpiredToken, Self::ReadOnlyWrites, Self::ForeignSession];

    /// Those that only somebody with an account can notice.
    pub const OF_ACCOUNTS: [Self; 3] = [Self::StalePassword, Self::DisabledActs, Self::BootstrapAgain];

    /// Those that only somebody who exports and imports can notice.
    pub const OF_PASSAGES: [Self; 3] = [Self::ExportTellsWhen, Self::OwnIsForeign, Self::ImportUnresolves];

    /// Whether this mistake is being made on this thread.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn is_on(self) -> bool {
        made::MADE.get() == Some(self)
    }

    /// Whether this mistake is being made: never in a product.
    #[cfg(not(feature = "mutants"))]
    #[must_use]
    pub const fn is_on(self) -> bool {
        false
    }

    /// Makes this mistake on this thread while `run` runs.
    #[cfg(feature = "mutants")]
    pub fn while_on<T>(self, run: impl FnOnce() -> T) -> T {
        let _before = made::Before(made::MADE.replace(Some(self)));
        run()
    }
}

#[cfg(feature = "mutants")]
mod made {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        pub static MADE: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Puts back what was on before, also after a panic.
    pub struct Before(pub Option<Mutant>);

    impl Drop for Before {
        fn drop(&mut self) {
            MADE.set(self.0);
        }
    }
}
