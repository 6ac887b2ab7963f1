//! The record: events, a task's history, statistics; and imports into it.

use std::collections::BTreeMap;

use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::import::Report;
use crate::model::attempt::Entry;
use crate::model::event::Event;
use crate::model::ids::{EventCursor, ProjectKey, TaskId};
use crate::model::text_enum::text_enum;

input! {
    /// List events in the order they happened
    ///
    /// A page begins after the cursor, or at the oldest event; each answer names the cursor to go on with.
    pub struct ListEvents {
        /// Only events after this cursor (EPOCH-NUMBER)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub after: Option<EventCursor>,
        /// The newest ones instead of the oldest
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long, conflicts_with = "after"))]
        pub newest: bool,
        /// Only events of this task
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub task: Option<TaskId>,
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
    }
}
operation!(ListEvents -> EventList, "events", Get "/events", Read, Anyone, None, [EpochChanged, NotFound]);

output! {
    /// Events in order.
    pub struct EventList {
        /// The events, as stored.
        pub events: Vec<Event>,
        /// Where to go on: pass it as `after`.
        pub cursor: EventCursor,
        /// Whether there is more now.
        pub more: bool,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for EventList {}

input! {
    /// Show a task's record: notes, checkpoints, handoffs, completions
    pub struct History {
        /// The task
        pub task: TaskId,
        /// At most so many, newest first (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
    }
}
operation!(History -> HistoryList, "history", Get "/tasks/{task}/history", Read, Anyone, None, [NotFound]);

output! {
    /// A task's record.
    pub struct HistoryList {
        /// Newest first.
        pub entries: Vec<Entry>,
        /// How many there are in all.
        pub total: u64,
    }
}
impl Answer for HistoryList {}

input! {
    /// Count what there is, project by project
    #[derive(Default)]
    pub struct Statistics {
        /// At most so many projects (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
        /// Where an earlier page ended
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub cursor: Option<String>,
    }
}
operation!(Statistics -> Counts, "stats", Get "/stats", Read, Anyone, None, [EpochChanged]);

output! {
    /// What there is.
    pub struct Counts {
        /// Tasks by status, per project.
        pub projects: BTreeMap<String, BTreeMap<String, u64>>,
        /// Where to go on with further projects; absent at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
        /// The number of the last event.
        pub events: u64,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for Counts {}

text_enum! {
    /// Whose file it is.
    ImportFormat {
        /// A Beads export: one JSON object a line.
        Beads = "beads",
        /// An export of Tenure: this fleet's own, or another one's.
        Tenure = "tenure",
    }
}

input! {
    /// Show what an import would do
    pub struct PreviewImport {
        /// The project to import into; a Tenure export has its own and needs none
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub project: Option<ProjectKey>,
        /// Whose file it is
        pub format: ImportFormat,
        /// The file's text
        pub text: String,
    }
}
operation!(PreviewImport -> ImportAnswer, "import.preview", Post "/imports/preview", Read, Anyone, None, [NotFound]);

input! {
    /// Import a file of another tracker, whole or not at all
    pub struct ApplyImport {
        /// The project to import into; a Tenure export has its own and needs none
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub project: Option<ProjectKey>,
        /// Whose file it is
        pub format: ImportFormat,
        /// The file's text
        pub text: String,
    }
}
operation!(ApplyImport -> ImportAnswer, "import.apply", Post "/imports", Write, Session, None, [NotFound]);

output! {
    /// What an import did, or would do.
    pub struct ImportAnswer {
        /// Whether it was applied.
        pub applied: bool,
        /// What was found and what became of it.
        pub report: Report,
    }
}
impl Answer for ImportAnswer {}

input! {
    /// Record what time alone has changed: leases that ended, deferrals whose date passed, receipts grown old
    ///
    /// Nothing depends on it: expiry is judged at every read and write. It makes the record say when.
    pub struct RecordOverdue {}
}
operation!(RecordOverdue -> Overdue, "overdue.record", Post "/overdue", Write, Coordinator, None, []);

output! {
    /// What was recorded.
    pub struct Overdue {
        /// Tasks whose lease was recorded as expired.
        pub expired: Vec<TaskId>,
        /// Tasks whose deferral was ended.
        pub resumed: Vec<TaskId>,
        /// How many receipts became tombstones.
        pub tombstones: u64,
        /// Whether there is more to record.
        pub more: bool,
    }
}
impl Answer for Overdue {}
