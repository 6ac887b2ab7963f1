//! The store that a day begins with: finished tasks in every project, some open ones, and a project of tasks that are
//! held all day.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use tenure_core::operation::project::CreateProject;
use tenure_core::operation::record::ApplyImport;
use tenure_engine::store::driver::Driver;

use super::super::fleet::{Agents, Store, input, operation_id};
use super::{FINISHED, HOLDERS, PROJECTS};

/// How many open tasks a project begins with.
const OPEN: usize = 50;
/// The project whose tasks are held all day.
pub const HELD: &str = "held";

/// A project's key.
pub fn project(number: usize) -> String {
    format!("load-{}", number % PROJECTS)
}

/// Fills the store in a folder.
pub fn fill(folder: &Path, agents: &Agents) -> Result<(), String> {
    let mut store = Store::to_fill(folder, agents)?;
    let mut ids = (0..).map(|number| operation_id("past", number));
    let mut id = || ids.next().expect("numbers do not end");
    let first = agents.some(1).next().ok_or("there are no agents")?;
    let parts = (0..PROJECTS).map(|number| (project(number), FINISHED / PROJECTS, OPEN));
    for (key, finished, open) in parts.chain([(HELD.to_owned(), 0, HOLDERS)]) {
        let create: CreateProject = input(json!({ "key": key }))?;
        store.run(vec![first.command(create.into(), id()?)])?;
        let import: ApplyImport =
            input(json!({ "project": key, "format": "beads", "text": export(&key, finished, open) }))?;
        store.run(vec![first.command(import.into(), id()?)])?;
        eprintln!("bench: {key} has {finished} finished tasks and {open} open ones");
    }
    store.driver.settle().map_err(|error| error.to_string())
}

/// An export of another tracker.
fn export(key: &str, finished: usize, open: usize) -> String {
    let mut text = String::new();
    for number in 0..finished + open {
        let is_finished = number < finished;
        let mut line = json!({
            "id": format!("{key}-old-{number}"),
            "title": format!("Let the importer keep the order of what it reads, part {number}"),
            "description": "What is read first must be written first, also when two readers work at once.",
            "status": if is_finished { "closed" } else { "open" },
            "priority": number % 5,
            "issue_type": "task",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-02T00:00:00Z",
        });
        if is_finished {
            line["closed_at"] = json!("2026-01-02T00:00:00Z");
        }
        let _ = writeln!(text, "{line}");
    }
    text
}
