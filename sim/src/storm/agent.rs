//! Agents as small state machines: what a session's file keeps, what one process of it is doing, and what it does next.
//!
//! They follow the client's own habits: a mutation is on record before it is sent, an uncertain one is asked again with
//! its own id before anything else, lease tokens are derived from the claim's id, and a lease counts from before the
//! claim was sent.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_core::envelope::{Caller, Envelope, Fence};
use tenure_core::model::attempt::AttemptMode;
use tenure_core::model::ids::{AttemptId, Epoch, OperationId, PrincipalName, SessionId, TaskId};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::catalog::{AnyOperation, entries};
use tenure_core::operation::ownership::{Alive, Claimed};
use tenure_core::operation::session::SessionAnswer;
use tenure_core::operation::view::TaskView;
use tenure_core::operation::{Effect, Fencing};
use tenure_core::secret::SessionSecret;
use tenure_engine::Command;

use super::deeds::{self, Lease, Scene};
use crate::seed::Seed;

/// What kind of agent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temper {
    /// Renews in time and stops by its own clock at two thirds of its lease.
    Honest,
    /// Never looks at a clock: it goes on until it is told that it lost.
    Careless,
    /// Works for a while, and then is never heard of again.
    Doomed,
}

/// A mutation as it is kept before it is sent.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Its id, for ever.
    pub id: OperationId,
    /// What is asked.
    pub operation: AnyOperation,
    /// The lease it acts under: the attempt and the claim that the token follows from.
    pub fence: Option<(AttemptId, OperationId)>,
    /// Whether a living process waits for it.
    awaited: bool,
}

/// A session's file. Processes of one name on one machine share it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The agent's name.
    pub name: PrincipalName,
    /// The session.
    pub session: SessionId,
    secret: SessionSecret,
    /// The fleet's incarnation when it was opened.
    epoch: Option<Epoch>,
    pending: Vec<Pending>,
    /// What it holds, as far as it knows.
    pub leases: BTreeMap<TaskId, Lease>,
}

impl Pending {
    /// A request of somebody who holds nothing.
    #[must_use]
    pub fn new(number: u64, operation: AnyOperation) -> Self {
        let id = format!("op-{number}").parse().expect("letters, digits and a hyphen");
        Self { id, operation, fence: None, awaited: true }
    }
}

