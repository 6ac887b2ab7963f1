//! Finding work again by what is written in it.

use super::view::{AsOf, TaskSummary};
use super::{Answer, input, operation, output};
use crate::model::ids::{EventNumber, ProjectKey};
use crate::model::task::Lifecycle;
use crate::model::text_enum::text_enum;
use crate::search::excerpt::Piece;

input! {
    /// Find tasks by what is written in their titles, descriptions, notes and other entries
    ///
    /// Every word must be there, in one text of the task or in several. A word of three letters or more also finds what
    /// begins with it; words in double quotes are found as they stand, side by side; a minus directly before a word or a
    /// quote leaves out the tasks that have it. Case, accents and punctuation do not matter. The best come first: a
    /// title weighs most, then the description, then what was written during the work; of equals, unfinished work.
    pub struct Search {
        /// What to look for
        #[cfg_attr(feature = "cli", arg(skip))]
        pub query: String,
        /// Only tasks of this project
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_name = "KEY"))]
        pub project: Option<ProjectKey>,
        /// Only tasks in this stored state
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub lifecycle: Option<Lifecycle>,
        /// Archived tasks too
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub archived: bool,
        /// At most so many (up to 100)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::found_rows()))]
        pub limit: Option<u32>,
    }
}
operation!(Search -> FoundList, "search", Get "/search", Read, Anyone, None, [NotFound]);

text_enum! {
    /// In which text of a task something was found.
    FoundIn {
        /// Its title.
        Title = "title",
        /// Its description.
        Description = "description",
        /// A remark.
        Note = "note",
        /// Recorded progress.
        Checkpoint = "checkpoint",
        /// What the next one should know.
        Handoff = "handoff",
        /// A remark stored after a lease had ended.
        RecoveryNote = "recovery_note",
        /// What a recovering session decided.
        Disposition = "disposition",
        /// Why an operator took it from its holder, or reopened it.
        Intervention = "intervention",
        /// How it ended.
        Completion = "completion",
        /// A lesson for later work.
        Lesson = "lesson",
    }
}

output! {
    /// A task that was found.
    pub struct FoundTask {
        /// The task.
        #[serde(flatten)]
        pub task: TaskSummary,
        /// Where the best text was found.
        pub found_in: FoundIn,
        /// The number of the entry that the text is of, if it is one: `history` has all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub entry: Option<EventNumber>,
        /// The part of the text that answers best, in pieces: those that were looked for, and what stands around them.
        /// White space is one space, and an ellipsis stands where the text goes on.
        pub excerpt: Vec<Piece>,
    }
}

output! {
    /// Tasks that were found, the best first.
    pub struct FoundList {
        /// The tasks.
        pub tasks: Vec<FoundTask>,
        /// How many there are in all.
        pub total: u64,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for FoundList {}
