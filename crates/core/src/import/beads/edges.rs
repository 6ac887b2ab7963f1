//! Which edges become what, and which records can never go on by themselves because of them.
//!
//! Of the kinds only `blocks`, `conditional-blocks` and, through ancestors, `parent-child` decide what is ready
//! (`testdata/beads/README.md`); every other kind is a relation. An edge that leads nowhere blocks nothing. None is
//! dropped silently: each is in the report, and all stay in the record's `imported` field as they were written.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{Edge, Record};
use crate::import::graph::Graph;
use crate::import::proposal::{
    Findings, ProposedBlocker, ProposedEdge, ProposedRecord, ProposedState, listed,
};
use crate::model::dependency::DependencyKind;
use crate::model::limits::excerpt;
use crate::model::refusal::Refusal;
use crate::model::task::BlockerKind;

/// What an edge can lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Tombstone,
    Pinned,
    Kept,
}

/// The records of the file by id, as far as edges must know them.
pub(super) struct Targets(BTreeMap<String, Target>);

impl Targets {
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a Record>) -> Self {
        let target = |record: &Record| match record {
            record if record.is_tombstone() => Target::Tombstone,
            record if record.is_pinned() => Target::Pinned,
            _ => Target::Kept,
        };
        Self(records.map(|record| (record.id.clone(), target(record))).collect())
    }
}

/// Edges as they are gathered, record by record.
#[derive(Default)]
pub(super) struct Edges {
    edges: Vec<ProposedEdge>,
    seen: BTreeSet<ProposedEdge>,
}

impl Edges {
    /// Adds the edges of one record, tombstones included, or tells the report why one is not there.
    pub(super) fn add(&mut self, record: &Record, targets: &Targets, findings: &mut Findings) {
        for edge in &record.edges {
            let arrow = format!("{} -> {}", record.id, edge.on);
            if edge.foreign {
                findings
                    .remarks
                    .add("edges that name another record than the one they are written in", arrow.as_str());
            }
            match targets.0.get(&edge.on) {
                None => findings.report.dangling.push(arrow),
                Some(Target::Tombstone) => {
                    findings.report.edges_to_tombstones += 1;
                    if !record.is_tombstone() {
                        findings.report.imported_to_tombstones.push(arrow);
                    }
                }
                Some(target) if !record.is_tombstone() => {
                    self.keep(record, edge, *target, arrow, findings);
                }
                Some(_) => {}
            }
        }
    }

    fn keep(&mut self, record: &Record, edge: &Edge, target: Target, arrow: String, findings: &mut Findings) {
        let kind = match edge.kind.as_str() {
            "blocks" | "conditional-blocks" if target == Target::Pinned => {
                findings.report.edges_to_pinned.push(arrow);
                DependencyKind::Related
            }
            "blocks" | "conditional-blocks" => DependencyKind::Blocks,
            "parent-child" => DependencyKind::Parent,
            "related" | "relates-to" => DependencyKind::Related,
            "discovered-from" => DependencyKind::DiscoveredFrom,
            "duplicates" => DependencyKind::Duplicates,
            "supersedes" => DependencyKind::Supersedes,
            other => {
                findings.report.other_edges.entry(excerpt(other)).or_default().push(arrow);
                DependencyKind::Related
            }
        };
        if record.id == edge.on && kind != DependencyKind::Blocks {
            findings.remarks.add(
                "records that name themselves as parent or relation, which is not kept",
                record.id.as_str(),
            );
            return;
        }
        let proposed = ProposedEdge { from: record.id.clone(), kind, to: edge.on.clone(), optional: false };
        if self.seen.insert(proposed.clone()) {
            self.edges.push(proposed);
        }
    }

    /// The edges, once the records that cannot go on because of them have their blockers.
    pub(super) fn finish(
        self,
        records: &mut [ProposedRecord],
        blocked: &BTreeSet<String>,
        findings: &mut Findings,
    ) -> Result<Vec<ProposedEdge>, Refusal> {
        block_unexplained(records, &self.edges, blocked);
        let graph = Graph::of(&*records, &self.edges);
        findings.report.cycles = block_cycles(records, graph.circles());
        remark_on_deadlocks(records, graph.deadlocks(&graph.ancestors()?), findings);
        Ok(self.edges)
    }
}

/// A record that is called blocked waits for something even if no edge says for what.
fn block_unexplained(records: &mut [ProposedRecord], edges: &[ProposedEdge], blocked: &BTreeSet<String>) {
    let done: BTreeSet<String> = records
        .iter()
        .filter(|record| record.state.resolution().is_some())
        .map(|record| record.source.clone())
        .collect();
    let waiting: BTreeSet<&str> = edges
        .iter()
        .filter(|edge| edge.kind == DependencyKind::Blocks && !done.contains(&edge.to))
        .map(|edge| edge.from.as_str())
        .collect();
    for record in records {
        let unexplained = blocked.contains(&record.source) && !waiting.contains(record.source.as_str());
        if unexplained && record.state == ProposedState::Open {
            record.blockers.push(ProposedBlocker::new(
                BlockerKind::Imported,
                "blocked in Beads, and no edge says by what".to_owned(),
                "resolve it once it is known that nothing is in the way",
            ));
        }
    }
}

/// The cycles of blocking edges over all records, finished ones included; every unfinished member is blocked, so
/// that none becomes ready because another member was closed.
fn block_cycles(records: &mut [ProposedRecord], circles: Vec<Vec<usize>>) -> Vec<Vec<String>> {
    let mut named = Vec::new();
    for group in circles {
        let members = names(records, &group);
        for &place in &group {
            if records[place].state.resolution().is_none() {
                records[place].blockers.push(ProposedBlocker::new(
                    BlockerKind::DependencyCycle,
                    format!("in a cycle of dependencies with {}", listed(&members)),
                    "remove one of the edges of the cycle",
                ));
            }
        }
        named.push(members);
    }
    named.sort();
    named
}

/// Records that wait for each other through their parents stand still without a blocker; a person is told, unless
/// the cycle that they belong to is in the report already.
fn remark_on_deadlocks(records: &[ProposedRecord], groups: Vec<Vec<usize>>, findings: &mut Findings) {
    let told: BTreeSet<&String> = findings.report.cycles.iter().flatten().collect();
    let groups = groups.into_iter().map(|group| names(records, &group));
    let untold: Vec<Vec<String>> =
        groups.filter(|group| !group.iter().any(|name| told.contains(name))).collect();
    for group in untold {
        let through = "records that wait for each other through their parents, so that none can go on";
        findings.remarks.add(through, format!("({})", listed(&group)));
    }
}

fn names(records: &[ProposedRecord], places: &[usize]) -> Vec<String> {
    let mut names: Vec<String> = places.iter().map(|&place| records[place].source.clone()).collect();
    names.sort();
    names
}
