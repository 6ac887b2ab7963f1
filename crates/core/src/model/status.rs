//! The work status of a task: derived, never stored.

use super::text_enum::text_enum;

text_enum! {
    /// What is going on with a task. The first that holds, in this order.
    Status {
        /// Put away.
        Archived = "archived",
        /// Finished without its outcome.
        Cancelled = "cancelled",
        /// Finished with its outcome.
        Done = "done",
        /// Not yet offered.
        Planned = "planned",
        /// Its candidate is being brought into the target branch.
        Integrating = "integrating",
        /// The integrated result is being checked.
        Validating = "validating",
        /// Approved, waiting for its turn in the lane.
        WaitingIntegration = "waiting_integration",
        /// Submitted, waiting for a reviewer.
        WaitingReview = "waiting_review",
        /// A reviewer asked for changes.
        ChangesRequested = "changes_requested",
        /// A live attempt works on it.
        InProgress = "in_progress",
        /// Its attempt expired and nobody has taken over.
        Recovery = "recovery",
        /// A person's answer is missing.
        WaitingDecision = "waiting_decision",
        /// Its own or an ancestor's blockers are open.
        Blocked = "blocked",
        /// Put off.
        Deferred = "deferred",
        /// An objective whose required children are not done.
        WaitingChildren = "waiting_children",
        /// Can be claimed; for an objective: can be closed.
        Ready = "ready",
    }
}
