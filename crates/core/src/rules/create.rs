//! Creating a task: a number of its own, its names, its edges, and what it may be a duplicate of.

use std::collections::BTreeSet;

use serde_json::json;

use super::cycle::{check_parent, check_wait};
use super::fields::{check_criteria, check_lines, check_title, set_criteria};
use super::readiness::{count_new, put};
use super::view::full;
use super::{Rule, named};
use crate::envelope::Call;
use crate::model::dependency::{Dependency, DependencyKind};
use crate::model::event::EventKind;
use crate::model::ids::{Generation, TaskId};
use crate::model::limits::{LIST_ITEMS, TEXT_BYTES, check_count, check_line, check_text, excerpt};
use crate::model::project::Project;
use crate::model::refusal::{Code, Refusal};
use crate::model::task::{Alias, Body, Details, Kind, Lifecycle, Task, folded_title, is_same_title};
use crate::operation::task::{CreateTask, CreatedTask};
use crate::working_set::{About, Need, Page, Step, WorkingSet, together};

/// How many likely duplicates are told.
const DUPLICATES_TOLD: usize = 5;

impl Rule for CreateTask {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        let mut needs = vec![
            Need::Project(self.project.clone()),
            Need::Tallies(self.project.clone()),
            Need::Page(titled(&self.project, &self.title)),
        ];
        let names = self.aliases.iter().chain(&self.references).chain(&self.source);
        needs.extend(names.map(|name| Need::Alias(self.project.clone(), name.clone())));
        for other in self.blocked_by.iter().chain(&self.parents) {
            needs.extend([Need::Task(other.clone()), Need::DependenciesOf(other.clone())]);
        }
        needs
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<CreatedTask> {
        self.check()?;
        let project = named::project(set, &self.project)?;
        let likely_duplicates = self.likely_duplicates(set)?;
        let id = TaskId { project: project.key.clone(), number: project.tasks_issued + 1 };
        set.projects.put(Project { tasks_issued: id.number, ..project });
        introduce(set, &id);
        put(set, call.now, self.row(&id, call))?;
        set.bodies.put(self.body(&id, call));
        let data =
            json!({ "title": self.title, "kind": self.kind.unwrap_or(Kind::Code), "planned": self.planned });
        set.record(EventKind::TaskCreated, About::task(&id, data));
        for alias in &self.aliases {
            name(set, &id, alias)?;
        }
        self.connect(set, &id)?;
        count_new(set, call.now, &BTreeSet::from([id.clone()]))?;
        Ok(CreatedTask { task: full(set, call, &id)?, likely_duplicates })
    }
}

fn titled(project: &crate::model::ids::ProjectKey, title: &str) -> Page {
    Page::Titled { project: project.clone(), title: folded_title(title) }
}

/// A number that was never issued has no rows anywhere: nothing of it needs to be asked for.
pub fn introduce(set: &mut WorkingSet, id: &TaskId) {
    use crate::working_set::records::{AttemptIndex, Side};
    set.tasks.load_absent(id.clone());
    set.bodies.load_absent(id.clone());
    set.aliases.cover(id.clone());
    set.dependencies.cover(Side::Of(id.clone()));
    set.dependencies.cover(Side::On(id.clone()));
    set.blockers.cover(id.clone());
    set.attempts.cover(AttemptIndex::Task(id.clone()));
    set.entries.cover(id.clone());
}

/// Gives a task another name, which nobody else has in the project.
fn name(set: &mut WorkingSet, id: &TaskId, alias: &str) -> Step<()> {
    if let Some(taken) = set.alias(&id.project, alias)? {
        let detail = format!("the alias {:?} belongs to {} already", excerpt(alias), taken.task);
        return Err(Refusal::new(Code::AlreadyExists, detail).fact("task", taken.task.to_string()).into());
    }
    set.aliases.put(Alias { project: id.project.clone(), alias: alias.to_owned(), task: id.clone() });
    Ok(())
}

