//! Circles in an export. No command makes one, but imports of other trackers store those that they find: where no
//! member comes from another tracker, the file was not written by a fleet.

use std::collections::{BTreeMap, BTreeSet};

use super::malformed;
use crate::import::graph::Graph;
use crate::import::proposal::{Findings, ProposedEdge, ProposedRecord, listed};
use crate::model::dependency::DependencyKind;
use crate::model::limits::SUCCESSORS_MAX;
use crate::model::refusal::Refusal;

/// Refuses tasks that replace one another in a circle or in too long a chain, and those that wait for each other
/// although they never came from another tracker. The others are told.
pub(super) fn check(
    records: &[ProposedRecord],
    edges: &[ProposedEdge],
    from_trackers: &BTreeSet<String>,
    findings: &mut Findings,
) -> Result<(), Refusal> {
    let replaced: BTreeMap<&str, &str> = records
        .iter()
        .filter_map(|record| Some((record.source.as_str(), record.successor.as_deref()?)))
        .collect();
    for record in records {
        if end(&replaced, &record.source).is_none() {
            let wrong = format!("more than {SUCCESSORS_MAX} tasks replace one another, or do so in a circle");
            return Err(malformed(record.line, &wrong));
        }
    }
    // Whoever waits for a task that was replaced waits for what stands in its place, unless that is itself.
    let waits = edges.iter().filter_map(|edge| {
        let to = match edge.kind {
            DependencyKind::Blocks => end(&replaced, &edge.to)?,
            DependencyKind::Parent
            | DependencyKind::Related
            | DependencyKind::DiscoveredFrom
            | DependencyKind::Duplicates
            | DependencyKind::Supersedes => &edge.to,
        };
        let moved = to != edge.to;
        (!moved || to != edge.from).then(|| ProposedEdge { to: to.to_owned(), ..edge.clone() })
    });
    let waits: Vec<ProposedEdge> = waits.collect();
    let graph = Graph::of(records, &waits);
    for group in graph.deadlocks(&graph.ancestors()?) {
        let members: Vec<String> = group.iter().map(|&place| records[place].source.clone()).collect();
        if members.iter().any(|member| from_trackers.contains(member)) {
            findings.report.cycles.push(members);
        } else {
            let wrong = format!("{} would wait for itself, by way of {}", members[0], listed(&members));
            return Err(malformed(records[group[0]].line, &wrong));
        }
    }
    Ok(())
}

/// What stands in a task's place in the end: itself, if nothing does. None if that never ends.
fn end<'a>(replaced: &BTreeMap<&'a str, &'a str>, task: &'a str) -> Option<&'a str> {
    let mut place = task;
    for _ in 0..=SUCCESSORS_MAX {
        match replaced.get(place) {
            Some(next) => place = next,
            None => return Some(place),
        }
    }
    None
}
