//! What becomes of one task of an export, with what was written and done about it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::records::{Records, Written};
use crate::import::Wrong;
use crate::import::proposal::{
    Deferral, Findings, ProposedBlocker, ProposedEntry, ProposedRecord, ProposedState, There,
};
use crate::model::attempt::{Entry, EntryData};
use crate::model::export::{BlockerLine, TaskLine, identity, is_identity};
use crate::model::ids::{TaskId, counter};
use crate::model::limits::{LINE_BYTES, LIST_ITEMS, TEXT_BYTES, excerpt};
use crate::model::task::{Details, Lifecycle, Resolution};
use crate::mutant::Mutant;
use crate::rules::fields::check_lines;

/// The longest title that any import stores, in characters.
const TITLE_CHARS: usize = 500;
/// The field of `imported` that tells what a task was in the fleet that it comes from.
const THERE: &str = "tenure";
/// The field beside it, with what the task had been imported from before.
const BEFORE: &str = "imported";

/// Whether a task, however often it passed from fleet to fleet, comes from another tracker.
pub(super) fn is_from_a_tracker(line: &TaskLine) -> bool {
    let mut imported = line.details.imported.as_ref();
    while let Some(Value::Object(map)) = imported {
        if !map.contains_key(THERE) {
            break;
        }
        imported = map.get(BEFORE);
    }
    imported.is_some()
}

/// Turns a task into what is proposed for it.
pub(super) fn proposed(
    records: &Records,
    number: u64,
    line: TaskLine,
    written: Written,
    findings: &mut Findings,
) -> Result<ProposedRecord, Wrong> {
    let fleet = &records.fleet;
    check(&line)?;
    let state = state(&line)?;
    if line.lifecycle == Lifecycle::Done {
        findings.report.done += 1;
    }
    let imported = imported(fleet, &line, &written);
    let holder = written.attempts.iter().find(|attempt| attempt.current);
    let there = There {
        id: line.id.clone(),
        revision: line.revision,
        generation: line.generation,
        held_by: holder.map(|attempt| attempt.principal.clone()),
    };
    remark_on_size(&line, &written, findings);
    let source = line.id.to_string();
    let (successor, outside): (Vec<TaskId>, Vec<TaskId>) =
        line.successor.into_iter().partition(|id| records.projects.contains_key(&id.project));
    if let Some(outside) = outside.first() {
        let lacks = "tasks whose successor the file does not have, so that who waits for them keeps waiting";
        findings.remarks.add(lacks, format!("{source} ({outside})"));
    }
    let (known, aliases): (Vec<String>, Vec<String>) =
        line.aliases.into_iter().partition(|name| is_identity(name));
    let identities = [vec![identity(fleet, &line.id)], known].concat();
    Ok(ProposedRecord {
        identities,
        aliases,
        there: Some(there),
        line: number,
        state,
        successor: successor.first().map(ToString::to_string),
        archived: line.archived,
        requires: line.requires,
        kind: line.kind,
        priority: line.priority,
        title: line.title,
        description: line.description,
        details: Details { imported: Some(imported), ..line.details },
        created_at: Some(line.created_at),
        updated_at: Some(line.updated_at),
        deferral: line.deferred_until.map(|until| Deferral { until: Some(until), by_status: false }),
        entries: written.entries.into_iter().map(entry).collect(),
        blockers: written.blockers.into_iter().map(blocker).collect(),
        source,
    })
}

