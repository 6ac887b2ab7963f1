//! After the storm: the clients' own logs against the store. What was acknowledged is there, once; what was refused
//! is not; what nobody could tell is there at most once; and nobody was owner beside somebody else.

use std::collections::{BTreeMap, BTreeSet};

use tenure_client::call::Client;
use tenure_core::model::event::{Event, EventKind};
use tenure_core::model::ids::{AttemptId, TaskId};

use crate::log::{Call, End};
use crate::ownership::{self, Claim};
use crate::store;

/// What was counted.
#[derive(Debug, Default, Clone, Copy)]
pub struct Figures {
    /// Calls that were acknowledged.
    pub acknowledged: usize,
    /// Calls that were refused.
    pub refused: usize,
    /// Calls whose outcome no client knows.
    pub unknown: usize,
    /// Of those, how many did happen.
    pub unknown_that_happened: usize,
    /// Events in the record.
    pub events: usize,
}

/// Compares all calls with the store, and panics at the first that does not fit.
#[must_use]
pub fn recount(client: &Client, calls: &[Call]) -> Figures {
    nobody_beside_an_owner(calls);
    recount_under_short_leases(client, calls)
}

/// The same where leases end meanwhile: who was owner when is for a history to judge.
#[must_use]
pub fn recount_under_short_leases(client: &Client, calls: &[Call]) -> Figures {
    store::verify(client);
    let events = store::events(client);
    let claims = ownership::play(&events);
    one_effect_per_operation(&events);
    let mut titles: BTreeMap<String, u32> = BTreeMap::new();
    for task in store::tasks(client) {
        *titles.entry(task.title).or_default() += 1;
    }
    let mut figures = Figures { events: events.len(), ..Figures::default() };
    let mut records = BTreeMap::new();
    for call in calls {
        let effects = match call.operation.as_str() {
            "task.create" => titles.get(call.asked("title")).copied().unwrap_or_default(),
            "note" => {
                let task = task_of(call);
                let texts = records.entry(task.clone()).or_insert_with(|| store::texts(client, &task));
                texts.get(call.asked("text")).copied().unwrap_or_default()
            }
            "claim" => claimed(call, &claims),
            "close" => ended(call, &claims, EventKind::TaskClosed),
            "release" => ended(call, &claims, EventKind::TaskReleased),
            other => panic!("no recount knows how to judge `{other}`"),
        };
        match &call.end {
            End::Ok { .. } => {
                assert_eq!(effects, 1, "acknowledged, and not there exactly once: {call:?}");
                figures.acknowledged += 1;
            }
            End::Refused { .. } => {
                // Somebody else may have ended the same task; what a refusal leaves is judged by its own texts.
                let own = matches!(call.operation.as_str(), "task.create" | "note");
                assert!(!own || effects == 0, "refused, and there: {call:?}");
                figures.refused += 1;
            }
            End::Unknown { .. } => {
                assert!(effects <= 1, "one call, several effects: {call:?}");
                figures.unknown += 1;
                figures.unknown_that_happened += effects as usize;
            }
        }
    }
    figures
}

/// The task that a call named.
fn task_of(call: &Call) -> TaskId {
    call.asked("task").parse().expect("the call names a task")
}

/// How many claims of the record an answered claim stands for. One that was never answered may have got any task.
fn claimed(call: &Call, claims: &BTreeMap<TaskId, Vec<Claim>>) -> u32 {
    let Some(answer) = call.answer() else { return 0 };
    let attempt: AttemptId =
        answer["attempt"].as_str().and_then(|id| id.parse().ok()).expect("a claim names its attempt");
    let found = claims.get(&attempt.task).into_iter().flatten().filter(|claim| claim.attempt == attempt);
    u32::try_from(found.count()).expect("few")
}

/// How often a task was ended so.
fn ended(call: &Call, claims: &BTreeMap<TaskId, Vec<Claim>>, kind: EventKind) -> u32 {
    let of_task = claims.get(&task_of(call));
    let found = of_task.into_iter().flatten().filter(|claim| claim.ended == Some(kind));
    let count = u32::try_from(found.count()).expect("few");
    // A task can be given back many times, by one call each.
    if kind == EventKind::TaskReleased { count.min(1) } else { count }
}

/// The events of one operation id stand together and say nothing twice.
pub fn one_effect_per_operation(events: &[Event]) {
    let mut last_of = BTreeMap::new();
    let mut said = BTreeSet::new();
    for event in events {
        let (Some(operation), Some(principal)) = (&event.actor.operation, &event.actor.principal) else {
            continue;
        };
        let operation = (principal.clone(), operation.clone());
        let fact = (operation.clone(), event.kind.as_str(), event.task.clone(), event.data.to_string());
        assert!(said.insert(fact), "an operation had its effect twice: {event:?}");
        let before = last_of.insert(operation, event.number.0);
        let is_next = before.is_none_or(|before| before + 1 == event.number.0);
        assert!(is_next, "an operation had effects at two moments: {event:?}");
    }
}

/// By the clients' own clocks: from the answer of a claim until the holder asked to end it, nobody else was
/// answered that the same task is theirs.
pub fn nobody_beside_an_owner(calls: &[Call]) {
    let mut spans: BTreeMap<String, Vec<(i64, i64, &str, &str)>> = BTreeMap::new();
    let mut ends: BTreeMap<(&str, &str), Vec<i64>> = BTreeMap::new();
    for call in calls.iter().filter(|call| matches!(call.operation.as_str(), "close" | "release")) {
        ends.entry((&call.agent, call.asked("task"))).or_default().push(call.invoked);
    }
    for call in calls.iter().filter(|call| call.operation == "claim") {
        let Some(answer) = call.answer() else { continue };
        let attempt = answer["attempt"].as_str().expect("a claim names its attempt");
        let task = attempt.split('@').next().expect("a task and a generation").to_owned();
        let from = call.returned.expect("it was answered");
        let own = ends.get(&(call.agent.as_str(), task.as_str())).into_iter().flatten();
        let until = own.filter(|end| **end >= from).min().copied().unwrap_or(i64::MAX);
        spans.entry(task).or_default().push((from, until, &call.agent, attempt));
    }
    for (task, mut spans) in spans {
        spans.sort_unstable();
        for pair in spans.windows(2) {
            let same = pair[0].2 == pair[1].2 && pair[0].3 == pair[1].3;
            assert!(same || pair[0].1 <= pair[1].0, "{task} had two owners: {pair:?}");
        }
    }
}
