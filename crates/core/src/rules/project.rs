//! Projects: keys are given once, policies are edited under a revision, places belong to one project.

use serde_json::json;

use super::lookup::parse_of_epoch;
use super::queue::by_status;
use super::{Rule, as_of, named, page_rows, room};
use crate::envelope::Call;
use crate::model::event::EventKind;
use crate::model::ids::ProjectKey;
use crate::model::limits::{
    LEASE_MS_MAX, LINE_BYTES, PAGE_BYTES_DEFAULT, TEXT_BYTES, check_line, check_text,
};
use crate::model::project::{Binding, Policy, PolicyPart, Project, Workflow};
use crate::model::refusal::{Code, Refusal};
use crate::operation::project::{
    BindProject, BindingAnswer, BindingView, CreateProject, EditProject, ListProjects, PolicyInput,
    ProjectAnswer, ProjectList, ProjectView, ResolveProject, SetPolicy, ShowProject, UnbindProject,
};
use crate::working_set::{About, Need, Page, Step, WorkingSet, together};

impl Rule for CreateProject {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Project(self.key.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ProjectAnswer> {
        let name = self.name.clone().unwrap_or_else(|| self.key.to_string());
        check_line("name", &name)?;
        if set.project(&self.key)?.is_some() {
            return Err(Refusal::new(
                Code::AlreadyExists,
                format!("there is a project {} already", self.key),
            )
            .into());
        }
        let policy = apply(&self.policy, &Policy::default(), call)?;
        let project = found(set, call, &self.key, name, policy);
        answer(set, project)
    }
}

/// Founds a project that does not exist.
pub fn found(set: &mut WorkingSet, call: &Call, key: &ProjectKey, name: String, policy: Policy) -> Project {
    let project = Project {
        key: key.clone(),
        name,
        policy,
        agents_may: Vec::new(),
        revision: set.fleet.next(0),
        tasks_issued: set.fleet.floor,
        created_at: call.now.wall,
    };
    let data = json!({ "name": project.name, "policy": project.policy });
    set.record(EventKind::ProjectCreated, About::project(&project.key, data));
    set.projects.put(project.clone());
    set.tallies.cover(project.key.clone());
    project
}

/// The policy that results from what a request sets.
fn apply(input: &PolicyInput, policy: &Policy, call: &Call) -> Result<Policy, Refusal> {
    if input.workflow == Some(Workflow::Reviewed) {
        let detail = "the workflow `reviewed` is not built yet; projects are `simple`";
        return Err(Refusal::new(Code::NotYetBuilt, detail).next("leave the workflow out, or say `simple`"));
    }
    if let Some(lease_ms) = input.lease_ms {
        let shortest = call.durations.lease_ms_min;
        if !(shortest..=LEASE_MS_MAX).contains(&lease_ms) {
            let wrong = format!("is {lease_ms}, not {shortest} to {LEASE_MS_MAX} milliseconds");
            return Err(Refusal::field("lease_ms", &wrong, "choose a length between them"));
        }
    }
    let limit = |new: Option<u32>, old: Option<u32>| match new {
        None => old,
        Some(0) => None,
        Some(limit) => Some(limit),
    };
    Ok(Policy {
        workflow: input.workflow.unwrap_or(policy.workflow),
        recovery: input.recovery.unwrap_or(policy.recovery),
        lease_ms: input.lease_ms.or(policy.lease_ms),
        attempts_max: limit(input.attempts_max, policy.attempts_max),
        attempts_per_principal_max: limit(
            input.attempts_per_principal_max,
            policy.attempts_per_principal_max,
        ),
    })
}

fn view(set: &WorkingSet, project: Project) -> Step<ProjectView> {
    let tasks = by_status(set, &project.key)?;
    Ok(ProjectView {
        key: project.key,
        name: project.name,
        policy: project.policy,
        agents_may: project.agents_may,
        revision: project.revision,
        tasks,
        created_at: project.created_at,
    })
}

fn answer(set: &WorkingSet, project: Project) -> Step<ProjectAnswer> {
    Ok(ProjectAnswer { project: view(set, project)? })
}

/// A page of projects: the keys that it may show, and whether there are more.
pub fn page_of(
    set: &WorkingSet,
    call: &Call,
    limit: Option<u32>,
    cursor: Option<&str>,
) -> Step<(Vec<ProjectKey>, bool)> {
    let rows = page_rows(limit)?;
    let key = |text: &str| text.parse::<ProjectKey>().ok();
    let after = cursor.map(|text| parse_of_epoch(text, call.epoch, key)).transpose()?;
    let mut keys = set.page(&Page::ProjectsAfter { after, count: rows + 1 })?.projects().to_vec();
    let more = keys.len() > rows as usize;
    keys.truncate(rows as usize);
    Ok((keys, more))
}

/// Where a list of projects goes on after this one.
pub fn cursor_after(call: &Call, key: &ProjectKey) -> String {
    format!("{}.{key}", call.epoch)
}

impl Rule for ListProjects {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ProjectList> {
        let (keys, more) = page_of(set, call, self.limit, self.cursor.as_deref())?;
        let mut projects =
            together(keys.iter().map(|key| named::project(set, key).and_then(|project| view(set, project))))?;
        projects.truncate(room(&projects, self.limit, PAGE_BYTES_DEFAULT));
        let goes_on = more || projects.len() < keys.len();
        let last = projects.last().filter(|_| goes_on);
        let cursor = last.map(|last| cursor_after(call, &last.key));
        Ok(ProjectList { projects, cursor, as_of: as_of(set, call) })
    }
}

impl Rule for ShowProject {
    fn decide(&self, set: &mut WorkingSet, _call: &Call) -> Step<ProjectAnswer> {
        answer(set, named::project(set, &self.project)?)
    }
}

impl Rule for EditProject {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ProjectAnswer> {
        let project = seen(set, &self.project, self.revision)?;
        if let Some(name) = &self.name {
            check_line("name", name)?;
        }
        if let Some(part) = self.policy.parts().find(|part| !project.agents_may.contains(part)) {
            return Err(not_for_agents(&project, part).into());
        }
        let edited = Project {
            name: self.name.clone().unwrap_or_else(|| project.name.clone()),
            policy: apply(&self.policy, &project.policy, call)?,
            ..project
        };
        let edited = raised(set, edited);
        let data = json!({ "name": edited.name, "policy": edited.policy, "revision": edited.revision });
        set.record(EventKind::ProjectEdited, About::project(&edited.key, data));
        answer(set, edited)
    }
}

/// What agents may change of a policy is the project's to say, and none of it is from the beginning.
fn not_for_agents(project: &Project, part: PolicyPart) -> Refusal {
    let key = &project.key;
    let detail = format!("agents may not change {part} of the policy of {key}");
    Refusal::new(Code::OperatorRequired, detail)
        .next(format!(
            "an operator sets it in a terminal: `tenure project policy {key}`, or allows it with --agents-may"
        ))
        .fact("part", part.as_str())
}

impl Rule for SetPolicy {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ProjectAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let project = seen(set, &self.project, self.revision)?;
        let mut agents_may = self.agents_may.clone().unwrap_or_else(|| project.agents_may.clone());
        agents_may.sort_unstable();
        agents_may.dedup();
        let policy = apply(&self.policy, &project.policy, call)?;
        let edited = raised(set, Project { policy, agents_may, ..project });
        let data = json!({
            "policy": edited.policy, "agents_may": edited.agents_may, "revision": edited.revision, "reason": self.reason,
        });
        set.record(EventKind::PolicySet, About::project(&edited.key, data));
        answer(set, edited)
    }
}

