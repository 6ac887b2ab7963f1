//! The daemon in a storm: what waits is committed in groups, time is committed while leases live, and it can die at
//! any moment. It does what the writer's thread does, in steps.

use tenure_core::envelope::Envelope;
use tenure_core::model::event::Fleet;
use tenure_core::model::limits::Durations;
use tenure_core::model::refusal::Refusal;
use tenure_core::operation::record::RecordOverdue;
use tenure_engine::Command;
use tenure_engine::clock::{Clocks, FleetClock};
use tenure_engine::execute::{prepare, run_batch};
use tenure_engine::store::driver::{Class, Driver, StoreError};
use tenure_engine::store::queue;

use super::store::{Plan, Store};
use super::time::Shown;

/// A command that waits, and for whom.
#[derive(Debug, Clone)]
pub struct Waiting<C> {
    /// Who waits. The coordinator's own commands have nobody.
    pub caller: Option<C>,
    /// What is asked.
    pub command: Command,
}

/// What a batch came to.
pub struct Done {
    /// The answers, or why there are none.
    pub outcome: Result<Vec<Result<String, Refusal>>, StoreError>,
    /// The latest fleet time that this process's clock allows.
    pub time_max: i64,
}

/// A process of the coordinator.
pub struct Coordinator<C> {
    /// Which process it is; raised by every start.
    pub life: u64,
    /// What waits for a commit.
    pub queue: Vec<Waiting<C>>,
    /// Whether the next commit is on the agenda.
    pub is_committing: bool,
    clock: FleetClock,
    fleet: Fleet,
    joined: (i64, i64),
    durations: Durations,
    dead: Option<StoreError>,
}

/// Most wall time that a join adds.
const JOIN_MS_MAX: i64 = 5_000;

impl<C> Coordinator<C> {
    /// Starts a process on a store. A store that is new becomes this fleet's.
    pub fn start(store: &mut Store, fleet: &str, clocks: Shown, life: u64, durations: Durations) -> Self {
        let fleet =
            prepare(store, &clocks, || Ok(fleet.to_owned())).expect("the store is sound between faults");
        let clock = FleetClock::join(&fleet, &clocks);
        let joined = (fleet.time.0, clocks.monotonic_ms());
        Self { life, queue: Vec::new(), is_committing: false, clock, fleet, joined, durations, dead: None }
    }

    /// Runs commands as one batch.
    pub fn commit(&mut self, store: &mut Store, clocks: Shown, plan: Plan, commands: Vec<Command>) -> Done {
        let (stored, joined) = self.joined;
        let time_max = stored + JOIN_MS_MAX + clocks.monotonic_ms() - joined;
        if let Some(error) = &self.dead {
            return Done { outcome: Err(error.clone()), time_max };
        }
        store.meet(plan);
        let driver: &mut dyn Driver = store;
        let outcome = run_batch(driver, &self.clock, &clocks, commands, None, self.durations);
        let outcome = outcome.map(|committed| {
            self.fleet = committed.fleet;
            committed.answers
        });
        if let Err(error) = &outcome {
            match error.class {
                Class::Sync => self.dead = Some(error.clone()),
                Class::Lost | Class::Io => store.reconnect(),
                Class::Busy | Class::Full => {}
                Class::ReadOnly | Class::Corrupt | Class::NewerSchema | Class::Other => {
                    panic!("the storm makes no such error: {error}")
                }
            }
        }
        Done { outcome, time_max }
    }

    /// Whether it must be started anew before it does anything.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead.is_some()
    }

    /// Queues the background work that is due. Says whether a commit is called for.
    pub fn tick(&mut self, store: &mut Store, clocks: Shown) -> bool {
        let now = self.clock.now(&self.fleet, &clocks);
        if queue::any_overdue(store, now).expect("the store is sound between faults") {
            let id = format!("overdue-{}-{}-{}", self.fleet.epoch, self.fleet.event, self.fleet.time.0);
            let operation_id = Some(id.parse().expect("letters, digits and hyphens"));
            let envelope = Envelope { operation_id, ..Envelope::default() };
            let command = Command { operation: RecordOverdue {}.into(), envelope };
            self.queue.push(Waiting { caller: None, command });
            return true;
        }
        queue::any_live(store, self.fleet.time).expect("the store is sound between faults")
    }
}
