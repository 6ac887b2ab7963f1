//! The two operations of an import. Both decide by the same function, so that a preview reports exactly what
//! applying would; a preview then takes back what it wrote.

use serde_json::json;

use super::plan::Plan;
use super::proposal::{Proposal, Remarks};
use super::write::{Importer, create};
use super::{Report, beads, tenure};
use crate::envelope::Call;
use crate::model::event::EventKind;
use crate::model::ids::ProjectKey;
use crate::model::project::Policy;
use crate::model::refusal::{Code, Refusal};
use crate::model::task::Task;
use crate::operation::record::{ApplyImport, ImportAnswer, ImportFormat, PreviewImport};
use crate::rules::Rule;
use crate::rules::queue::READY_QUEUES;
use crate::rules::status::is_deferred;
use crate::working_set::{About, Need, Step, WorkingSet, together};

/// The names of the calling session, of which a preview needs none.
const NOBODY: &str = "preview";
const NO_SESSION: &str = "00000000000000000000000000000000";

fn scope(project: Option<&ProjectKey>) -> Vec<Need> {
    project.into_iter().flat_map(|key| [Need::Project(key.clone()), Need::Tallies(key.clone())]).collect()
}

impl Rule for PreviewImport {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        scope(self.project.as_ref())
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ImportAnswer> {
        let importer = importer(call).unwrap_or_else(|| Importer {
            principal: NOBODY.parse().expect("a valid name"),
            session: NO_SESSION.parse().expect("a valid session id"),
            operation: NOBODY.parse().expect("a valid operation id"),
        });
        let proposal = read(self.format, &self.text)?;
        let report = import(set, call, &importer, self.project.as_ref(), &proposal)?;
        set.undo();
        Ok(ImportAnswer { applied: false, report })
    }
}

impl Rule for ApplyImport {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        scope(self.project.as_ref())
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ImportAnswer> {
        let missing = || Refusal::new(Code::SessionRequired, "an import needs a session and an operation id");
        let importer = importer(call).ok_or_else(missing)?;
        let proposal = read(self.format, &self.text)?;
        let report = import(set, call, &importer, self.project.as_ref(), &proposal)?;
        Ok(ImportAnswer { applied: true, report })
    }
}

fn importer(call: &Call) -> Option<Importer> {
    let session = call.session.as_ref()?;
    Some(Importer {
        principal: session.principal.clone(),
        session: session.id.clone(),
        operation: call.envelope.operation_id.clone()?,
    })
}

fn read(format: ImportFormat, text: &str) -> Result<Proposal, Refusal> {
    match format {
        ImportFormat::Beads => beads::read(text),
        ImportFormat::Tenure => tenure::read(text),
    }
}

/// Brings a proposal into a project, or into those that it names. What is here already stays as it is, so that
/// importing a file again creates and changes nothing and leaves no event.
fn import(
    set: &mut WorkingSet,
    call: &Call,
    importer: &Importer,
    named: Option<&ProjectKey>,
    proposal: &Proposal,
) -> Step<Report> {
    let plan = Plan::of(set, named, proposal)?;
    let left_alone = plan.left_alone(set, call.now.wall, proposal)?;
    let remarks = remarks(set, &plan, proposal)?;
    let changes = !plan.new.is_empty() || !plan.founded.is_empty();
    if changes {
        create(set, call, importer, &plan, proposal)?;
    }
    let tasks = together(plan.ids.values().map(|id| set.existing_task(id)))?;
    let report = Report {
        ready: tasks.iter().filter(|task| is_ready(task, call)).count() as u64,
        projects: plan.founded.iter().map(ToString::to_string).collect(),
        created: plan.new.len() as u64,
        already_here: plan.here.len() as u64,
        left_alone,
        remarks: [proposal.report.remarks.clone(), remarks.sentences()].concat(),
        ..proposal.report.clone()
    };
    if changes {
        let data = json!({
            "format": proposal.tracker,
            "file_sha256": proposal.digest,
            "lines": report.lines,
            "created": report.created,
            "already_here": report.already_here,
            "done": report.done,
            "ready": report.ready,
        });
        let about = match plan.homes().as_slice() {
            [key] => About::project(key, data),
            _ => About { data, ..About::default() },
        };
        set.record(EventKind::ImportApplied, about);
    }
    Ok(report)
}

/// What only a comparison with this fleet can tell of a fleet's export.
fn remarks(set: &WorkingSet, plan: &Plan<'_>, proposal: &Proposal) -> Step<Remarks> {
    let mut remarks = Remarks::default();
    for record in &plan.new {
        if record.there.as_ref().is_some_and(|there| there.held_by.is_some()) {
            remarks.add("tasks that somebody holds there, and nobody here", record.source.as_str());
        }
    }
    for (record, name) in &plan.taken {
        let lacks = "names that another task has here, which they therefore lack";
        remarks.add(lacks, format!("{record} ({name})"));
    }
    for (record, task) in plan.own(set)? {
        if record.there.as_ref().is_some_and(|there| there.revision > task.revision) {
            let newer =
                "tasks that the file knows in a newer revision than this fleet, which stay as they are";
            remarks.add(newer, record.source.as_str());
        }
    }
    for (key, project) in proposal.projects.iter().filter(|(key, _)| plan.founded.contains(*key)) {
        if project.policy != Policy::default() {
            let policy = "projects whose policy is not taken over (see `tenure project policy`)";
            remarks.add(policy, key.as_str());
        }
        if !project.bindings.is_empty() {
            let places =
                "projects whose bindings to repositories are not taken over (see `tenure project bind`)";
            remarks.add(places, key.as_str());
        }
    }
    Ok(remarks)
}

/// Whether a task can be claimed as fresh work at this moment.
fn is_ready(task: &Task, call: &Call) -> bool {
    READY_QUEUES.contains(&task.queue()) && !is_deferred(task, call.now)
}
