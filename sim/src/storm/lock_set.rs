//! The lock-set workload on the engine and a fake clock: five clients, two-second leases, one list.

use serde_json::json;
use tenure_core::model::ids::TaskId;
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::record::History;

use super::agent::{Pending, Record, operation};
use super::check::ask;
use super::coordinator::Coordinator;
use super::store::{Plan, Store};
use super::time::{Agenda, Machine};
use super::world::FLEET;
use crate::history::lock_set::{Counted, list, with};
use crate::place::PROJECT;
use crate::seed::Seed;

const CLIENTS: usize = 5;
const LEASE_MS: i64 = 2_000;
const LASTS_MS: i64 = 150_000;
/// How long a client thinks between reading and writing: mostly shortly, and every fourth time for longer than its
/// lease.
const THINK_MS: u64 = 300;

/// What a client does next.
enum Step {
    Claim,
    Read,
    /// Writes what it has read with its own number, sure to hold the lock or not.
    Write(Vec<u64>, bool),
    Release,
}

struct Set {
    store: Store,
    machine: Machine,
    coordinator: Coordinator<()>,
    records: Vec<Record>,
    agenda: Agenda<(usize, Step)>,
    requests: u64,
}

impl Set {
    /// Asks for one operation and is answered at once.
    fn call(&mut self, client: usize, name: &str, input: serde_json::Value) -> Result<String, Refusal> {
        self.requests += 1;
        let record = &mut self.records[client];
        let mut request = Pending::new(self.requests, operation(name, input));
        request.fence = record.fence(&task()).filter(|_| matches!(name, "checkpoint" | "release"));
        let clocks = self.machine.clocks(self.agenda.now);
        let done =
            self.coordinator.commit(&mut self.store, clocks, Plan::Sound, vec![record.command(&request)]);
        let answer = done.outcome.expect("the store is sound").remove(0);
        record.take_answer(&request, &answer, self.agenda.now);
        answer
    }

    fn read(&mut self) -> Vec<u64> {
        list(&ask(&mut self.store, History { task: task(), limit: Some(1) }).entries)
    }
}

fn task() -> TaskId {
    format!("{PROJECT}-1").parse().expect("a key and a number")
}

/// Plays the workload of a seed.
#[must_use]
pub fn play(seed: u64) -> Counted {
    let mut dice = Seed::of(seed, 2);
    let mut store = Store::in_memory();
    let machine = Machine::default();
    let durations = Durations { lease_ms_min: 1, ..Durations::default() };
    let coordinator = Coordinator::start(&mut store, FLEET, machine.clocks(0), 1, durations);
    let names = (0..CLIENTS).map(|client| format!("client-{client}").parse().expect("a valid name"));
    let records = names.map(|name| Record::draw(&name, &mut dice)).collect();
    let agenda = Agenda::of_grain(1);
    let mut set = Set { store, machine, coordinator, records, agenda, requests: 0 };
    for client in 0..CLIENTS {
        let (name, input) = set.records[client].opening();
        set.call(client, name, input).expect("a session opens");
        set.agenda.note(0, (client, Step::Claim));
    }
    set.call(0, "project.create", json!({ "key": PROJECT, "policy": { "lease_ms": LEASE_MS } }))
        .expect("made");
    set.call(0, "task.create", json!({ "project": PROJECT, "title": "a list" })).expect("made");
    let (mut acknowledged, mut stale_refused) = (Vec::new(), 0);
    while let Some((client, step)) = set.agenda.next().filter(|_| set.agenda.now < LASTS_MS) {
        let mut below = |limit| i64::try_from(dice.below(limit)).expect("small");
        let (pause, next) = match step {
            Step::Claim => match set.call(client, "claim", json!({ "task": task() })) {
                Ok(_) => (1 + below(THINK_MS), Step::Read),
                Err(_) => (1 + below(THINK_MS), Step::Claim),
            },
            Step::Read => {
                let overslept = below(4) == 0;
                let long = if overslept { LEASE_MS } else { 0 };
                (long + 1 + below(THINK_MS), Step::Write(set.read(), !overslept))
            }
            Step::Write(read, is_sure) => {
                let number = set.requests;
                match set.call(client, "checkpoint", json!({ "task": task(), "text": with(read, number) })) {
                    Ok(_) => {
                        acknowledged.push(number);
                        // Who overslept has nothing to give back.
                        (1, if is_sure { Step::Release } else { Step::Claim })
                    }
                    Err(refusal) => {
                        let late = matches!(refusal.code, Code::LeaseExpired | Code::Superseded);
                        stale_refused += usize::from(late);
                        (1, Step::Claim)
                    }
                }
            }
            Step::Release => {
                set.call(client, "release", json!({ "task": task() })).expect("a holder in time gives back");
                (1 + below(THINK_MS), Step::Claim)
            }
        };
        set.agenda.note(pause, (client, next));
    }
    Counted::of(&acknowledged, &set.read(), stale_refused)
}
