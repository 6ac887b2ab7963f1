//! The reference: what the coordinator promises, over a few maps. It is written from the promises, asks no rule and no
//! store, and computes everything anew instead of keeping it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::graph::Graph;
use super::steps::{Ask, By, NAMES, What};

pub(super) const LEASE_MS: i64 = 600_000;
pub(super) const PRESENCE_MS: i64 = 600_000;
pub(super) const HANDOFF_MS: i64 = 1_800_000;
const JOIN_MS: i64 = 5_000;
const RECEIPT_MS: i64 = 30 * 24 * 3_600_000;

/// No operation has this number, so that a token that is derived from it fits no attempt.
const NO_CLAIM: usize = usize::MAX;

/// A request with all that the session knows: what travels.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub ask: Ask,
    /// Generation and claim operation of the attempt that the caller acts for.
    pub fence: Option<(u64, usize)>,
    pub revision: Option<u64>,
    pub until: Option<i64>,
}

pub(super) type Answer = Result<Value, &'static str>;

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) open: bool,
    pub(super) present_until: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) session: usize,
    pub(super) claim: usize,
    pub(super) started: i64,
    pub(super) deadline: i64,
    pub(super) recovery: bool,
    pub(super) disposed: bool,
    pub(super) stop: bool,
    pub(super) last_beat: Option<usize>,
    /// Taken over after its lease had ended.
    pub(super) expired: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) priority: u8,
    pub(super) objective: bool,
    pub(super) revision: u64,
    /// By generation, from 1.
    pub(super) attempts: Vec<Attempt>,
    /// Whether the last attempt is current.
    pub(super) held: bool,
    pub(super) deferred_until: Option<i64>,
    pub(super) reserved: Option<(&'static str, i64)>,
    pub(super) ready_at: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Receipt {
    pub(super) request: Request,
    pub(super) answer: Value,
    pub(super) deadline: Option<i64>,
    pub(super) at: i64,
}

/// The fleet.
#[derive(Debug, Clone)]
pub struct Model {
    pub(super) tasks: BTreeMap<u64, Task>,
    pub(super) graph: Graph,
    pub(super) sessions: BTreeMap<usize, Session>,
    pub(super) receipts: BTreeMap<(&'static str, usize), Receipt>,
    pub(super) monotonic: i64,
    pub(super) wall: i64,
    pub(super) joined: (i64, i64),
    pub(super) committed: (i64, i64),
}

impl Model {
    pub fn new(monotonic: i64, wall: i64) -> Self {
        Self {
            tasks: BTreeMap::new(),
            graph: Graph::default(),
            sessions: BTreeMap::new(),
            receipts: BTreeMap::new(),
            monotonic,
            wall,
            joined: (0, monotonic),
            committed: (0, wall),
        }
    }

    pub fn pass(&mut self, ms: i64) {
        self.monotonic += ms;
        self.wall += ms;
    }

    pub fn jump(&mut self, ms: i64) {
        self.wall += ms;
    }

    /// A process joins anew.
    pub fn join(&mut self) {
        let stopped = (self.wall - self.committed.1).clamp(0, JOIN_MS);
        self.joined = (self.committed.0 + stopped, self.monotonic);
    }

    /// Commits the time, as every batch does.
    pub(super) fn commit(&mut self) -> i64 {
        let now = (self.joined.0 + self.monotonic - self.joined.1).max(self.committed.0);
        self.committed = (now, self.wall);
        now
    }

    /// Fills in what the session knows.
    pub fn resolve(&self, ask: Ask) -> Request {
        let mut request = Request { ask, fence: None, revision: None, until: None };
        match &request.ask.what {
            What::Heartbeat { task, by }
            | What::Note { task, by, .. }
            | What::Dispose { task, by }
            | What::HandOff { task, by, .. }
            | What::Release { task, by }
            | What::Close { task, by }
            | What::Cancel { task, by, .. } => {
                let (task, by, who) = (self.tasks.get(task), *by, request.ask.who);
                let attempts = task.map_or(&[][..], |task| &task.attempts);
                let who =
                    if by == By::Holder { attempts.last().map_or(who, |last| last.session) } else { who };
                let mine = |attempt: &&Attempt| attempt.session == who;
                let found = match by {
                    By::Holder | By::Forged | By::Own => attempts.iter().rfind(mine),
                    By::Old => attempts.iter().find(mine),
                    By::Foreign => attempts.last(),
                    By::Revision | By::Stale | By::Bare => None,
                };
                let generation = |found: &Attempt| {
                    1 + attempts.iter().position(|attempt| attempt.claim == found.claim).expect("found")
                        as u64
                };
                request.ask.who = who;
                let claim = |found: &Attempt| if by == By::Forged { NO_CLAIM } else { found.claim };
                request.fence = found.map(|attempt| (generation(attempt), claim(attempt)));
                request.revision = match by {
                    By::Revision => task.map(|task| task.revision),
                    By::Stale => Some(1_000),
                    By::Holder | By::Own | By::Old | By::Foreign | By::Forged | By::Bare => None,
                };
            }
            What::Defer { ms, .. } => request.until = Some(self.wall + ms),
            What::Open
            | What::Leave
            | What::Create { .. }
            | What::Add { .. }
            | What::Remove { .. }
            | What::Claim { .. }
            | What::Next { .. }
            | What::Resume { .. } => {}
        }
        request
    }

    /// What a request is answered, and what it does.
    pub fn run(&mut self, operation: usize, request: &Request) -> Answer {
        let now = self.commit();
        let before = self.clone();
        let answer = self.admit(now, operation, request);
        if answer.is_err() {
            *self = before;
        } else {
            self.note_what_became_ready(&before, now);
        }
        answer
    }

    pub(super) fn admit(&mut self, now: i64, operation: usize, request: &Request) -> Answer {
        let Request { ask: Ask { who, what }, .. } = request;
        let opens = *what == What::Open;
        let session = self.sessions.get(who);
        if !opens && session.is_none() {
            return Err("session_unknown");
        }
        let key = (NAMES[*who], operation);
        let light = matches!(what, What::Heartbeat { .. });
        if let Some(receipt) = self.receipts.get(&key).filter(|_| !light) {
            return self.replay(now, receipt, request);
        }
        if !opens && session.is_some_and(|session| !session.open) {
            return Err("session_closed");
        }
        let before = self.clone();
        let mut answer = self.decide(now, operation, request)?;
        if matches!(what, What::Close { .. }) {
            answer["freed"] = json!(self.became_free(&before));
        }
        // Every call tells that its session lives; it is written down once a tenth of the presence has passed.
        if let Some(session) = self.sessions.get_mut(who).filter(|session| session.open)
            && session.present_until - now <= PRESENCE_MS - PRESENCE_MS / 10
        {
            session.present_until = now + PRESENCE_MS;
        }
        if !light {
            let left = answer["expires_in_ms"].as_i64();
            let deadline = left.map(|left| now + left);
            let receipt =
                Receipt { request: request.clone(), answer: answer.clone(), deadline, at: self.wall };
            self.receipts.insert(key, receipt);
        }
        Ok(answer)
    }

    pub(super) fn replay(&self, now: i64, receipt: &Receipt, request: &Request) -> Answer {
        if receipt.request != *request {
            return Err("operation_conflict");
        }
        if receipt.at < self.wall - RECEIPT_MS {
            return Err("receipt_expired");
        }
        let mut answer = receipt.answer.clone();
        if let Some(deadline) = receipt.deadline {
            answer["expires_in_ms"] = json!((deadline - now).max(0));
        }
        Ok(answer)
    }

    /// The coordinator records what is overdue: nobody can tell from anything but the record, and from deferrals.
    pub fn background(&mut self) {
        let now = self.commit();
        let before = self.clone();
        let due = |number: &u64| {
            let past = self.tasks[number].deferred_until.is_some_and(|until| until <= self.wall);
            past && self.is_free(*number)
        };
        let due: Vec<u64> = self.tasks.keys().copied().filter(due).collect();
        // That a moment passed is no edit.
        due.into_iter().for_each(|number| self.task(number).deferred_until = None);
        self.note_what_became_ready(&before, now);
    }

    /// Whether nothing but a date can keep a task from being taken.
    pub(super) fn is_free(&self, number: u64) -> bool {
        let task = &self.tasks[&number];
        let open = self.graph.ends[&number].is_none() && !task.held && !task.objective;
        open && !self.graph.is_blocked(number)
    }

    /// The tasks that are free and not put off now, and were not before.
    pub(super) fn became_free(&self, before: &Self) -> Vec<String> {
        let ready = |model: &Self, number: u64| {
            model.is_free(number) && model.tasks[&number].deferred_until.is_none()
        };
        let both = self.tasks.keys().filter(|number| before.tasks.contains_key(number));
        both.copied().filter(|number| ready(self, *number) && !ready(before, *number)).map(id).collect()
    }

    /// Since when a task is ready decides its place in the queue. A date that has passed counts from then.
    pub(super) fn note_what_became_ready(&mut self, before: &Self, now: i64) {
        for number in self.tasks.keys().copied().collect::<Vec<_>>() {
            let until = self.tasks[&number].deferred_until;
            let Some(old) = before.tasks.get(&number) else { continue };
            let was_free = before.is_free(number);
            if !self.is_free(number) || (was_free && old.deferred_until == until) {
                continue;
            }
            let was_due = was_free && old.deferred_until.is_some_and(|until| until <= self.wall);
            let task = self.task(number);
            task.ready_at = match until {
                Some(until) => now + (until - before.wall).max(0),
                None if was_due => old.ready_at.min(now),
                None => now,
            };
        }
    }
}

impl Task {
    pub(super) fn current(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|_| self.held)
    }

    pub(super) fn attempt_id(&self, number: u64) -> String {
        format!("{}@{}", id(number), self.attempts.len())
    }
}

/// A task's id.
pub fn id(number: u64) -> String {
    format!("afc-{number}")
}
