//! Readers of other trackers' files: text in, proposed records and a report out. Nothing read is executed,
//! trusted or fetched.
//!
//! A reader (one folder per tracker) turns a text into a [`proposal::Proposal`] and knows nothing of what is
//! here already; applying compares the proposal with the project and is the same for every tracker.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod apply;
pub mod beads;
pub(crate) mod cycles;
mod graph;
mod plan;
pub mod proposal;
mod write;

/// What was found in a file and what became of it, or would.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Report {
    /// Lines read, blank ones aside.
    pub lines: u64,
    /// Different ids among them.
    pub unique_ids: u64,
    /// Records that were deleted in the other tracker and are not imported.
    pub tombstones: u64,
    /// Records whose work is done there.
    pub done: u64,
    /// Tasks of this file that are ready once it is applied.
    pub ready: u64,
    /// Tasks created by this import.
    pub created: u64,
    /// Records that are here already, by an earlier import.
    pub already_here: u64,
    /// Those of them that moved on here and were left alone although the file says otherwise.
    pub left_alone: Vec<String>,
    /// Edges to ids that are not in the file, as `from -> to`. They block nothing.
    pub dangling: Vec<String>,
    /// How many edges point to tombstones, those of tombstones themselves included. They block nothing.
    pub edges_to_tombstones: u64,
    /// Those of them that start at an imported record, as `from -> to`.
    pub imported_to_tombstones: Vec<String>,
    /// Blocking edges to pinned records, as `from -> to`: they block nothing and are kept as related.
    pub edges_to_pinned: Vec<String>,
    /// Edges of kinds that Tenure has no word for, by kind, as `from -> to`: kept as related.
    pub other_edges: BTreeMap<String, Vec<String>>,
    /// Cycles of blocking edges, each with its members.
    pub cycles: Vec<Vec<String>>,
    /// Ids that occur more than once; the last line won.
    pub duplicates: Vec<String>,
    /// Records in progress there: somebody's unfinished work, so recovery candidates here.
    pub recovery: Vec<String>,
    /// Records with a status that Tenure does not know, as `id: status`.
    pub unknown_statuses: Vec<String>,
    /// Pinned records: kept as planned.
    pub pinned: Vec<String>,
    /// Records that are not work, by type: kept as history.
    pub not_work: BTreeMap<String, u64>,
    /// Memories and headers, which are not records.
    pub skipped_lines: u64,
    /// What else a person should look at.
    pub remarks: Vec<String>,
}