/// The project in the revision that an edit is made of.
fn seen(set: &WorkingSet, key: &ProjectKey, revision: u64) -> Step<Project> {
    let project = named::project(set, key)?;
    if project.revision == revision {
        return Ok(project);
    }
    let detail = format!("{} is at revision {}, not {revision}", project.key, project.revision);
    Err(Refusal::new(Code::RevisionConflict, detail).fact("revision", project.revision).into())
}

/// Keeps an edited project, in its next revision.
fn raised(set: &mut WorkingSet, project: Project) -> Project {
    let revision = set.fleet.next(project.revision);
    let project = Project { revision, ..project };
    set.projects.put(project.clone());
    project
}

/// Refuses a repository or folder that is no plain name.
fn check_place(repository: &str, folder: &str) -> Result<(), Refusal> {
    check_line("repository", repository)?;
    let plain = folder.is_empty()
        || (folder.len() <= LINE_BYTES
            && !folder.starts_with('/')
            && !folder.ends_with('/')
            && folder.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
            && !folder.chars().any(char::is_control));
    if plain {
        Ok(())
    } else {
        Err(Refusal::field("folder", "is no plain path inside the repository", "write it like src/engine"))
    }
}

impl Rule for BindProject {
    fn decide(&self, set: &mut WorkingSet, _call: &Call) -> Step<BindingAnswer> {
        check_place(&self.repository, &self.folder)?;
        named::project(set, &self.project)?;
        let bound =
            set.bindings_of(&self.repository)?.into_iter().find(|binding| binding.folder == self.folder);
        if let Some(bound) = bound {
            if bound.project == self.project {
                return Ok(BindingAnswer { binding: binding_view(bound) });
            }
            let detail = format!("this place is bound to {} already", bound.project);
            let next = format!("`tenure project unbind {}` first", bound.project);
            return Err(Refusal::new(Code::AlreadyExists, detail).next(next).into());
        }
        let binding = Binding {
            repository: self.repository.clone(),
            folder: self.folder.clone(),
            project: self.project.clone(),
        };
        let data = json!({ "repository": binding.repository, "folder": binding.folder });
        set.record(EventKind::ProjectBound, About::project(&binding.project, data));
        set.bindings.put(binding.clone());
        Ok(BindingAnswer { binding: binding_view(binding) })
    }
}

