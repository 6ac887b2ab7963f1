//! Beads exports: one JSON object a line. What the lines mean is said by `testdata/beads/README.md` and the facts
//! that were gathered about the format (`beads-export.md`); the readers of a line, of an issue's fate and of edges
//! each have their file here.

mod edges;
mod fields;
mod record;
mod task;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::proposal::{Findings, Proposal};
use super::{Report, malformed};
use crate::model::ids::Digest;
use crate::model::limits::{IMPORT_BYTES, IMPORT_RECORDS};
use crate::model::refusal::Refusal;
use edges::{Edges, Targets};
use record::{Line, Record};

/// What helps against a malformed line.
const CORRECT: &str = "correct this line of the file and import it again";

/// Reads a Beads export. A malformed line refuses the whole text and is named.
pub fn read(text: &str) -> Result<Proposal, Refusal> {
    if text.len() > IMPORT_BYTES {
        let wrong = format!("has {} bytes, the limit is {IMPORT_BYTES}", text.len());
        return Err(Refusal::field("text", &wrong, "split the file by records that belong together"));
    }
    let mut findings = Findings::default();
    let records = records(text, &mut findings.report)?;
    let targets = Targets::of(records.iter().map(|(_, record)| record));
    let mut edges = Edges::default();
    let mut blocked = BTreeSet::new();
    let mut proposed = Vec::new();
    for (line, record) in records {
        edges.add(&record, &targets, &mut findings);
        if record.is_tombstone() {
            findings.report.tombstones += 1;
            continue;
        }
        if record.status == "blocked" {
            blocked.insert(record.id.clone());
        }
        proposed.push(task::proposed(line, record, &mut findings));
    }
    let edges = edges.finish(&mut proposed, &blocked, &mut findings)?;
    let report = Report { remarks: findings.remarks.sentences(), ..findings.report };
    let digest = Digest(Sha256::digest(text.as_bytes()).into());
    let (fleet, projects) = (None, BTreeMap::new());
    Ok(Proposal { tracker: "beads", fleet, projects, digest, records: proposed, edges, report })
}

/// The records with their line numbers, each id once (the last line wins), in the order of the lines that won.
fn records(text: &str, report: &mut Report) -> Result<Vec<(u64, Record)>, Refusal> {
    let mut records: BTreeMap<u64, Record> = BTreeMap::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let mut duplicates = BTreeSet::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in (1_u64..).zip(text.split('\n')) {
        if line.trim().is_empty() {
            continue;
        }
        report.lines += 1;
        match record::line(line).map_err(|wrong| malformed(number, &wrong, CORRECT))? {
            Line::Skipped => report.skipped_lines += 1,
            Line::Record(record) => {
                if let Some(earlier) = lines.insert(record.id.clone(), number) {
                    duplicates.insert(record.id.clone());
                    records.remove(&earlier);
                }
                records.insert(number, *record);
            }
        }
        if records.len() > IMPORT_RECORDS {
            let wrong = format!("has more than {IMPORT_RECORDS} records");
            return Err(Refusal::field("text", &wrong, "split the file by records that belong together"));
        }
    }
    report.unique_ids = lines.len() as u64;
    report.duplicates = duplicates.into_iter().collect();
    Ok(records.into_iter().collect())
}
