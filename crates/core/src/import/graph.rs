//! The graph of a proposal by place in its list of records: who waits for whom, who is above whom, and which of
//! them wait in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::cycles::cycles;
use super::proposal::{ProposedEdge, ProposedRecord};
use crate::model::dependency::DependencyKind;
use crate::model::limits::IMPORT_RECORDS;
use crate::model::refusal::Refusal;

/// Most steps upwards that all records and the records they wait for may have to their ancestors, in all. The rules
/// take each of these steps in the import's own write, so a file that is nested as deep as it is long is refused.
const STEPS_UPWARDS: usize = 20 * IMPORT_RECORDS;

/// Edges by place.
pub(super) struct Graph {
    blockers: Vec<Vec<usize>>,
    parents: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
    finished: Vec<bool>,
}

impl Graph {
    /// The graph of some records and of those edges whose ends are among them.
    pub(super) fn of<'a>(
        records: impl IntoIterator<Item = &'a ProposedRecord>,
        edges: impl IntoIterator<Item = &'a ProposedEdge>,
    ) -> Self {
        let records: Vec<&ProposedRecord> = records.into_iter().collect();
        let places: BTreeMap<&str, usize> =
            records.iter().enumerate().map(|(place, record)| (record.source.as_str(), place)).collect();
        let nowhere = || vec![Vec::new(); records.len()];
        let mut graph = Self {
            blockers: nowhere(),
            parents: nowhere(),
            children: nowhere(),
            finished: records.iter().map(|record| record.state.resolution().is_some()).collect(),
        };
        for edge in edges {
            let (Some(&from), Some(&to)) = (places.get(edge.from.as_str()), places.get(edge.to.as_str()))
            else {
                continue;
            };
            match edge.kind {
                DependencyKind::Blocks => graph.blockers[from].push(to),
                DependencyKind::Parent => {
                    graph.parents[from].push(to);
                    graph.children[to].push(from);
                }
                DependencyKind::Related
                | DependencyKind::DiscoveredFrom
                | DependencyKind::Duplicates
                | DependencyKind::Supersedes => {}
            }
        }
        graph
    }

    /// The cycles of blocking edges, finished records included.
    pub(super) fn circles(&self) -> Vec<Vec<usize>> {
        cycles(&self.blockers)
    }

    /// The ancestors of every record, unless reaching them takes too many steps.
    pub(super) fn ancestors(&self) -> Result<Vec<BTreeSet<usize>>, Refusal> {
        let mut left = STEPS_UPWARDS;
        let mut all = Vec::with_capacity(self.parents.len());
        for place in 0..self.parents.len() {
            let mut above = BTreeSet::new();
            let mut open = self.parents[place].clone();
            while let Some(next) = open.pop() {
                if above.insert(next) {
                    open.extend(&self.parents[next]);
                    left = left.checked_sub(1).ok_or_else(too_deep)?;
                }
            }
            all.push(above);
        }
        let waited_for: usize = self.blockers.iter().flatten().map(|&place| all[place].len()).sum();
        if waited_for > left { Err(too_deep()) } else { Ok(all) }
    }

    /// Groups of unfinished records that wait for each other when parents count as well: what `rules/cycle.rs`
    /// refuses to create, asked of the same moments. A record's finish needs its start and its children's finish;
    /// its start needs its blockers' finish and its parents' gates; a gate needs the finish of the blockers outside
    /// of its own subtree and the gates above.
    pub(super) fn deadlocks(&self, ancestors: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
        let count = self.finished.len();
        let (start, gate) = (|place: usize| count + place, |place: usize| 2 * count + place);
        let mut needs = vec![Vec::new(); 3 * count];
        for place in 0..count {
            needs[gate(place)].extend(self.parents[place].iter().map(|&parent| gate(parent)));
            if self.finished[place] {
                continue;
            }
            needs[place].push(start(place));
            needs[place].extend(&self.children[place]);
            needs[start(place)].extend(&self.blockers[place]);
            needs[start(place)].extend(self.parents[place].iter().map(|&parent| gate(parent)));
            let outside =
                self.blockers[place].iter().filter(|&&blocker| !ancestors[blocker].contains(&place));
            needs[gate(place)].extend(outside);
        }
        let members = |group: Vec<usize>| -> BTreeSet<usize> {
            group.into_iter().map(|moment| moment % count).filter(|&place| !self.finished[place]).collect()
        };
        let groups: BTreeSet<BTreeSet<usize>> = cycles(&needs).into_iter().map(members).collect();
        groups
            .into_iter()
            .filter(|group| !group.is_empty())
            .map(|group| group.into_iter().collect())
            .collect()
    }
}

fn too_deep() -> Refusal {
    let wrong =
        format!("nests its records too deep: more than {STEPS_UPWARDS} steps lead to their ancestors");
    Refusal::field("text", &wrong, "remove parent-child edges, or import the file in parts")
}
