//! What happens to commands: one transaction for a batch, each command all or nothing.
//!
//! This is a plain function of a store, the clocks and the commands. The writer's thread is a shell around it;
//! simulation and tests call exactly what production calls. Only this file begins a write.

use tenure_core::envelope::{Call, Envelope};
use tenure_core::model::event::{EventKind, Fleet, Receipt};
use tenure_core::model::ids::{Digest, Epoch, EventNumber};
use tenure_core::model::limits::{Durations, GRAPH_WALK_TASKS};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::{FleetTime, Now, WallTime};
use tenure_core::mutant::Mutant;
use tenure_core::operation::Effect;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::rules::at_least;
use tenure_core::working_set::{About, Need, News, Stop, WorkingSet};

use crate::admission::{admit, caller_needs, fingerprint, receipt_key};
use crate::clock::{Clocks, FleetClock};
use crate::store::batch::Store;
use crate::store::driver::{Driver, StoreError};
use crate::store::fill::fill;
use crate::store::load::load;
use crate::store::state::in_one_state;
use crate::store::{MIGRATIONS, fleet, flush, is_changed, schema_known};

/// How often a rule may ask for more before the engine gives up on its command: often enough for the longest walk
/// that the rules allow, which asks for its levels one by one.
pub(crate) const ROUNDS_MAX: usize = 4 * GRAPH_WALK_TASKS;
/// After so many rounds a rule that still asks for parts of the graph is taken to be walking through it.
const ROUNDS_AT_HAND: usize = 4;

/// Something to do, and what came beside it.
#[derive(Debug, Clone)]
pub struct Command {
    /// What is asked.
    pub operation: AnyOperation,
    /// Who asks, and what they hold.
    pub envelope: Envelope,
}

/// A batch that is durable.
#[derive(Debug)]
pub struct Committed {
    /// The answers as they are at the moment of the batch, in the order of the commands.
    pub answers: Vec<Result<String, Refusal>>,
    /// The fleet row as committed.
    pub fleet: Fleet,
    /// The last event before.
    pub before: EventNumber,
    /// What those who wait are to hear.
    pub news: News,
}

/// Who joins a batch once the store is locked for it.
pub type Join<'a> = &'a mut dyn FnMut() -> Vec<Command>;

/// Runs commands in one transaction and makes it durable. After an error nothing is known to have happened, and
/// nothing was answered: every caller asks again with the same id.
///
/// With `join`, the lock is waited for first, at the price of one round trip, and then `join` is asked for the commands that
/// came meanwhile: worth it for a store that others lock too.
pub fn run_batch<S: Store + ?Sized>(
    store: &mut S,
    clock: &FleetClock,
    clocks: &dyn Clocks,
    mut commands: Vec<Command>,
    join: Option<Join<'_>>,
    durations: Durations,
) -> Result<Committed, StoreError> {
    write(store, |store| {
        if let Some(join) = join {
            store.fleet()?;
            commands.extend(join());
        }
        if store.is_far() {
            let soon = clock.soon(clocks);
            let needs = commands.iter().flat_map(|command| first_needs(command, soon, durations)).collect();
            store.foresee(needs, soon)?;
        }
        let mut fleet = store.fleet()?;
        let before = fleet.event;
        let now = clock.now(&fleet, clocks);
        fleet.time = now.fleet;
        fleet.wall = now.wall;
        let mut set = WorkingSet::new(fleet);
        let answers = decide_all(store, &mut set, commands, now, durations)?;
        store.flush(&set)?;
        let news = News::of(&set);
        if !news.is_none(before) {
            store.announce(&news, before)?;
        }
        Ok(Committed { answers, news, fleet: set.fleet, before })
    })
}

/// Makes an empty store a fleet's, or brings an older one up to this version. Changes nothing otherwise.
pub fn prepare(
    driver: &mut dyn Driver,
    clocks: &dyn Clocks,
    new_id: impl FnOnce() -> Result<String, StoreError>,
) -> Result<Fleet, StoreError> {
    prepare_telling(driver, clocks, new_id, &mut || ())
}

/// The same. A large store takes its time; `told` hears now and then that it goes on.
pub fn prepare_telling(
    driver: &mut dyn Driver,
    clocks: &dyn Clocks,
    new_id: impl FnOnce() -> Result<String, StoreError>,
    told: &mut dyn FnMut(),
) -> Result<Fleet, StoreError> {
    if driver.schema()? == schema_known() {
        return fleet::existing(driver);
    }
    driver.begin_migration()?;
    finish(driver, |driver| {
        let from = migrate(driver)?;
        fill(driver, from, told)?;
        match fleet::load(driver)? {
            Some(fleet) => Ok(fleet),
            None => found(driver, new_id()?, WallTime(clocks.wall_ms())),
        }
    })
}

/// Brings a store's tables up to this version, and says from which schema.
fn migrate(driver: &mut dyn Driver) -> Result<u32, StoreError> {
    let from = driver.schema()?;
    for (number, sql) in (1..).zip(MIGRATIONS) {
        if from < number {
            driver.migrate(number, sql)?;
        }
    }
    Ok(from)
}

