//! Projects, the places bound to them, and their tallies.

use tenure_core::model::project::{Binding, Project, Tally};
use tenure_core::model::time::WallTime;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static PROJECT: Shape = Shape::new(
    "project",
    &["key", "name", "policy", "agents_may", "revision", "tasks_issued", "created_at"],
    1,
    1,
);
static BINDING: Shape = Shape::new("binding", &["repository", "folder", "project"], 2, 2);
static TALLY: Shape = Shape::new("tally", &["project", "queue", "count"], 2, 2);

/// Projects by key.
pub static BY_KEY: Lookup = Lookup::new(&PROJECT, &["key"], "");
/// Bindings by repository.
pub static BINDINGS: Lookup = Lookup::new(&BINDING, &["repository"], "");
/// Tallies by project.
pub static TALLIES: Lookup = Lookup::new(&TALLY, &["project"], "");

impl Stored for Project {
    fn shape() -> &'static Shape {
        &PROJECT
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            key: fields.parse()?,
            name: fields.text()?.to_owned(),
            policy: fields.json()?,
            agents_may: fields.json()?,
            revision: fields.count()?,
            tasks_issued: fields.count()?,
            created_at: WallTime(fields.integer()?),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.key.as_str());
        values.text(&self.name);
        values.json(&self.policy);
        values.json(&self.agents_may);
        values.count(self.revision);
        values.count(self.tasks_issued);
        values.integer(self.created_at.0);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}

impl Stored for Binding {
    fn shape() -> &'static Shape {
        &BINDING
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            repository: fields.text()?.to_owned(),
            folder: fields.text()?.to_owned(),
            project: fields.parse()?,
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(&self.repository);
        values.text(&self.folder);
        values.text(self.project.as_str());
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.text(key.0.clone());
        values.text(key.1.clone());
    }
}

impl Stored for Tally {
    fn shape() -> &'static Shape {
        &TALLY
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self { project: fields.parse()?, queue: fields.parse()?, count: fields.count()? })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.project.as_str());
        values.text(self.queue.as_str());
        values.count(self.count);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(&key.0);
        values.text(key.1.as_str());
    }
}

/// Every binding, in the order of their places.
pub fn every_binding(driver: &mut dyn Driver) -> Result<Vec<Binding>, StoreError> {
    let mut bindings = Vec::new();
    driver.query(&BINDING.select(), &[], &mut |row| {
        bindings.push(Binding::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    bindings.sort();
    Ok(bindings)
}

/// Every project, by key.
pub fn every_project(driver: &mut dyn Driver) -> Result<Vec<Project>, StoreError> {
    let mut projects = Vec::new();
    driver.query(&PROJECT.select(), &[], &mut |row| {
        projects.push(Project::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    projects.sort_by(|a: &Project, b| a.key.cmp(&b.key));
    Ok(projects)
}
