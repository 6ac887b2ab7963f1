//! Exports of Tenure (`model/export.rs`): of this fleet, or of another one.
//!
//! A file is whole or it is refused: its last line vouches for the others, every line is written as an export writes it,
//! and records come by kind and key. What stands in it is data. Nothing of it grants anything: a task that somebody
//! holds there is open here, attempts are told in the task's `imported` field, authors and policies are told and not
//! believed.

mod circles;
mod frame;
mod records;
mod task;

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::Report;
use super::proposal::{Findings, Proposal, ProposedBlocker, ProposedEdge, ProposedProject, ProposedState};
use crate::model::dependency::DependencyKind;
use crate::model::export::ProjectLine;
use crate::model::ids::Digest;
use crate::model::limits::IMPORT_BYTES;
use crate::model::refusal::Refusal;
use crate::model::task::{BlockerKind, Lifecycle};
use records::{Numbered, Records};

/// What helps against a file that is no whole export.
const EXPORT_AGAIN: &str = "export it again with `tenure export jsonl`, and import that as it is";

/// The file is refused because of one of its lines.
fn malformed(line: u64, wrong: &str) -> Refusal {
    super::malformed(line, wrong, EXPORT_AGAIN)
}

/// Reads an export of Tenure. A line that is not as an export writes it refuses the whole text and is named.
pub fn read(text: &str) -> Result<Proposal, Refusal> {
    if text.len() > IMPORT_BYTES {
        let wrong = format!("has {} bytes, the limit is {IMPORT_BYTES}", text.len());
        return Err(Refusal::field("text", &wrong, "export fewer projects at once, with --project"));
    }
    let framed = frame::open(text)?;
    let mut records = Records::new(framed.fleet);
    for (number, line) in framed.lines {
        records.add(number, line).map_err(|wrong| malformed(number, &wrong))?;
    }
    records.check().map_err(|(line, wrong)| malformed(line, &wrong))?;
    let mut proposal = proposed(records)?;
    proposal.digest = Digest(Sha256::digest(text.as_bytes()).into());
    Ok(proposal)
}

/// What the records of a file propose.
fn proposed(mut records: Records) -> Result<Proposal, Refusal> {
    let mut findings = Findings::default();
    findings.report.lines = records.lines;
    findings.report.unique_ids = records.tasks.len() as u64;
    let from_trackers: BTreeSet<String> = records
        .tasks
        .values()
        .filter(|task| task::is_from_a_tracker(&task.line))
        .map(|task| task.line.id.to_string())
        .collect();
    let mut proposed = Vec::with_capacity(records.tasks.len());
    for (id, Numbered { number, line }) in std::mem::take(&mut records.tasks) {
        let written = records.written(&id);
        proposed.push(
            task::proposed(&records, number, line, written, &mut findings)
                .map_err(|wrong| malformed(number, &wrong))?,
        );
    }
    let mut edges = Vec::with_capacity(records.edges.len());
    for Numbered { line: edge, .. } in records.edges {
        let (from, to) = (edge.task.to_string(), edge.on.to_string());
        let Some(outside) = edge.outside else {
            edges.push(ProposedEdge { from, kind: edge.kind, to, optional: edge.optional });
            continue;
        };
        findings.report.dangling.push(format!("{from} -> {to}"));
        if edge.kind == DependencyKind::Blocks && outside != Lifecycle::Done {
            let waiting = proposed.binary_search_by(|record| {
                let there = record.there.as_ref().expect("every record of a fleet is something there");
                there.id.cmp(&edge.task)
            });
            let waiting = &mut proposed[waiting.expect("an edge starts at a task of the file")];
            if !matches!(waiting.state, ProposedState::Over(_)) {
                waiting.blockers.push(ProposedBlocker::new(
                    BlockerKind::Dependency,
                    format!("waits for {to} of another fleet, which the imported file does not have"),
                    "resolve it once that is done",
                ));
            }
        }
    }
    circles::check(&proposed, &edges, &from_trackers, &mut findings)?;
    let project =
        |line: ProjectLine| ProposedProject { name: line.name, policy: line.policy, bindings: line.bindings };
    Ok(Proposal {
        tracker: "tenure",
        fleet: Some(records.fleet),
        projects: records.projects.into_iter().map(|(key, line)| (key, project(line.line))).collect(),
        digest: Digest([0; 32]),
        records: proposed,
        edges,
        report: Report { remarks: findings.remarks.sentences(), ..findings.report },
    })
}