/// Makes the tables of a store that has none, or brings those of an older one up to this version, and lets `within` fill
/// them. One transaction: afterwards all of it is there, or nothing.
pub(crate) fn make<T, E: From<StoreError>>(
    driver: &mut dyn Driver,
    within: impl FnOnce(&mut dyn Driver) -> Result<T, E>,
) -> Result<T, E> {
    driver.begin_migration()?;
    finish(driver, |driver| {
        migrate(driver)?;
        within(driver)
    })
}

/// Creates the fleet row and the event that the chain begins with.
fn found(driver: &mut dyn Driver, id: String, wall: WallTime) -> Result<Fleet, StoreError> {
    let (epoch, time) = (Epoch(1), FleetTime(0));
    let fleet = Fleet { id, epoch, time, wall, event: EventNumber(0), head: Digest([0; 32]), floor: 0 };
    fleet::create(driver, &fleet)?;
    let data = serde_json::json!({ "fleet": fleet.id });
    let mut set = WorkingSet::new(fleet);
    set.record(EventKind::FleetCreated, About { data, ..About::default() });
    let now = Now { fleet: time, wall };
    let call = Call::new(epoch, now, Envelope::default(), Durations::default());
    set.keep(&call, None);
    flush(driver, &set)?;
    Ok(set.fleet)
}

/// Answers a question from one committed state. Leases are judged at the committed fleet time, dates at `wall`.
pub fn read(
    driver: &mut dyn Driver,
    operation: &AnyOperation,
    envelope: &Envelope,
    wall: WallTime,
    durations: Durations,
) -> Result<Result<String, Refusal>, StoreError> {
    in_one_state(driver, |driver, fleet| read_within(driver, fleet, operation, envelope, wall, durations))
}

/// The same within a state, of which this is the fleet row.
pub(crate) fn read_within(
    driver: &mut dyn Driver,
    fleet: Fleet,
    operation: &AnyOperation,
    envelope: &Envelope,
    wall: WallTime,
    durations: Durations,
) -> Result<Result<String, Refusal>, StoreError> {
    assert_eq!(operation.spec().effect, Effect::Read, "only questions are answered without a write");
    // Before anything else is looked at: what a state lacks that is behind may be the session that asks.
    if let Some(wanted) = envelope.at_least
        && let Err(refusal) = at_least::check(&fleet, wanted)
    {
        return Ok(Err(refusal));
    }
    let now = Now { fleet: fleet.time, wall };
    let mut set = WorkingSet::new(fleet);
    let mut call = Call::new(set.fleet.epoch, now, envelope.clone(), durations);
    load(driver, &mut set, caller_needs(&call), now)?;
    if let Err(refusal) = admit(&set, operation, &mut call, false) {
        return Ok(Err(refusal));
    }
    load(driver, &mut set, operation.scope(&call), now)?;
    let decided = decide(driver, &mut set, operation, &call)?;
    assert!(!is_changed(&set), "a question changed something: {}", operation.spec().name);
    Ok(decided)
}

/// Begins a write, does something in it, and makes it durable or takes it back.
pub(crate) fn write<S: Store + ?Sized, T>(
    store: &mut S,
    within: impl FnOnce(&mut S) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    store.begin_write()?;
    finish(store, within)
}

/// Does something in a write that has begun, and makes it durable or takes it back.
fn finish<S: Store + ?Sized, T, E: From<StoreError>>(
    store: &mut S,
    within: impl FnOnce(&mut S) -> Result<T, E>,
) -> Result<T, E> {
    let done = within(store).and_then(|done| Ok(store.commit().map(|()| done)?));
    if done.is_err() {
        // The first error says what happened; a failing rollback only means that the connection is of no more use.
        let _ = store.rollback();
    }
    done
}

/// What a command will need, as far as that is known before the store was asked for anything. Whether its caller is who
/// it says is judged later.
fn first_needs(command: &Command, now: Now, durations: Durations) -> Vec<Need> {
    let envelope = command.envelope.clone();
    let call = Call::new(envelope.epoch.unwrap_or(Epoch(0)), now, envelope, durations);
    [caller_needs(&call), command.operation.scope(&call)].concat()
}

fn decide_all<S: Store + ?Sized>(
    store: &mut S,
    set: &mut WorkingSet,
    commands: Vec<Command>,
    now: Now,
    durations: Durations,
) -> Result<Vec<Result<String, Refusal>>, StoreError> {
    let mut calls: Vec<(AnyOperation, Call)> = Vec::with_capacity(commands.len());
    for Command { operation, envelope } in commands {
        assert_ne!(operation.spec().effect, Effect::Read, "a question is not a command");
        calls.push((operation, Call::new(set.fleet.epoch, now, envelope, durations)));
    }
    prefetch(store, set, &mut calls, now)?;
    calls.into_iter().map(|(operation, call)| run(store, set, &operation, call)).collect()
}

