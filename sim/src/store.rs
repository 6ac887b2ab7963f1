//! What the store says through its public surface, read whole.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_client::call::Client;
use tenure_core::model::event::Event;
use tenure_core::model::ids::{ProjectKey, TaskId};
use tenure_core::operation::project::ListProjects;
use tenure_core::operation::queue::Ready;
use tenure_core::operation::record::{History, ListEvents, Statistics};
use tenure_core::operation::task::ListTasks;
use tenure_core::operation::view::{AsOf, TaskSummary};

use crate::place::PROJECT;

/// The project that tests work in.
#[must_use]
pub fn project() -> ProjectKey {
    PROJECT.parse().expect("a valid key")
}

/// Every event, in order.
#[must_use]
pub fn events(client: &Client) -> Vec<Event> {
    let mut events = Vec::new();
    let mut after = None;
    loop {
        let page = client.call(&ListEvents { after, newest: false, task: None, limit: Some(1000) }, None);
        let page = page.expect("events can be listed").value;
        events.extend(page.events);
        after = Some(page.cursor);
        if !page.more {
            return events;
        }
    }
}

/// Every task of the project, by number.
#[must_use]
pub fn tasks(client: &Client) -> Vec<TaskSummary> {
    let mut tasks = Vec::new();
    let mut cursor = None;
    loop {
        let question = ListTasks {
            project: project(),
            lifecycle: None,
            labels: Vec::new(),
            archived: true,
            limit: Some(1000),
            cursor,
        };
        let page = client.call(&question, None).expect("tasks can be listed").value;
        tasks.extend(page.tasks);
        cursor = page.cursor;
        if cursor.is_none() {
            return tasks;
        }
    }
}

/// How often each text stands in a task's record.
#[must_use]
pub fn texts(client: &Client, task: &TaskId) -> BTreeMap<String, u32> {
    let question = History { task: task.clone(), limit: Some(1000) };
    let history = client.call(&question, None).expect("a record can be read").value;
    assert_eq!(history.total, history.entries.len() as u64, "{task} has more entries than were read");
    let mut texts = BTreeMap::new();
    for entry in history.entries {
        *texts.entry(entry.text).or_default() += 1;
    }
    texts
}

/// The keys of all projects.
#[must_use]
pub fn projects(client: &Client) -> Vec<String> {
    let question = ListProjects { limit: Some(1000), cursor: None };
    let listed = client.call(&question, None).expect("projects can be listed").value;
    assert_eq!(listed.cursor, None, "there are more projects than were read");
    listed.projects.into_iter().map(|project| project.key.to_string()).collect()
}

/// The committed state at this moment.
#[must_use]
pub fn as_of(client: &Client) -> AsOf {
    client.call(&Statistics::default(), None).expect("statistics can be read").value.as_of
}

/// How many tasks are ready.
#[must_use]
pub fn ready_total(client: &Client) -> u64 {
    let question = Ready { project: project(), limit: Some(1), cursor: None };
    client.call(&question, None).expect("the queue can be read").value.total
}

/// Verifies the chain of events and receipts.
pub fn verify(client: &Client) {
    let report = client.get("/api/v1/audit").expect("the record can be verified");
    let report: Value = serde_json::from_slice(&report).expect("the report is JSON");
    assert_eq!(report["intact"], true, "{report}");
}
