//! What a reader proposes: records and edges in the file's order, before anybody asked what is here already.

use std::collections::BTreeMap;

use super::Report;
use crate::model::attempt::{EntryData, EntryKind};
use crate::model::dependency::DependencyKind;
use crate::model::export::Place;
use crate::model::ids::{Capability, Digest, Generation, PrincipalName, ProjectKey, TaskId};
use crate::model::project::Policy;
use crate::model::task::{
    BlockerKind, DEFERRED_WITHOUT_DATE, Details, Kind, Lifecycle, Priority, Resolution,
};
use crate::model::time::WallTime;

/// Most names that one remark lists; the others are counted.
pub const REMARK_NAMES: usize = 20;

/// Everything that a file proposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The tracker's name, e.g. `beads`.
    pub tracker: &'static str,
    /// The fleet that it comes from, if that is one.
    pub fleet: Option<String>,
    /// The fleet's projects, by key.
    pub projects: BTreeMap<ProjectKey, ProposedProject>,
    /// The SHA-256 of the file's bytes, as `sha256sum` prints it.
    pub digest: Digest,
    /// Records in file order, each source id once.
    pub records: Vec<ProposedRecord>,
    /// Edges between these records in file order, each once.
    pub edges: Vec<ProposedEdge>,
    /// What was found, without what only applying can know.
    pub report: Report,
}

/// A project of another fleet. Its policy and bindings are told and never taken over: imported text is no policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedProject {
    /// Its name for people.
    pub name: String,
    /// What it demands there.
    pub policy: Policy,
    /// The places that are bound to it there.
    pub bindings: Vec<Place>,
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposedState {
    /// Work that is offered as soon as nothing stands in its way.
    Open,
    /// Work that somebody had begun: open, with an imported attempt that is over. A recovery candidate.
    LeftUnfinished,
    /// Kept and never offered: history that is no work, and what a person should look at first.
    Planned,
    /// Over there, and why.
    Over(Resolution),
}

impl ProposedState {
    /// The stored state that it becomes.
    #[must_use]
    pub fn lifecycle(self) -> Lifecycle {
        match self {
            Self::Open | Self::LeftUnfinished => Lifecycle::Open,
            Self::Planned => Lifecycle::Planned,
            Self::Over(resolution) => resolution.lifecycle(),
        }
    }

    /// Why it is over, if it is.
    #[must_use]
    pub fn resolution(self) -> Option<Resolution> {
        match self {
            Self::Open | Self::LeftUnfinished | Self::Planned => None,
            Self::Over(resolution) => Some(resolution),
        }
    }

    /// The generation that it starts with: an imported attempt is the first.
    #[must_use]
    pub fn generation(self) -> Generation {
        match self {
            Self::LeftUnfinished => Generation(1),
            Self::Open | Self::Planned | Self::Over(_) => Generation(0),
        }
    }
}

/// What a record is in the fleet that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct There {
    /// Its id there.
    pub id: TaskId,
    /// Its revision there.
    pub revision: u64,
    /// Its ownership number there.
    pub generation: Generation,
    /// Who has it there, if somebody does.
    pub held_by: Option<PrincipalName>,
}

/// One record of another tracker.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedRecord {
    /// Its id there, by which the file's edges name it.
    pub source: String,
    /// The names by which it is known to be here already: aliases here. The first is that of its source.
    pub identities: Vec<String>,
    /// Other names that it has there.
    pub aliases: Vec<String>,
    /// What it is in its fleet, if it comes from one.
    pub there: Option<There>,
    /// The line of the file that it was read from, from 1.
    pub line: u64,
    /// What becomes of it.
    pub state: ProposedState,
    /// The record that stands in its place.
    pub successor: Option<String>,
    /// Whether it was put away there.
    pub archived: bool,
    /// What a session must offer to claim it.
    pub requires: Vec<Capability>,
    /// What kind of outcome it intends.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// One line.
    pub title: String,
    /// Markdown, byte for byte.
    pub description: String,
    /// Everything else, with the fields that have no place of their own in `imported`.
    pub details: Details,
    /// When it was created there.
    pub created_at: Option<WallTime>,
    /// When it last changed there.
    pub updated_at: Option<WallTime>,
    /// Whether and until when it is put off.
    pub deferral: Option<Deferral>,
    /// What was written about it there, oldest first.
    pub entries: Vec<ProposedEntry>,
    /// Why it cannot go on, when that is not another task.
    pub blockers: Vec<ProposedBlocker>,
}