impl CreateTask {
    fn check(&self) -> Result<(), Refusal> {
        check_title(&self.title)?;
        check_text("description", self.description.as_deref().unwrap_or(""), TEXT_BYTES, true)?;
        check_criteria(&self.criteria)?;
        let lists = [
            ("labels", &self.labels),
            ("specs", &self.specs),
            ("references", &self.references),
            ("aliases", &self.aliases),
            ("touches", &self.touches),
            ("resources", &self.resources),
        ];
        for (field, lines) in lists {
            check_lines(field, lines)?;
        }
        // Ids and aliases are typed in the same place, and an id is never given to another task.
        let is_id = |alias: &&String| alias.parse::<TaskId>().is_ok_and(|id| id.project == self.project);
        if let Some(alias) = self.aliases.iter().find(is_id) {
            let wrong = format!("names {alias}, which is the id of a task of {}", self.project);
            return Err(Refusal::field("aliases", &wrong, "choose a name that is no task id here"));
        }
        for (field, line) in [("source", &self.source), ("source_revision", &self.source_revision)] {
            line.iter().try_for_each(|line| check_line(field, line))?;
        }
        check_count("requires", self.requires.len(), LIST_ITEMS)?;
        check_count("blocked_by", self.blocked_by.len(), LIST_ITEMS)?;
        check_count("parents", self.parents.len(), LIST_ITEMS)
    }

    fn row(&self, id: &TaskId, call: &Call) -> Task {
        Task {
            id: id.clone(),
            lifecycle: if self.planned { Lifecycle::Planned } else { Lifecycle::Open },
            resolution: None,
            successor: None,
            kind: self.kind.unwrap_or(Kind::Code),
            priority: self.priority.unwrap_or_default(),
            archived: false,
            revision: 1,
            generation: Generation(0),
            held: false,
            own_blockers: 0,
            outer_blockers: 0,
            inherited_blockers: 0,
            ready_at: call.now.fleet,
            deferred_until: None,
            reserved: None,
            requires: self.requires.clone(),
        }
    }

    fn body(&self, id: &TaskId, call: &Call) -> Body {
        let mut details = Details {
            labels: self.labels.clone(),
            specs: self.specs.clone(),
            source: self.source.clone(),
            source_revision: self.source_revision.clone(),
            references: self.references.clone(),
            touches: self.touches.clone(),
            resources: self.resources.clone(),
            ..Details::default()
        };
        // The task's own number was never handed out, so nobody knows ids of its criteria.
        set_criteria(&mut details, &self.criteria, |given| given + 1);
        Body {
            task: id.clone(),
            title: self.title.clone(),
            description: self.description.clone().unwrap_or_default(),
            details,
            created_at: call.now.wall,
            updated_at: call.now.wall,
        }
    }

    fn likely_duplicates(&self, set: &WorkingSet) -> Step<Vec<TaskId>> {
        let same = set.page(&titled(&self.project, &self.title))?.tasks();
        // The page tells what was stored before this batch.
        let written = set
            .bodies
            .dirty()
            .filter_map(|(_, body)| body)
            .filter(|body| body.task.project == self.project && is_same_title(&body.title, &self.title));
        let names = self.references.iter().chain(&self.source);
        let named = together(names.map(|name| set.alias(&self.project, name)))?;
        let mut told = BTreeSet::new();
        let same = same.iter().cloned().chain(written.map(|body| body.task.clone()));
        let found = same.chain(named.into_iter().flatten().map(|alias| alias.task));
        Ok(found.filter(|id| told.insert(id.clone())).take(DUPLICATES_TOLD).collect())
    }

    /// Puts the new task's edges in place. Only a task with parents can close a circle: nothing else leads to it.
    fn connect(&self, set: &mut WorkingSet, id: &TaskId) -> Step<()> {
        let waits = self.blocked_by.iter().map(|on| (DependencyKind::Blocks, on));
        let parents = self.parents.iter().map(|on| (DependencyKind::Parent, on));
        let found = self.discovered_from.iter().map(|on| (DependencyKind::DiscoveredFrom, on));
        for (kind, on) in waits.chain(parents).chain(found) {
            if on == id {
                return Err(Refusal::not_found("task", on).into());
            }
            let other = set.existing_task(on)?;
            if other.archived || (kind == DependencyKind::Parent && other.lifecycle.is_finished()) {
                let what = if other.archived { "archived" } else { other.lifecycle.as_str() };
                return Err(Refusal::new(Code::StateConflict, format!("{on} is {what}"))
                    .next("name another")
                    .into());
            }
            set.dependencies.load_absent((id.clone(), kind, on.clone()));
            set.dependencies.put(Dependency { task: id.clone(), kind, on: on.clone(), optional: false });
        }
        if self.parents.is_empty() {
            return Ok(());
        }
        for parent in &self.parents {
            check_parent(set, id, parent)?;
        }
        for on in &self.blocked_by {
            check_wait(set, id, on)?;
        }
        Ok(())
    }
}