/// Refuses what no command and no import could have stored.
fn check(line: &TaskLine) -> Result<(), Wrong> {
    if line.title.trim().is_empty() || line.title.chars().count() > TITLE_CHARS {
        return Err(format!("title: it is empty or longer than {TITLE_CHARS} characters"));
    }
    for alias in &line.aliases {
        if alias.is_empty() || alias.len() > LINE_BYTES || alias.chars().any(char::is_control) {
            return Err(format!(
                "the alias {:?} is empty, too long or has control characters",
                excerpt(alias)
            ));
        }
    }
    if !line.aliases.is_sorted() {
        return Err("aliases: they are not in order".to_owned());
    }
    if line.requires.len() > LIST_ITEMS {
        return Err(format!("requires: it has more than {LIST_ITEMS} entries"));
    }
    // Other trackers have labels of any kind, and they were kept.
    if !is_from_a_tracker(line) {
        check_lines("labels", &line.details.labels).map_err(|refusal| refusal.detail)?;
    }
    let criteria = &line.details.criteria;
    let ids: BTreeSet<&str> = criteria.iter().map(|criterion| criterion.id.as_str()).collect();
    let given = |id: &&str| {
        let number = id.strip_prefix('c').and_then(counter);
        number.is_some_and(|number| (1..=line.details.criteria_given).contains(&number))
    };
    if ids.len() != criteria.len()
        || !ids.iter().all(given)
        || i64::try_from(line.details.criteria_given).is_err()
    {
        return Err("criteria: their ids were never given by a fleet".to_owned());
    }
    Ok(())
}

/// What the state there becomes here. Whoever holds the task there holds nothing here.
fn state(line: &TaskLine) -> Result<ProposedState, Wrong> {
    let state = match (line.lifecycle, line.resolution) {
        (Lifecycle::Planned, None) => ProposedState::Planned,
        (Lifecycle::Open, None) => ProposedState::Open,
        (Lifecycle::Done | Lifecycle::Cancelled, Some(resolution))
            if resolution.lifecycle() == line.lifecycle =>
        {
            ProposedState::Over(resolution)
        }
        (lifecycle, Some(resolution)) => {
            return Err(format!("resolution: {resolution} is none of a task that is {lifecycle}"));
        }
        (lifecycle, None) => return Err(format!("resolution: a task that is {lifecycle} has one")),
    };
    let over = state.resolution();
    if line.archived && over.is_none() {
        return Err("archived: only a finished task is put away".to_owned());
    }
    if line.successor.is_some() && !over.is_some_and(Resolution::needs_successor) {
        return Err("successor: only a duplicate or superseded task has one".to_owned());
    }
    Ok(state)
}

/// What a task was there and has no place for here, kept beside it as data.
fn imported(fleet: &str, line: &TaskLine, written: &Written) -> Value {
    let mut there = json!({
        "fleet": fleet,
        "task": line.id,
        "revision": line.revision,
        "generation": line.generation,
    });
    let mut tell = |field: &str, told: Value| there[field] = told;
    if !line.aliases.is_empty() {
        tell("aliases", json!(line.aliases));
    }
    if let Some(reserved) = &line.reserved {
        tell("reserved_for", json!(reserved.principal));
    }
    if !written.attempts.is_empty() {
        tell("attempts", json!(written.attempts));
    }
    if !written.blockers.is_empty() {
        let raised = |line: &BlockerLine| json!({ "number": line.number, "raised_by": line.raised_by });
        tell("blockers", written.blockers.iter().map(raised).collect());
    }
    let mut imported = json!({ THERE: there });
    if let Some(before) = &line.details.imported {
        imported[BEFORE] = before.clone();
    }
    imported
}

fn entry(entry: Entry) -> ProposedEntry {
    let author = entry.data.author.or(Some(entry.principal));
    let data = EntryData { author, ..entry.data };
    ProposedEntry { kind: entry.kind, at: Some(entry.at), text: entry.text, data }
}

fn blocker(line: BlockerLine) -> ProposedBlocker {
    ProposedBlocker {
        kind: line.kind,
        reason: line.reason,
        reopening: line.reopening,
        created_at: Some(line.created_at),
        resolved_at: line.resolved_at.filter(|_| !Mutant::ImportUnresolves.is_on()),
    }
}

/// Text is stored byte for byte, also where it is longer than what a caller may send; a person is told.
fn remark_on_size(line: &TaskLine, written: &Written, findings: &mut Findings) {
    let criteria = line.details.criteria.iter().map(|criterion| &criterion.text);
    let entries = written.entries.iter().map(|entry| &entry.text);
    if criteria.chain(entries).chain([&line.description]).any(|text| text.len() > TEXT_BYTES) {
        findings.remarks.add("tasks with a longer text than a caller may send", line.id.to_string());
    }
}