impl Record {
    /// A new session under a name, with a secret from the dice.
    #[must_use]
    pub fn draw(name: &PrincipalName, dice: &mut Seed) -> Self {
        let mut bytes = || {
            let mut bytes = [0; 32];
            bytes.fill_with(|| u8::try_from(dice.below(256)).expect("below 256"));
            bytes
        };
        let id: String = bytes()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            name: name.clone(),
            session: id.parse().expect("32 hexadecimal digits are a session id"),
            secret: SessionSecret::new(bytes()),
            epoch: None,
            pending: Vec::new(),
            leases: BTreeMap::new(),
        }
    }

    /// The command that travels.
    #[must_use]
    pub fn command(&self, request: &Pending) -> Command {
        let caller = Caller { session: self.session.clone(), proof: self.secret.session_proof() };
        let fence = request.fence.as_ref().map(|(attempt, claim)| Fence {
            attempt: attempt.clone(),
            token: self.secret.lease_token(claim),
        });
        let claims = request.operation.spec().name == "claim";
        let envelope = Envelope {
            caller: Some(caller),
            token_hash: claims.then(|| self.secret.lease_token(&request.id).hash()),
            operation_id: Some(request.id.clone()),
            fence,
            epoch: self.epoch,
            ..Envelope::default()
        };
        Command { operation: request.operation.clone(), envelope }
    }

    /// The operation that opens the session: its name and its input.
    #[must_use]
    pub fn opening(&self) -> (&'static str, Value) {
        let proof_hash = self.secret.session_proof().hash();
        let (session, name) = (&self.session, &self.name);
        ("session.open", json!({ "session": session, "proof_hash": proof_hash, "name": name }))
    }

    /// The lease that it has of a task, as a request names it.
    #[must_use]
    pub fn fence(&self, task: &TaskId) -> Option<(AttemptId, OperationId)> {
        self.leases.get(task).map(|lease| (lease.attempt.clone(), lease.claim.clone()))
    }

    /// Takes up what no living process waits for.
    fn take_up(&mut self) -> Option<Pending> {
        let abandoned = self.pending.iter_mut().find(|pending| !pending.awaited)?;
        abandoned.awaited = true;
        Some(abandoned.clone())
    }

    /// Leaves a request on record that nobody waits for any more.
    pub fn abandon(&mut self, request: &Pending) {
        for pending in self.pending.iter_mut().filter(|pending| pending.id == request.id) {
            pending.awaited = false;
        }
    }

    /// Whether nothing of it is uncertain.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.pending.is_empty()
    }

    /// Takes a definite answer into account. `sent_at` and the deadlines that follow are by the holder's own clock.
    pub fn take_answer(&mut self, request: &Pending, outcome: &Result<String, Refusal>, sent_at: i64) {
        self.pending.retain(|pending| pending.id != request.id);
        let fenced = request.fence.as_ref().map(|(attempt, _)| attempt);
        let held = fenced
            .and_then(|attempt| self.leases.get_mut(&attempt.task).filter(|lease| lease.attempt == *attempt));
        match (request.operation.spec().name, outcome) {
            ("session.open", Ok(answer)) => {
                let opened: SessionAnswer = serde_json::from_str(answer).expect("a session's answer");
                self.epoch = Some(opened.epoch);
            }
            ("claim", Ok(answer)) => {
                let claimed: Claimed = serde_json::from_str(answer).expect("a claim's answer");
                let lease = Lease {
                    claim: claimed.claim_operation,
                    renewed_at: sent_at,
                    ends_at: sent_at + claimed.expires_in_ms,
                    undecided: claimed.mode == AttemptMode::Recovery,
                    changed: false,
                    attempt: claimed.attempt.clone(),
                };
                self.leases.insert(claimed.attempt.task, lease);
            }
            ("heartbeat", Ok(answer)) => {
                let alive: Alive = serde_json::from_str(answer).expect("a heartbeat's answer");
                if let Some(lease) = held {
                    (lease.renewed_at, lease.ends_at) = (sent_at, sent_at + alive.expires_in_ms);
                }
            }
            ("dispose", Ok(_)) => {
                if let Some(lease) = held {
                    lease.undecided = false;
                }
            }
            ("reconcile", Ok(_)) => {
                if let Some(lease) = held {
                    lease.changed = false;
                }
            }
            ("release" | "handoff" | "close" | "task.cancel", Ok(_)) => {
                if let Some(lease) = held {
                    let task = lease.attempt.task.clone();
                    self.leases.remove(&task);
                }
            }
            (_, Ok(_)) => {}
            (_, Err(refusal)) => match refusal.code {
                Code::NotHolder | Code::LeaseExpired | Code::Superseded => {
                    if let Some(lease) = held {
                        let task = lease.attempt.task.clone();
                        self.leases.remove(&task);
                    }
                }
                Code::RequirementsMissing => {
                    if let Some(lease) = held {
                        lease.undecided = true;
                    }
                }
                Code::TaskChanged => {
                    if let Some(lease) = held {
                        lease.changed = true;
                    }
                }
                _ => {}
            },
        }
    }
}

/// A call that a process waits for.
#[derive(Debug, Clone)]
pub struct Calling {
    /// What was asked.
    pub request: Pending,
    /// The same as it travels.
    pub command: Command,
    /// The number of the last message that carried it.
    pub message: u64,
    /// How often it was sent.
    pub sends: u32,
    /// When it was first sent, by the caller's own clock.
    pub sent_at: i64,
}