/// Loads at once what all commands surely need: their sessions, then their receipts and scopes.
fn prefetch<S: Store + ?Sized>(
    store: &mut S,
    set: &mut WorkingSet,
    calls: &mut [(AnyOperation, Call)],
    now: Now,
) -> Result<(), StoreError> {
    let sessions: Vec<Need> = calls.iter().flat_map(|(_, call)| caller_needs(call)).collect();
    store.load(set, sessions, now)?;
    let mut needs = Vec::new();
    for (operation, call) in calls {
        if admit(set, operation, call, true).is_ok() {
            needs.extend(receipt_key(operation, call).map(|(principal, id)| Need::Receipt(principal, id)));
            needs.extend(operation.scope(call));
        }
    }
    store.load(set, needs, now)
}

/// Runs one command: it is answered and its changes are kept, or nothing happened.
fn run<S: Store + ?Sized>(
    store: &mut S,
    set: &mut WorkingSet,
    operation: &AnyOperation,
    mut call: Call,
) -> Result<Result<String, Refusal>, StoreError> {
    let now = call.now.fleet;
    // Again at its turn: a command before it in the batch may have closed its session.
    if let Err(refusal) = admit(set, operation, &mut call, true) {
        return Ok(Err(refusal));
    }
    let key = receipt_key(operation, &call).map(|key| (key, fingerprint(operation, &call.envelope)));
    if let Some((key, print)) = &key {
        store.load(set, vec![Need::Receipt(key.0.clone(), key.1.clone())], call.now)?;
        let is_judged_anew = Mutant::ReplayNeedsLease.is_on() && call.envelope.fence.is_some();
        if let Some(Some(receipt)) = set.receipts.get(key)
            && !is_judged_anew
        {
            let stored = replay(receipt, *print, &call);
            if stored.is_ok() && Mutant::ReplayAnswersAnew.is_on() {
                let anew = decide(store, set, operation, &call)?;
                set.undo();
                return Ok(anew);
            }
            return Ok(stored.and_then(|answer| present(operation, answer, now)));
        }
    }
    // Not a replay: from here on the session must be open.
    if let Err(refusal) = admit(set, operation, &mut call, false) {
        return Ok(Err(refusal));
    }
    let answer = match decide(store, set, operation, &call)? {
        Ok(answer) => answer,
        Err(refusal) => return Ok(Err(refusal)),
    };
    match operation.spec().effect {
        Effect::Write => {
            if let Some(((principal, operation_id), fingerprint)) = key {
                set.receipts.put(Receipt {
                    principal,
                    operation_id,
                    operation: operation.spec().name.to_owned(),
                    fingerprint,
                    epoch: call.epoch,
                    at: call.now.wall,
                    answer: Some(answer.clone()),
                });
            }
            set.keep(&call, Some(&answer));
        }
        Effect::Light => {
            assert!(!set.has_drafts(), "a light operation leaves no event: {}", operation.spec().name);
            set.keep(&call, None);
        }
        Effect::Read => unreachable!("a question is not a command"),
    }
    // What was decided at this moment reads at this moment as it was decided; only a replay must count anew.
    debug_assert_eq!(present(operation, answer.clone(), now).as_ref(), Ok(&answer));
    Ok(Ok(answer))
}

/// What a receipt says to whoever uses its operation id again. An old answer is gone, whether or not the background
/// has come by yet.
fn replay(receipt: &Receipt, print: Digest, call: &Call) -> Result<String, Refusal> {
    if receipt.epoch != call.epoch {
        return Err(Refusal::restored("the answer to this operation id", receipt.epoch.0, call.epoch.0));
    }
    if receipt.fingerprint != print {
        let detail = format!(
            "operation id {} was used for another `{}` before",
            receipt.operation_id, receipt.operation
        );
        return Err(Refusal::new(Code::OperationConflict, detail));
    }
    let kept = receipt.answer.clone().filter(|_| receipt.at >= Receipt::kept_since(call.now.wall));
    kept.ok_or_else(|| {
        let detail = format!("operation id {} was answered long ago", receipt.operation_id);
        Refusal::new(Code::ReceiptExpired, detail)
    })
}

/// Asks the rule, loads what it lacks, and asks again until it has decided.
fn decide<S: Store + ?Sized>(
    store: &mut S,
    set: &mut WorkingSet,
    operation: &AnyOperation,
    call: &Call,
) -> Result<Result<String, Refusal>, StoreError> {
    set.begin();
    for round in 0..ROUNDS_MAX {
        match operation.decide(set, call) {
            Ok(answer) => return Ok(Ok(answer)),
            Err(Stop::Refused(refusal)) => {
                set.undo();
                return Ok(Err(*refusal));
            }
            Err(Stop::Need(needs)) => {
                set.undo();
                if round >= ROUNDS_AT_HAND {
                    store.load_ahead(set, &needs, call.now)?;
                }
                store.load(set, needs, call.now)?;
            }
        }
    }
    let detail = format!("`{}` would have to look at more than one request may", operation.spec().name);
    Ok(Err(Refusal::new(Code::CannotTell, detail)))
}

fn present(operation: &AnyOperation, stored: String, now: FleetTime) -> Result<String, Refusal> {
    operation.present(stored, now).map_err(|_| {
        let detail =
            format!("the stored answer of `{}` cannot be read by this version", operation.spec().name);
        Refusal::new(Code::CannotTell, detail)
    })
}