/// How a record is put off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferral {
    /// The date, if there is one.
    pub until: Option<WallTime>,
    /// Whether its status says so: then it stays put off until somebody resumes it, also when there is no date or
    /// the date has passed.
    pub by_status: bool,
}

impl Deferral {
    /// The date that the deferral has at this moment; none if it is over.
    #[must_use]
    pub fn until_at(self, now: WallTime) -> Option<WallTime> {
        let future = self.until.filter(|until| *until > now);
        future.or(self.by_status.then_some(DEFERRED_WITHOUT_DATE))
    }
}

/// A text that was written about a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedEntry {
    /// What it is.
    pub kind: EntryKind,
    /// When it was written, if the file says.
    pub at: Option<WallTime>,
    /// The text, byte for byte. Its author is told beside it, in `data` or the task's `imported` field, and is never
    /// who recorded it: a name in a file proves nothing.
    pub text: String,
    /// The structured part.
    pub data: EntryData,
}

/// A typed reason that a record cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedBlocker {
    /// What kind of reason.
    pub kind: BlockerKind,
    /// The reason in words.
    pub reason: String,
    /// What would resolve it.
    pub reopening: Option<String>,
    /// When it was raised, if the file says.
    pub created_at: Option<WallTime>,
    /// When it was resolved, if it was.
    pub resolved_at: Option<WallTime>,
}

impl ProposedBlocker {
    /// A blocker that an import raises.
    #[must_use]
    pub fn new(kind: BlockerKind, reason: String, reopening: &str) -> Self {
        let reopening = Some(reopening.to_owned());
        Self { kind, reason, reopening, created_at: None, resolved_at: None }
    }
}

/// An edge between two records of the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProposedEdge {
    /// The record that has the relation.
    pub from: String,
    /// What the relation is.
    pub kind: DependencyKind,
    /// The record it has it to.
    pub to: String,
    /// A child that its objective may be closed without.
    pub optional: bool,
}

/// What a reader finds, gathered while it reads.
#[derive(Debug, Default)]
pub struct Findings {
    /// What has a place in the report.
    pub report: Report,
    /// What else a person should look at.
    pub remarks: Remarks,
}

/// Remarks as they are gathered: what is the matter, and with which records.
#[derive(Debug, Default)]
pub struct Remarks(BTreeMap<String, Vec<String>>);

impl Remarks {
    /// Adds a record to the remark.
    pub fn add(&mut self, matter: &str, name: impl Into<String>) {
        self.0.entry(matter.to_owned()).or_default().push(name.into());
    }

    /// The remarks as sentences, in the order of their texts.
    #[must_use]
    pub fn sentences(self) -> Vec<String> {
        self.0.into_iter().map(|(matter, names)| format!("{matter}: {}", listed(&names))).collect()
    }
}

/// Names in a row, the first [`REMARK_NAMES`] of them.
#[must_use]
pub fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(REMARK_NAMES)].join(", ");
    match names.len().saturating_sub(REMARK_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deferral_by_status_outlives_its_date_and_one_by_date_does_not() {
        let (past, now, future) = (WallTime(1), WallTime(2), WallTime(3));
        let by_date = |until| Deferral { until: Some(until), by_status: false };
        assert_eq!(by_date(future).until_at(now), Some(future));
        assert_eq!(by_date(now).until_at(now), None);
        let by_status = |until| Deferral { until, by_status: true };
        assert_eq!(by_status(Some(future)).until_at(now), Some(future));
        assert_eq!(by_status(Some(past)).until_at(now), Some(DEFERRED_WITHOUT_DATE));
        assert_eq!(by_status(None).until_at(now), Some(DEFERRED_WITHOUT_DATE));
    }

    #[test]
    fn a_remark_lists_some_and_counts_the_others() {
        let names: Vec<String> = (0..REMARK_NAMES + 2).map(|n| n.to_string()).collect();
        assert!(listed(&names).ends_with("19 and 2 more"));
        assert_eq!(listed(&names[..2]), "0, 1");
    }
}