/// One process of an agent.
#[derive(Debug)]
pub struct Agent {
    /// Which file it works from.
    pub record: usize,
    /// What kind it is.
    pub temper: Temper,
    /// Thousandths of a true millisecond that its clock counts as one: a wrong clock is fast or slow.
    pub pace: i64,
    /// Raised by every crash: what was meant for an earlier life is heard by nobody.
    pub life: u64,
    /// What it waits for.
    pub calling: Option<Calling>,
    /// It has just come back, and trusts what it held before.
    pub trusting: bool,
    /// It never comes back.
    pub is_gone: bool,
}

/// What a process takes into account beside its own state.
pub struct Surroundings {
    /// The true moment.
    pub now: i64,
    /// The length of a lease.
    pub lease_ms: i64,
    /// A task that it looks at, as the store shows it.
    pub seen: Option<TaskView>,
    /// Any task.
    pub other: Option<TaskId>,
    /// Somebody else.
    pub colleague: PrincipalName,
    /// Whether there may be more tasks.
    pub more: bool,
    /// What the wall clock shows.
    pub wall: i64,
    /// The revision of the project, if it looks at that.
    pub project_revision: Option<u64>,
    /// Everything shall come to its end.
    pub calm: bool,
    /// A number that no other request has.
    pub number: u64,
}

impl Agent {
    /// What its own clock shows.
    #[must_use]
    pub fn clock(&self, now: i64) -> i64 {
        now * self.pace / 1000
    }

    /// What it asks next, put on record where that is the custom.
    pub fn ask(&mut self, record: &mut Record, around: &Surroundings, dice: &mut Seed) -> Pending {
        if record.epoch.is_none() {
            let (name, input) = record.opening();
            return Pending::new(around.number, operation(name, input));
        }
        if let Some(abandoned) = record.take_up() {
            return abandoned;
        }
        let clock = self.clock(around.now);
        if self.temper == Temper::Honest && !self.trusting {
            record.leases.retain(|_, lease| clock < lease.ends_at - around.lease_ms / 3);
        }
        self.trusting = false;
        let (operation, task) = choose(record, around, clock, dice);
        let spec = operation.spec();
        let fence = task.and_then(|task| record.fence(&task)).filter(|_| spec.fencing != Fencing::None);
        let request = Pending { fence, ..Pending::new(around.number, operation) };
        if spec.effect == Effect::Write {
            record.pending.push(request.clone());
        }
        request
    }
}

/// The next operation, and the task that it is about.
fn choose(
    record: &Record,
    around: &Surroundings,
    clock: i64,
    dice: &mut Seed,
) -> (AnyOperation, Option<TaskId>) {
    let due = |lease: &&Lease| clock - lease.renewed_at >= around.lease_ms / 3;
    // Who holds two and thinks slowly would do nothing but renew: once the faults have stopped, work has its turn.
    let renews = !around.calm || dice.below(4) != 0;
    if let Some(lease) = record.leases.values().find(due).filter(|_| renews) {
        let task = &lease.attempt.task;
        return (operation("heartbeat", json!({ "task": task })), Some(task.clone()));
    }
    let seen = around.seen.as_ref().expect("a storm begins with tasks");
    let scene = Scene {
        seen,
        other: around.other.as_ref().unwrap_or(&seen.id),
        lease: record.leases.get(&seen.id),
        holds: record.leases.len(),
        colleague: &around.colleague,
        more: around.more,
        calm: around.calm,
        wall: around.wall,
        project_revision: around.project_revision,
        text: &format!("{} {}", record.name, around.number),
        number: around.number,
        lot: dice.below(1 << 20),
    };
    let (name, input) = deeds::draw(&scene, dice);
    let task = input["task"].as_str().map(|task| task.parse().expect("an id of a task"));
    (operation(name, input), task)
}

/// Reads an operation from its JSON, as every surface does.
#[must_use]
pub fn operation(name: &str, input: Value) -> AnyOperation {
    let found = entries().into_iter().find(|entry| entry.spec.name == name);
    let entry = found.unwrap_or_else(|| panic!("{name} is no operation"));
    (entry.read)(input).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"))
}