impl Rule for UnbindProject {
    fn decide(&self, set: &mut WorkingSet, _call: &Call) -> Step<BindingAnswer> {
        let bound =
            set.bindings_of(&self.repository)?.into_iter().find(|binding| binding.folder == self.folder);
        let Some(bound) = bound.filter(|binding| binding.project == self.project) else {
            let refusal = Refusal::not_found("binding of this place to", &self.project);
            return Err(refusal.next("`tenure config show` says what this place is bound to").into());
        };
        let data = json!({ "repository": bound.repository, "folder": bound.folder });
        set.record(EventKind::ProjectUnbound, About::project(&bound.project, data));
        set.bindings.remove(&(bound.repository.clone(), bound.folder.clone()));
        Ok(BindingAnswer { binding: binding_view(bound) })
    }
}

fn binding_view(binding: Binding) -> BindingView {
    BindingView { repository: binding.repository, folder: binding.folder, project: binding.project }
}

impl Rule for ResolveProject {
    fn decide(&self, set: &mut WorkingSet, _call: &Call) -> Step<BindingAnswer> {
        for repository in &self.repositories {
            let mut bindings = set.bindings_of(repository)?;
            bindings.retain(|binding| is_inside(&self.folder, &binding.folder));
            if let Some(nearest) = bindings.into_iter().max_by_key(|binding| binding.folder.len()) {
                return Ok(BindingAnswer { binding: binding_view(nearest) });
            }
        }
        let refusal = Refusal::new(Code::NotFound, "this place is bound to no project");
        Err(refusal.next("bind it: `tenure init KEY`, or name a project with `--project KEY`").into())
    }
}

/// Whether a folder is another one or lies inside it.
fn is_inside(folder: &str, outer: &str) -> bool {
    outer.is_empty()
        || folder == outer
        || folder.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}
