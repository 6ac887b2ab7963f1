//! Tasks: writing them down, changing them, and ending them without an attempt.

use super::view::{AsOf, TaskSummary, TaskView};
use super::{Answer, input, operation, output};
use crate::model::attempt::Entry;
use crate::model::ids::{Capability, PrincipalName, ProjectKey, TaskId};
use crate::model::task::{Kind, Lifecycle, Priority, Resolution};
use crate::model::text_enum::text_enum;
use crate::model::time::WallTime;

input! {
    /// Create a task
    pub struct CreateTask {
        /// The project it belongs to
        #[cfg_attr(feature = "cli", arg(skip = "unset".parse::<ProjectKey>().expect("a valid key")))]
        pub project: ProjectKey,
        /// One line that says the intended outcome
        #[cfg_attr(feature = "cli", arg(long, short = 't'))]
        pub title: String,
        /// Markdown; `-` reads standard input
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, short = 'd'))]
        pub description: Option<String>,
        /// What kind of outcome it intends
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub kind: Option<Kind>,
        /// 0 most urgent to 4; 2 when absent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, short = 'p'))]
        pub priority: Option<Priority>,
        /// Write it down without offering it yet
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub planned: bool,
        /// What must hold for the outcome to be accepted; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "criterion", value_name = "TEXT"))]
        pub criteria: Vec<String>,
        /// A task that it waits for; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long, value_name = "TASK"))]
        pub blocked_by: Vec<TaskId>,
        /// A task that it is a child of; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "parent", value_name = "TASK"))]
        pub parents: Vec<TaskId>,
        /// The task during which it was found
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_name = "TASK"))]
        pub discovered_from: Option<TaskId>,
        /// A label; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "label", short = 'l', value_name = "LABEL"))]
        pub labels: Vec<String>,
        /// A link to a specification; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "spec", value_name = "LINK"))]
        pub specs: Vec<String>,
        /// An external reference, e.g. owner/repo#12; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "reference", value_name = "REF"))]
        pub references: Vec<String>,
        /// Another name for it, unique in the project; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "alias", value_name = "NAME"))]
        pub aliases: Vec<String>,
        /// A path or component that the work is expected to touch; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub touches: Vec<String>,
        /// The name of a resource that the work needs; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "resource", value_name = "NAME"))]
        pub resources: Vec<String>,
        /// What a session must offer to claim it; repeatable
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub requires: Vec<Capability>,
        /// Where it came from
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub source: Option<String>,
        /// The revision of the source that was read
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub source_revision: Option<String>,
    }
}
operation!(CreateTask -> CreatedTask, "task.create", Post "/tasks", Write, Session, None,
    [NotFound, DependencyCycle, AlreadyExists, StateConflict]);

output! {
    /// A new task, and what it may be a duplicate of.
    pub struct CreatedTask {
        /// The task.
        pub task: TaskView,
        /// Tasks with the same title, or with the source or a reference as another name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub likely_duplicates: Vec<TaskId>,
    }
}
impl Answer for CreatedTask {}

output! {
    /// One task.
    pub struct TaskAnswer {
        /// The task.
        pub task: TaskView,
        /// How it ended: who, when, in which words and with which evidence. Only of a finished task that is shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ending: Option<Entry>,
        /// The newest entries of its record, newest first; only where they were asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub entries: Vec<Entry>,
    }
}
impl Answer for TaskAnswer {}

input! {
    /// Change a task's fields
    ///
    /// Only the fields that are named change; a list that is named replaces the old one. A criterion keeps its id
    /// while its text stays the same.
    pub struct EditTask {
        /// The task
        pub task: TaskId,
        /// The revision that was seen
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<u64>(1..)))]
        pub revision: u64,
        /// One line that says the intended outcome
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, short = 't'))]
        pub title: Option<String>,
        /// Markdown; `-` reads standard input
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, short = 'd'))]
        pub description: Option<String>,
        /// What kind of outcome it intends
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub kind: Option<Kind>,
        /// 0 most urgent to 4
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, short = 'p'))]
        pub priority: Option<Priority>,
        /// What must hold for the outcome to be accepted
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long = "criterion", value_name = "TEXT"))]
        pub criteria: Option<Vec<String>>,
        /// Labels
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long = "label", short = 'l', value_name = "LABEL"))]
        pub labels: Option<Vec<String>>,
        /// Links to specifications
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long = "spec", value_name = "LINK"))]
        pub specs: Option<Vec<String>>,
        /// External references
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long = "reference", value_name = "REF"))]
        pub references: Option<Vec<String>>,
        /// Paths and components that the work is expected to touch
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub touches: Option<Vec<String>>,
        /// Names of resources that the work needs
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long = "resource", value_name = "NAME"))]
        pub resources: Option<Vec<String>>,
        /// What a session must offer to claim it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub requires: Option<Vec<Capability>>,
        /// Where it came from
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub source: Option<String>,
        /// The revision of the source that was read
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub source_revision: Option<String>,
    }
}
operation!(EditTask -> TaskAnswer, "task.edit", Patch "/tasks/{task}", Write, Session, None,
    [NotFound, RevisionConflict, StateConflict]);

input! {
    /// Offer a planned task
    pub struct OpenTask {
        /// The task
        pub task: TaskId,
    }
}
operation!(OpenTask -> TaskAnswer, "task.open", Post "/tasks/{task}/open", Write, Session, None,
    [NotFound, StateConflict]);

input! {
    /// Show a task
    pub struct ShowTask {
        /// The task
        pub task: TaskId,
        /// How many of its newest entries to show (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub entries: Option<u32>,
    }
}
operation!(ShowTask -> TaskAnswer, "task.show", Get "/tasks/{task}", Read, Anyone, None, [NotFound]);

