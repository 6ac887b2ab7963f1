//! What tests begin with, through the same doors as everybody's: a project, and many tasks at once by an import.

use tenure_core::operation::project::{CreateProject, PolicyInput};
use tenure_core::operation::record::{ApplyImport, ImportFormat};

use crate::agent::Agent;
use crate::store;

/// Creates the project that tests work in.
pub fn create_project(agent: &Agent) {
    let policy = PolicyInput::default();
    agent.ask(&CreateProject { key: store::project(), name: None, policy }).ok();
}

/// Creates so many ready tasks.
pub fn tasks(agent: &Agent, count: usize) {
    let mut text = String::new();
    for number in 1..=count {
        text.push_str(&format!(
            "{{\"id\":\"fill-{number}\",\"title\":\"fill {number}\",\"status\":\"open\",\"priority\":2,\
             \"issue_type\":\"task\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T00:00:00Z\"}}\n"
        ));
    }
    let import = ApplyImport { project: Some(store::project()), format: ImportFormat::Beads, text };
    agent.ask(&import).ok();
    assert_eq!(store::ready_total(&agent.client), count as u64, "all of them are ready");
}
