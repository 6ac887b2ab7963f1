//! What is right, told by sets and words: shares nothing with the reader or the rules but the proposal's types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use tenure_core::import::beads;
use tenure_core::import::proposal::{Proposal, ProposedRecord, ProposedState};
use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::task::{Kind, Resolution};
use tenure_core::model::time::WallTime;

/// The files with right answers, and how many of their tasks are ready.
pub const FILES: [(&str, usize); 5] = [
    ("beads-2026-01.jsonl", 65),
    ("gastown-dangling.jsonl", 162),
    ("relay-cycle.jsonl", 168),
    ("boring-ui-dups.jsonl", 9),
    ("tiny.jsonl", 11),
];

/// 2026-11-29T12:00:00Z, the moment of the right answers.
pub const EVALUATED_AT: WallTime = WallTime(1_795_953_600_000);

pub fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/beads").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn proposal(name: &str) -> Proposal {
    beads::read(&file(name)).expect(name)
}

pub fn record<'a>(proposal: &'a Proposal, id: &str) -> &'a ProposedRecord {
    proposal.records.iter().find(|record| record.source == id).expect(id)
}

/// Everything that a node reaches.
pub fn reach<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = edges.get(from).into_iter().flatten().copied().collect();
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            open.extend(edges.get(node).into_iter().flatten());
        }
    }
    seen
}

/// The naive oracle: the definition of ready in words, as sets, sharing nothing with the rules.
pub fn ready(proposal: &Proposal) -> Vec<String> {
    let mut blocks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut parents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for edge in &proposal.edges {
        let edges = match edge.kind {
            DependencyKind::Blocks => &mut blocks,
            DependencyKind::Parent => &mut parents,
            _ => continue,
        };
        edges.entry(&edge.from).or_default().insert(&edge.to);
    }
    let records: BTreeMap<&str, &ProposedRecord> =
        proposal.records.iter().map(|record| (record.source.as_str(), record)).collect();
    let done = |id: &str| records[id].state == ProposedState::Over(Resolution::Done);
    let waits_for = |id: &str| -> BTreeSet<&str> {
        blocks.get(id).into_iter().flatten().copied().filter(|on| !done(on)).collect()
    };
    let blocked_outside = |ancestor: &str| {
        let outside = |on: &&str| *on == ancestor || !reach(&parents, on).contains(ancestor);
        !records[ancestor].blockers.is_empty() || waits_for(ancestor).iter().any(outside)
    };
    let is_ready = |record: &&ProposedRecord| {
        record.state == ProposedState::Open
            && record.kind != Kind::Objective
            && record.blockers.is_empty()
            && record.deferral.and_then(|deferral| deferral.until_at(EVALUATED_AT)).is_none()
            && waits_for(&record.source).is_empty()
            && reach(&parents, &record.source).into_iter().all(|up| done(up) || !blocked_outside(up))
    };
    let mut ready: Vec<String> =
        proposal.records.iter().filter(is_ready).map(|record| record.source.clone()).collect();
    ready.sort();
    ready
}

pub fn right_answers(name: &str) -> Vec<String> {
    if name == "tiny.jsonl" {
        return serde_json::from_str(&file("tiny-ready.json")).expect("a list");
    }
    let mut all: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&file("ready-ids.json")).expect("lists");
    all.remove(name).expect(name)
}

/// One line of an export.
pub fn issue(id: &str, more: &str) -> String {
    format!(r#"{{"id":"{id}","title":"t"{more}}}"#)
}

pub fn on(target: &str, kind: &str) -> String {
    format!(r#"{{"depends_on_id":"{target}","type":"{kind}"}}"#)
}

/// A line of a record with a parent, if one is named, that waits for others.
pub fn child_and(id: &str, parent: &str, waits: &[&str]) -> String {
    let mut edges: Vec<String> = waits.iter().map(|target| on(target, "blocks")).collect();
    if !parent.is_empty() {
        edges.push(on(parent, "parent-child"));
    }
    issue(id, &format!(r#","dependencies":[{}]"#, edges.join(",")))
}
