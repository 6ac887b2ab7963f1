//! What a request names must be there.

use crate::model::ids::{ProjectKey, TaskId};
use crate::model::limits::{LIST_ITEMS, check_count};
use crate::model::project::Project;
use crate::model::refusal::{Code, Refusal};
use crate::working_set::{Step, WorkingSet};

/// A project that must exist.
pub fn project(set: &WorkingSet, key: &ProjectKey) -> Step<Project> {
    set.project(key)?.ok_or_else(|| {
        Refusal::not_found("project", key).next("`tenure project list` shows the projects").into()
    })
}

/// Refuses a task beside projects that it is in none of.
pub fn check_task(task: Option<&TaskId>, projects: &[ProjectKey]) -> Result<(), Refusal> {
    match task {
        Some(id) if !projects.is_empty() && !projects.contains(&id.project) => {
            let detail = format!("{id} is in none of the projects that are named");
            Err(Refusal::new(Code::AmbiguousProject, detail).next("name the task alone"))
        }
        Some(_) | None => Ok(()),
    }
}

/// The projects that a caller names to take work from: at least one.
pub fn projects(set: &WorkingSet, keys: &[ProjectKey]) -> Step<Vec<Project>> {
    check_count("projects", keys.len(), LIST_ITEMS)?;
    if keys.is_empty() {
        return Err(Refusal::new(Code::AmbiguousProject, "neither a task nor a project is named").into());
    }
    keys.iter().map(|key| project(set, key)).collect()
}
