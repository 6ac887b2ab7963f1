//! Patience: how long a request may be asked again, what may bring another answer, and which refusals can pass.
//!
//! A rule never waits. It refuses, and whoever serves the caller asks again when there is news, for as long as the
//! caller's [`Patience`] lasts.

use serde_json::Value;

use crate::model::ids::{ProjectKey, TaskId};
use crate::model::limits::WAIT_MS_MAX;
use crate::model::refusal::{Code, Refusal};
use crate::model::status::Status;

/// How long a request may wait, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// Milliseconds.
    pub wait_ms: i64,
    /// What may bring another outcome.
    pub topic: Topic,
}

/// What those who wait are woken by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// Something happens to a task.
    Task(TaskId),
    /// Work that can perhaps be taken in one of these projects. One who waits is woken per freed task.
    Work(Vec<ProjectKey>),
}

impl Patience {
    /// The patience of a request that names a time, within the limit, and a task or projects.
    #[must_use]
    pub fn new(wait_ms: Option<i64>, task: Option<&TaskId>, projects: &[ProjectKey]) -> Option<Self> {
        let wait_ms = wait_ms.filter(|wait_ms| (1..=WAIT_MS_MAX).contains(wait_ms))?;
        let topic = task.map_or_else(|| Topic::Work(projects.to_vec()), |task| Topic::Task(task.clone()));
        Some(Self { wait_ms, topic })
    }

    /// Whether a refusal may become another answer by waiting.
    #[must_use]
    pub fn is_worth_it(refusal: &Refusal) -> bool {
        PASSING.contains(&refusal.code) && !names_what_is_never_claimed(refusal)
    }
}

/// Refusals that time or the work of others can end.
const PASSING: [Code; 6] = [
    Code::NothingEligible,
    Code::NotYet,
    Code::NotReady,
    Code::LimitReached,
    Code::LeaseHeld,
    Code::Reserved,
];

/// Whether a refusal is about a task that is over, or about an objective: neither will be claimed.
fn names_what_is_never_claimed(refusal: &Refusal) -> bool {
    let status = refusal.facts.get("status").and_then(Value::as_str).and_then(|status| status.parse().ok());
    let never = [Status::Done, Status::Cancelled, Status::Archived, Status::WaitingChildren, Status::Ready];
    refusal.code == Code::NotReady && status.is_some_and(|status| never.contains(&status))
}

/// Refuses a time to wait that is out of bounds.
pub fn check_wait(wait_ms: Option<i64>) -> Result<(), Refusal> {
    match wait_ms {
        Some(wait_ms) if !(0..=WAIT_MS_MAX).contains(&wait_ms) => {
            let wrong = format!("is {wait_ms}, not 0 to {WAIT_MS_MAX}");
            Err(Refusal::field("wait_ms", &wrong, "name a time within the limit, and ask again for more"))
        }
        Some(_) | None => Ok(()),
    }
}
