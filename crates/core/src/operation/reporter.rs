//! Reporters: a holder lets a helper renew its lease while a long job runs, and nothing else. The client draws the helper's
//! secret and sends its hash, so no answer carries a secret.

use super::{Answer, input, operation, output};
use crate::model::ids::{AttemptId, Digest, ReporterId, TaskId};
use crate::model::time::FleetTime;

input! {
    /// Let a helper renew the lease of a held task while a long job runs
    ///
    /// The helper is known by a secret of its own, and renews this attempt's lease up to the end of the window and no
    /// further. It takes the place of the one before. It shows no progress, and does not keep the session present.
    pub struct CreateReporter {
        /// The task
        pub task: TaskId,
        /// The hash of the helper's secret: SHA-256 over the text "tenure reporter v1" and the secret, each preceded by its
        /// length in 8 bytes, the highest first
        pub hash: Digest,
        /// What it watches, for whoever looks at the task
        #[cfg_attr(feature = "cli", arg(long))]
        pub watches: String,
        /// How long it may renew, in milliseconds, from a second to an hour
        #[cfg_attr(feature = "cli", arg(long))]
        pub window_ms: i64,
    }
}
operation!(CreateReporter -> ReporterMade, "reporter.create", Post "/tasks/{task}/reporters", Write, Session, Required,
    [AlreadyExists]);

output! {
    /// A reporter that was made.
    pub struct ReporterMade {
        /// What it is called by.
        pub reporter: ReporterId,
        /// The attempt whose lease it renews.
        pub attempt: AttemptId,
        /// The end of its window, in fleet time.
        pub until: FleetTime,
        /// How long its window still lasts, in milliseconds.
        #[serde(default)]
        pub window_ms: i64,
        /// How often it renews, in milliseconds.
        pub renew_ms: i64,
    }
}
impl Answer for ReporterMade {
    const TIMED: bool = true;
    fn at(&mut self, now: FleetTime) {
        self.window_ms = self.until.since_ms(now).max(0);
    }
}

input! {
    /// Take back what was given to a helper, at once
    pub struct RevokeReporter {
        /// The task
        pub task: TaskId,
    }
}
operation!(RevokeReporter -> ReporterOver, "reporter.revoke", Post "/tasks/{task}/reporters/revoke", Write, Session,
    Required, []);

output! {
    /// A reporter that renews no more.
    pub struct ReporterOver {
        /// What it was called by.
        pub reporter: ReporterId,
        /// The attempt whose lease it renewed.
        pub attempt: AttemptId,
    }
}
impl Answer for ReporterOver {}

input! {
    /// Renew the lease of the attempt that a reporter was made for
    ///
    /// The lease then lasts as long as after a heartbeat, and at most to the end of the window. A lease that is over stays
    /// over.
    pub struct RenewLease {}
}
operation!(RenewLease -> Renewed, "reporter.renew", Post "/reporters/renew", Light, Reporter, None, []);

output! {
    /// What a renewal tells.
    pub struct Renewed {
        /// The attempt.
        pub attempt: AttemptId,
        /// When the lease ends, in fleet time.
        pub deadline: FleetTime,
        /// How long the lease lasts from now, in milliseconds.
        #[serde(default)]
        pub expires_in_ms: i64,
        /// The end of the reporter's window, in fleet time.
        pub until: FleetTime,
        /// How long the window still lasts, in milliseconds.
        #[serde(default)]
        pub window_ms: i64,
        /// How often to renew, in milliseconds.
        pub renew_ms: i64,
        /// Whether somebody asked the holder to stop.
        pub cancel_requested: bool,
        /// Whether progress is overdue, which a reporter does not show.
        pub progress_overdue: bool,
    }
}
impl Answer for Renewed {
    const TIMED: bool = true;
    fn at(&mut self, now: FleetTime) {
        self.expires_in_ms = self.deadline.since_ms(now).max(0);
        self.window_ms = self.until.since_ms(now).max(0);
    }
}

input! {
    /// Say that a reporter renews no more: what it watched has ended
    pub struct EndReporter {}
}
operation!(EndReporter -> ReporterOver, "reporter.end", Post "/reporters/end", Write, Reporter, None, []);
