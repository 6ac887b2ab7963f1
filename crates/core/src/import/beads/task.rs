//! What becomes of one issue: the rules of `testdata/beads/README.md` for statuses, types and texts.

use serde_json::Value;

use super::record::Record;
use crate::import::proposal::{Deferral, Findings, ProposedEntry, ProposedRecord, ProposedState};
use crate::model::attempt::{EntryData, EntryKind};
use crate::model::limits::{LIST_ITEMS, TEXT_BYTES, excerpt};
use crate::model::task::{Criterion, Details, Kind, Resolution};
use crate::model::time::WallTime;

/// The longest title that Beads itself accepts, in characters. Such a title is stored as it is, although it can have
/// more bytes than a title that is given to Tenure.
const TITLE_CHARS: usize = 500;

/// Types whose records are not work: kept as history, never ready.
const NOT_WORK: &[&str] = &["agent", "event", "gate", "merge-request", "message", "molecule", "rig", "role"];

/// Why a record is not work, in one word for the report: its type, or the mark that it carries.
fn not_work(record: &Record) -> Option<&str> {
    if NOT_WORK.contains(&record.issue_type.as_str()) {
        Some(&record.issue_type)
    } else if record.ephemeral {
        Some("ephemeral")
    } else if record.template {
        Some("template")
    } else {
        None
    }
}

/// Types that are about code become code, so that a reviewed project reviews them; what is none of them, known or
/// made up, is general work. The type itself stays in `imported`.
fn kind(issue_type: &str) -> Kind {
    match issue_type {
        "epic" => Kind::Objective,
        "bug" | "feature" | "feat" | "enhancement" | "task" | "chore" | "story" => Kind::Code,
        _ => Kind::General,
    }
}

/// What the status means here, told to the report where a person should know it.
fn state(record: &Record, kind: Kind, findings: &mut Findings) -> ProposedState {
    let not_work = not_work(record);
    if let Some(word) = not_work {
        *findings.report.not_work.entry(word.to_owned()).or_default() += 1;
    }
    if record.is_closed() {
        findings.report.done += 1;
        return ProposedState::Over(Resolution::Done);
    }
    if record.is_pinned() {
        findings.report.pinned.push(record.id.clone());
        return ProposedState::Planned;
    }
    let state = match record.status.as_str() {
        "open" | "blocked" | "deferred" => ProposedState::Open,
        "in_progress" | "hooked" => ProposedState::LeftUnfinished,
        unknown => {
            findings.report.unknown_statuses.push(format!("{}: {}", record.id, excerpt(unknown)));
            ProposedState::Planned
        }
    };
    if not_work.is_some() {
        ProposedState::Planned
    } else if state == ProposedState::LeftUnfinished && kind == Kind::Objective {
        findings
            .remarks
            .add("epics in progress, which nobody holds here, are open objectives", record.id.as_str());
        ProposedState::Open
    } else {
        if state == ProposedState::LeftUnfinished {
            findings.report.recovery.push(record.id.clone());
        }
        state
    }
}

/// Turns an issue that is no tombstone into what is proposed for it, blockers aside.
pub(super) fn proposed(line: u64, record: Record, findings: &mut Findings) -> ProposedRecord {
    let kind = kind(&record.issue_type);
    let state = state(&record, kind, findings);
    remark_on_size(&record, findings);
    let deferral = matches!(state, ProposedState::Open | ProposedState::LeftUnfinished)
        .then(|| deferral(&record))
        .flatten();
    let entries = entries(&record);
    let mut rest = record.rest;
    let title = match record.title.char_indices().nth(TITLE_CHARS) {
        None => record.title,
        Some((end, _)) => {
            findings
                .remarks
                .add("titles that were too long and are kept in full beside the task", record.id.as_str());
            let short = record.title[..end].to_owned();
            rest.put("title", Value::String(record.title));
            short
        }
    };
    let criteria: Vec<Criterion> =
        record.criteria.into_iter().map(|text| Criterion { id: "c1".to_owned(), text }).collect();
    let details = Details {
        criteria_given: u64::from(!criteria.is_empty()),
        criteria,
        labels: record.labels,
        specs: record.spec.into_iter().collect(),
        references: record.reference.into_iter().collect(),
        source: Some(format!("beads {}", record.id)),
        deferred_reason: deferral.map(|_| "deferred in Beads".to_owned()),
        imported: Some(rest.rest()),
        ..Details::default()
    };
    ProposedRecord {
        identities: vec![record.id.clone()],
        source: record.id,
        aliases: Vec::new(),
        there: None,
        line,
        state,
        successor: None,
        archived: false,
        requires: Vec::new(),
        kind,
        priority: record.priority,
        title,
        description: record.description,
        details,
        created_at: record.created_at,
        updated_at: record.updated_at,
        deferral,
        entries,
        blockers: Vec::new(),
    }
}

fn deferral(record: &Record) -> Option<Deferral> {
    let by_status = record.status == "deferred";
    (by_status || record.defer_until.is_some()).then_some(Deferral { until: record.defer_until, by_status })
}

/// Notes, comments in file order, and why it was closed.
fn entries(record: &Record) -> Vec<ProposedEntry> {
    let note = |text: &String, at| written(EntryKind::Note, at, text);
    let notes = record.notes.iter().map(|text| note(text, record.updated_at));
    let comments = record.comments.iter().map(|comment| note(&comment.text, comment.at));
    let closed_at = record.closed_at.or(record.updated_at);
    let closing = record.close_reason.iter().map(|text| written(EntryKind::Completion, closed_at, text));
    notes.chain(comments).chain(closing).collect()
}

fn written(kind: EntryKind, at: Option<WallTime>, text: &str) -> ProposedEntry {
    ProposedEntry { kind, at, text: text.to_owned(), data: EntryData::default() }
}

/// Text is stored byte for byte, also where it is longer than what a caller may send; a person is told.
fn remark_on_size(record: &Record, findings: &mut Findings) {
    let comments = record.comments.iter().map(|comment| &comment.text);
    let texts = [&record.criteria, &record.notes, &record.close_reason].into_iter().flatten();
    if texts.chain(comments).chain([&record.description]).any(|text| text.len() > TEXT_BYTES) {
        findings.remarks.add("records with a longer text than a caller may send", record.id.as_str());
    }
    if record.labels.len() > LIST_ITEMS {
        findings.remarks.add("records with more labels than a caller may send", record.id.as_str());
    }
}
