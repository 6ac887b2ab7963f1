//! The two operations of an import. Both decide by the same function, so that a preview reports exactly what
//! applying would; a preview then takes back what it wrote.

use serde_json::json;

use super::plan::Plan;
use super::proposal::Proposal;
use super::write::{Importer, create};
use super::{Report, beads};
use crate::envelope::Call;
use crate::model::event::EventKind;
use crate::model::ids::ProjectKey;
use crate::model::refusal::{Code, Refusal};
use crate::model::task::Task;
use crate::operation::record::{ApplyImport, ImportAnswer, ImportFormat, PreviewImport};
use crate::rules::queue::READY_QUEUES;
use crate::rules::status::is_deferred;
use crate::rules::{Rule, project};
use crate::working_set::{About, Need, Step, WorkingSet, together};

/// The names of the calling session, of which a preview needs none.
const NOBODY: &str = "preview";
const NO_SESSION: &str = "00000000000000000000000000000000";

fn scope(project: &ProjectKey) -> Vec<Need> {
    vec![Need::Project(project.clone()), Need::Tallies(project.clone())]
}

impl Rule for PreviewImport {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        scope(&self.project)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ImportAnswer> {
        let importer = importer(call).unwrap_or_else(|| Importer {
            principal: NOBODY.parse().expect("a valid name"),
            session: NO_SESSION.parse().expect("a valid session id"),
            operation: NOBODY.parse().expect("a valid operation id"),
        });
        let report = import(set, call, &importer, &self.project, &read(self.format, &self.text)?)?;
        set.undo();
        Ok(ImportAnswer { applied: false, report })
    }
}

impl Rule for ApplyImport {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        scope(&self.project)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ImportAnswer> {
        let missing = || Refusal::new(Code::SessionRequired, "an import needs a session and an operation id");
        let importer = importer(call).ok_or_else(missing)?;
        let report = import(set, call, &importer, &self.project, &read(self.format, &self.text)?)?;
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
    }
}

/// Brings a proposal into a project. What is here already stays as it is, so that importing a file again creates
/// and changes nothing and leaves no event.
fn import(
    set: &mut WorkingSet,
    call: &Call,
    importer: &Importer,
    key: &ProjectKey,
    proposal: &Proposal,
) -> Step<Report> {
    let project = project::existing(set, key)?;
    set.tallies_of(key)?;
    let plan = Plan::of(set, &project, proposal)?;
    let left_alone = plan.left_alone(set, call.now.wall, proposal)?;
    if !plan.new.is_empty() {
        create(set, call, importer, project, &plan, proposal)?;
    }
    let tasks = together(plan.ids.values().map(|id| set.existing_task(id)))?;
    let report = Report {
        ready: tasks.iter().filter(|task| is_ready(task, call)).count() as u64,
        created: plan.new.len() as u64,
        already_here: plan.here.len() as u64,
        left_alone,
        ..proposal.report.clone()
    };
    if !plan.new.is_empty() {
        let data = json!({
            "format": proposal.tracker,
            "file_sha256": proposal.digest,
            "lines": report.lines,
            "created": report.created,
            "already_here": report.already_here,
            "done": report.done,
            "ready": report.ready,
        });
        set.record(EventKind::ImportApplied, About::project(key, data));
    }
    Ok(report)
}

/// Whether a task can be claimed as fresh work at this moment.
fn is_ready(task: &Task, call: &Call) -> bool {
    READY_QUEUES.contains(&task.queue()) && !is_deferred(task, call.now)
}
