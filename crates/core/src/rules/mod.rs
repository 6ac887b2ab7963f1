//! The rules: pure decisions. A rule reads and writes the working set; the engine loads, takes back and stores.

use crate::envelope::Call;
use crate::model::ids::SessionId;
use crate::model::refusal::{Code, Refusal};
use crate::model::session::Session;
use crate::operation::Operation;
use crate::operation::view::AsOf;
use crate::working_set::{Need, Step, WorkingSet};
use patience::Patience;

pub mod account;
pub mod at_least;
pub mod attention;
pub mod cancel;
pub mod choice;
pub mod claim;
pub mod commits;
pub mod create;
pub mod cycle;
pub mod digest;
pub mod eligibility;
pub mod explain;
pub mod fence;
pub mod fields;
pub mod finish;
pub mod graph;
pub mod holding;
pub mod label;
pub mod lookup;
pub mod named;
pub mod next;
pub mod password;
pub mod patience;
pub mod project;
pub mod queue;
pub mod readiness;
pub mod record;
pub mod reporter;
pub mod restore;
pub mod search;
pub mod session;
pub mod status;
pub mod task;
pub mod token;
pub mod view;
pub mod wait;
pub mod whoami;

/// How an operation is decided.
pub trait Rule: Operation {
    /// What it will surely need, so that a batch can load it for all its commands at once. Only a hint: what is
    /// missing is loaded when the rule asks for it.
    fn scope(&self, _call: &Call) -> Vec<Need> {
        Vec::new()
    }

    /// How long its caller lets it wait for another outcome than a refusal, and what may bring one.
    fn patience(&self) -> Option<Patience> {
        None
    }

    /// Decides. A refusal leaves nothing behind, whatever was written to the working set before it.
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Self::Answer>;
}

/// The session that calls. The engine has authenticated it before any rule of a session runs.
fn caller(call: &Call) -> Step<&Session> {
    call.session
        .as_ref()
        .ok_or_else(|| Refusal::new(Code::SessionRequired, "the call names no session").into())
}

/// The state that an answer is true at.
fn as_of(set: &WorkingSet, call: &Call) -> AsOf {
    AsOf { event: set.fleet.last(), fleet_time: call.now.fleet }
}

/// The session that the caller names, for scopes: they say what to load before anybody is authenticated, and decide nothing.
fn calling_session(call: &Call) -> Option<SessionId> {
    call.envelope.caller.as_ref().map(|caller| caller.session.clone())
}

/// How many of the rows a page has room for: all where the caller said how many, else as many as make a short answer.
fn room<'a, T: serde::Serialize + 'a>(
    rows: impl IntoIterator<Item = &'a T>,
    limit: Option<u32>,
    bytes: usize,
) -> usize {
    let mut left = bytes;
    let mut fits = |row: &T| {
        let size = serde_json::to_string(row).expect("rows are plain data and always serialise").len();
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    match limit {
        Some(_) => rows.into_iter().count(),
        // The first stands there however long it is.
        None => rows.into_iter().enumerate().take_while(|(place, row)| fits(row) || *place == 0).count(),
    }
}

/// How many rows a list shows: what was asked for, within the limit.
fn page_rows(limit: Option<u32>) -> Result<u32, Refusal> {
    rows_within(limit, crate::model::limits::PAGE_ROWS, "ask in pages")
}

/// The same for a list that has a limit of its own.
fn rows_within(limit: Option<u32>, most: u32, remedy: &str) -> Result<u32, Refusal> {
    match limit {
        None => Ok(crate::model::limits::PAGE_ROWS_DEFAULT),
        Some(rows) if (1..=most).contains(&rows) => Ok(rows),
        Some(rows) => Err(Refusal::field("limit", &format!("is {rows}, not 1 to {most}"), remedy)),
    }
}
