//! Readers of other trackers' files: text in, proposed records and a report out. Nothing read is executed,
//! trusted or fetched.
//!
//! A reader (one folder per tracker) turns a text into a [`proposal::Proposal`] and knows nothing of what is
//! here already; applying compares the proposal with the project and is the same for every tracker.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json;
use crate::model::refusal::{Code, Refusal};

mod apply;
pub mod beads;
pub(crate) mod cycles;
mod graph;
mod plan;
pub mod proposal;
pub mod tenure;
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
    /// Projects created by this import.
    pub projects: Vec<String>,
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

/// What is wrong with a line, in words that follow "line 17: ".
type Wrong = String;

/// A file is refused because of one of its lines; nothing of it was imported.
fn malformed(line: u64, wrong: &str, remedy: &str) -> Refusal {
    Refusal::new(Code::InvalidInput, format!("line {line}: {wrong}"))
        .next(format!("{remedy}; nothing was imported"))
        .fact("line", line)
}

/// The JSON value that a line is.
fn value(line: &str, depth: usize) -> Result<Value, Wrong> {
    json::read_to(line.as_bytes(), depth).map_err(|refusal| {
        let detail = refusal.detail.replace(" at line 1 column ", " at column ");
        detail.replace("the request is not acceptable JSON", "not acceptable JSON")
    })
}