input! {
    /// List the tasks of a project by number
    pub struct ListTasks {
        /// The project
        #[cfg_attr(feature = "cli", arg(skip = "unset".parse::<ProjectKey>().expect("a valid key")))]
        pub project: ProjectKey,
        /// Only tasks in this stored state
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub lifecycle: Option<Lifecycle>,
        /// Only tasks with this label; repeatable, then with all of them
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "cli", arg(long = "label", short = 'l', value_name = "LABEL"))]
        pub labels: Vec<String>,
        /// Archived tasks too
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub archived: bool,
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
        /// Where an earlier page ended
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub cursor: Option<String>,
    }
}
operation!(ListTasks -> TaskList, "task.list", Get "/tasks", Read, Anyone, None, [NotFound, EpochChanged]);

output! {
    /// Tasks by number.
    pub struct TaskList {
        /// The tasks.
        pub tasks: Vec<TaskSummary>,
        /// Where to go on; absent at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for TaskList {}

input! {
    /// Find a task by another tracker's name for it
    pub struct FindTask {
        /// The project
        #[cfg_attr(feature = "cli", arg(skip = "unset".parse::<ProjectKey>().expect("a valid key")))]
        pub project: ProjectKey,
        /// The name
        pub alias: String,
    }
}
operation!(FindTask -> TaskAnswer, "task.find", Post "/tasks/find", Read, Anyone, None, [NotFound]);

input! {
    /// Put a task off
    ///
    /// Nobody can claim it until its date has come or somebody resumes it; without a date, only until it is resumed.
    /// Any session may put off a task that nobody holds and that is not finished; a holder releases it first. Tasks
    /// that wait for it go on waiting. To defer again replaces date and reason.
    pub struct DeferTask {
        /// The task
        pub task: TaskId,
        /// Until when, in milliseconds since 1970; until it is resumed when absent
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(skip))]
        pub until: Option<WallTime>,
        /// Why, in words; shown with the task
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
        /// What would end the deferral before its date, in words; nothing is checked by it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub reopening: Option<String>,
    }
}
operation!(DeferTask -> TaskAnswer, "task.defer", Post "/tasks/{task}/defer", Write, Session, None,
    [NotFound, StateConflict]);

input! {
    /// End a task's deferral
    pub struct ResumeTask {
        /// The task
        pub task: TaskId,
    }
}
operation!(ResumeTask -> TaskAnswer, "task.resume", Post "/tasks/{task}/resume", Write, Session, None,
    [NotFound, StateConflict]);

input! {
    /// Put a finished task away
    pub struct ArchiveTask {
        /// The task
        pub task: TaskId,
    }
}
operation!(ArchiveTask -> TaskAnswer, "task.archive", Post "/tasks/{task}/archive", Write, Session, None,
    [NotFound, StateConflict]);

text_enum! {
    /// What becomes of the tasks that wait for a cancelled one.
    Dependents {
        /// They stay blocked until somebody decides.
        Keep = "keep",
        /// They no longer wait for it.
        Release = "release",
        /// They are cancelled too, and what waits for them, and so on.
        Cancel = "cancel",
    }
}

input! {
    /// End a task without its outcome
    ///
    /// The holder cancels under its lease, which ends with it. A task that nobody holds, or that an expired attempt
    /// left, is cancelled by naming its revision. Somebody else's live work is not ended: its holder is asked to stop,
    /// hears so at the next heartbeat, and nothing else changes.
    ///
    /// Where unfinished tasks wait for it, it must be said what becomes of them; with a successor they wait for that
    /// one instead. To its objective a cancelled child is settled. Only an operator reopens a cancelled task.
    pub struct CancelTask {
        /// The task
        pub task: TaskId,
        /// The revision that was seen, when nobody holds it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::number::<u64>(1..)))]
        pub revision: Option<u64>,
        /// Why it is over: cancelled when absent; duplicate and superseded need a successor
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::resolution(Lifecycle::Cancelled)))]
        pub resolution: Option<Resolution>,
        /// The task that stands in its place, for duplicate and superseded
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_name = "TASK"))]
        pub successor: Option<TaskId>,
        /// What becomes of the unfinished tasks that wait for it; needed where there are some and no successor
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub dependents: Option<Dependents>,
        /// The reason in words
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(CancelTask -> CancelledTask, "task.cancel", Post "/tasks/{task}/cancel", Write, Session, Optional,
    [NotFound, RevisionConflict, StateConflict, DependentsUndecided, DependencyCycle]);

output! {
    /// What a cancellation did.
    pub struct CancelledTask {
        /// The task.
        pub task: TaskView,
        /// Tasks that were cancelled with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub also_cancelled: Vec<TaskId>,
        /// Tasks that no longer wait for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub released: Vec<TaskId>,
        /// Tasks that still wait for it and stay blocked.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub kept_waiting: Vec<TaskId>,
        /// The agent that was asked to stop, when it is held: nothing else was changed then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub asked_to_stop: Option<PrincipalName>,
    }
}
impl Answer for CancelledTask {}

input! {
    /// Reopen a finished task (operators only)
    pub struct ReopenTask {
        /// The task
        pub task: TaskId,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(ReopenTask -> TaskAnswer, "task.reopen", Post "/tasks/{task}/reopen", Write, Operator, None,
    [NotFound, StateConflict, DependencyCycle]);

input! {
    /// Take a task from its holder (operators only)
    pub struct ForceRelease {
        /// The task
        pub task: TaskId,
        /// The reason
        #[cfg_attr(feature = "cli", arg(long))]
        pub reason: String,
    }
}
operation!(ForceRelease -> TaskAnswer, "task.force-release", Post "/tasks/{task}/force-release", Write, Operator,
    None, [NotFound, StateConflict]);
