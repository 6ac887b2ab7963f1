//! What the model answers to each request, and what that does.

use serde_json::{Value, json};

use super::fleet::{Answer, Attempt, HANDOFF_MS, LEASE_MS, Model, PRESENCE_MS, Request, Session, Task, id};
use super::steps::{Edge, NAMES, What};

impl Model {
    pub(super) fn decide(&mut self, now: i64, operation: usize, request: &Request) -> Answer {
        let who = request.ask.who;
        match request.ask.what {
            What::Open => self.open(now, who),
            What::Leave => {
                self.sessions.get_mut(&who).expect("admitted").open = false;
                Ok(json!({ "session": { "open": false } }))
            }
            What::Create { priority, objective, parent, blocker } => {
                self.create(now, priority, objective, parent, blocker)
            }
            What::Add { task, edge, on } => self.add(task, edge, on),
            What::Remove { task, edge, on } => {
                self.existing(task)?;
                let edges = self.edges(edge);
                if edges.remove(&(task, on)) {
                    Ok(json!({ "task": { "id": id(task) } }))
                } else {
                    Err("not_found")
                }
            }
            What::Claim { task } => self.claim(now, operation, who, task),
            What::Next { another } => self.claim_next(now, operation, who, another),
            What::Heartbeat { task, .. } => {
                let attempt = self.held(now, request, task)?;
                if attempt.last_beat != Some(operation) {
                    attempt.deadline = attempt.deadline.max(now + LEASE_MS);
                    attempt.last_beat = Some(operation);
                }
                let (left, stop) = (attempt.deadline - now, attempt.stop);
                let blocked = self.graph.is_blocked(task);
                Ok(json!({ "expires_in_ms": left, "cancel_requested": stop, "blocked": blocked }))
            }
            What::Note { task, recovery, .. } => {
                self.existing(task)?;
                if request.fence.is_some()
                    && let Err(lost) = self.held(now, request, task)
                    && (lost == "not_holder" || !recovery)
                {
                    return Err(lost);
                }
                Ok(json!({ "task": id(task) }))
            }
            What::Dispose { task, .. } => {
                let attempt = self.held(now, request, task)?;
                if !attempt.recovery {
                    return Err("state_conflict");
                }
                attempt.disposed = true;
                Ok(json!({ "task": id(task) }))
            }
            What::HandOff { task, to, .. } => {
                self.held(now, request, task)?;
                if to.is_some_and(|to| !self.sessions.keys().any(|session| NAMES[*session] == NAMES[to])) {
                    return Err("not_found");
                }
                self.free(task, to.map(|to| (NAMES[to], now + HANDOFF_MS)));
                Ok(self.ended(now, task, request))
            }
            What::Release { task, .. } => {
                self.held(now, request, task)?;
                self.free(task, None);
                Ok(self.ended(now, task, request))
            }
            What::Close { task, .. } => self.close(now, request, task),
            What::Cancel { task, dependents, .. } => self.cancel(now, request, task, dependents),
            What::Defer { task, .. } => {
                if request.until.is_some_and(|until| until <= self.wall) {
                    return Err("invalid_input");
                }
                let over = self.existing(task)?.held || self.graph.ends[&task].is_some();
                if over {
                    return Err("state_conflict");
                }
                self.put_off(task, request.until);
                Ok(json!({ "task": { "id": id(task) } }))
            }
            What::Resume { task } => {
                if self.existing(task)?.deferred_until.is_none() {
                    return Err("state_conflict");
                }
                self.put_off(task, None);
                Ok(json!({ "task": { "id": id(task) } }))
            }
        }
    }

    pub(super) fn existing(&self, task: u64) -> Result<&Task, &'static str> {
        self.tasks.get(&task).ok_or("not_found")
    }

    pub(super) fn task(&mut self, task: u64) -> &mut Task {
        self.tasks.get_mut(&task).expect("it exists")
    }

    pub(super) fn edges(&mut self, edge: Edge) -> &mut std::collections::BTreeSet<(u64, u64)> {
        match edge {
            Edge::Blocks => &mut self.graph.waits,
            Edge::Parent => &mut self.graph.parents,
        }
    }

    fn put_off(&mut self, task: u64, until: Option<i64>) {
        let task = self.task(task);
        task.deferred_until = until;
        task.revision += 1;
    }

    pub(super) fn open(&mut self, now: i64, who: usize) -> Answer {
        match self.sessions.get(&who) {
            Some(session) if !session.open => return Err("session_closed"),
            Some(_) => {}
            None => {
                let of_the_name = |other: &usize| NAMES[*other] == NAMES[who];
                let earlier: Vec<usize> = self.sessions.keys().copied().filter(of_the_name).collect();
                for other in earlier {
                    let holds = !self.holds(now, other).is_empty();
                    let session = self.sessions.get_mut(&other).expect("it is there");
                    if session.open && (holds || session.present_until > now) {
                        return Err("name_in_use");
                    }
                    session.open = false;
                }
            }
        }
        self.sessions.insert(who, Session { open: true, present_until: now + PRESENCE_MS });
        Ok(json!({ "session": { "open": true, "name": NAMES[who] } }))
    }

    /// The live attempts of a session, the oldest first.
    pub(super) fn holds(&self, now: i64, who: usize) -> Vec<u64> {
        let held = self.tasks.iter().filter_map(|(number, task)| {
            let attempt =
                task.current().filter(|attempt| attempt.session == who && attempt.deadline > now)?;
            Some((attempt.started, *number))
        });
        let mut held: Vec<(i64, u64)> = held.collect();
        held.sort_unstable();
        held.into_iter().map(|(_, number)| number).collect()
    }

    pub(super) fn create(
        &mut self,
        now: i64,
        priority: u8,
        objective: bool,
        parent: Option<u64>,
        blocker: Option<u64>,
    ) -> Answer {
        let number = self.tasks.len() as u64 + 1;
        blocker.map_or(Ok(()), |on| self.existing(on).map(|_| ()))?;
        parent.map_or(Ok(()), |on| self.existing(on).map(|_| ()))?;
        if parent.is_some_and(|parent| self.graph.ends[&parent].is_some()) {
            return Err("state_conflict");
        }
        let task = Task {
            priority,
            objective,
            revision: 1,
            attempts: Vec::new(),
            held: false,
            deferred_until: None,
            reserved: None,
            ready_at: now,
        };
        self.tasks.insert(number, task);
        self.graph.ends.insert(number, None);
        self.graph.waits.extend(blocker.map(|on| (number, on)));
        self.graph.parents.extend(parent.map(|on| (number, on)));
        if self.graph.locks() {
            return Err("dependency_cycle");
        }
        Ok(json!({ "task": { "id": id(number), "revision": 1 } }))
    }

    pub(super) fn add(&mut self, task: u64, edge: Edge, on: u64) -> Answer {
        if task == on {
            return Err("dependency_cycle");
        }
        self.existing(task)?;
        self.existing(on)?;
        if !self.edges(edge).insert((task, on)) {
            return Ok(json!({ "task": { "id": id(task) } }));
        }
        let gets_something_to_do = match edge {
            Edge::Blocks => task,
            Edge::Parent => on,
        };
        if self.graph.ends[&gets_something_to_do].is_some() {
            return Err("state_conflict");
        }
        if self.graph.locks() {
            return Err("dependency_cycle");
        }
        Ok(json!({ "task": { "id": id(task) } }))
    }

    /// Whether a task could be worked on if nobody had left it.
    pub(super) fn can_go_on(&self, number: u64) -> bool {
        let task = &self.tasks[&number];
        self.graph.ends[&number].is_none()
            && !task.objective
            && !self.graph.is_blocked(number)
            && task.deferred_until.is_none_or(|until| until <= self.wall)
    }

    pub(super) fn is_kept_from(&self, now: i64, number: u64, who: usize) -> bool {
        let reserved = self.tasks[&number].reserved;
        reserved.is_some_and(|(name, until)| name != NAMES[who] && until > now)
    }

    pub(super) fn claim(&mut self, now: i64, operation: usize, who: usize, number: u64) -> Answer {
        let task = self.existing(number)?;
        if let Some(attempt) = task.current().filter(|attempt| attempt.deadline > now) {
            let own = attempt.session == who;
            return if own { Ok(self.claimed(now, number, true)) } else { Err("lease_held") };
        }
        if !self.can_go_on(number) {
            return Err("not_ready");
        }
        if self.is_kept_from(now, number, who) {
            return Err("reserved");
        }
        Ok(self.grant(now, operation, who, number))
    }

    pub(super) fn claim_next(&mut self, now: i64, operation: usize, who: usize, another: bool) -> Answer {
        if let Some(oldest) = self.holds(now, who).first().filter(|_| !another) {
            return Ok(self.claimed(now, *oldest, true));
        }
        let free = |number: &u64| {
            let live = self.tasks[number].current().is_some_and(|attempt| attempt.deadline > now);
            !live && self.can_go_on(*number) && !self.is_kept_from(now, *number, who)
        };
        let order = |number: &u64| {
            let task = &self.tasks[number];
            (task.priority, task.held, task.ready_at, *number)
        };
        let first = self.tasks.keys().copied().filter(free).min_by_key(order);
        first.map(|first| self.grant(now, operation, who, first)).ok_or("nothing_eligible")
    }

    pub(super) fn grant(&mut self, now: i64, claim: usize, session: usize, number: u64) -> Value {
        let task = self.task(number);
        let recovery = task.held;
        if let Some(left) = task.attempts.last_mut().filter(|_| recovery) {
            left.expired = true;
        }
        task.attempts.push(Attempt {
            session,
            claim,
            started: now,
            deadline: now + LEASE_MS,
            recovery,
            disposed: false,
            stop: false,
            last_beat: None,
            expired: false,
        });
        task.held = true;
        task.reserved = None;
        self.claimed(now, number, false)
    }

    pub(super) fn claimed(&self, now: i64, number: u64, resumed: bool) -> Value {
        let task = &self.tasks[&number];
        let attempt = task.current().expect("it was granted");
        json!({
            "attempt": task.attempt_id(number),
            "generation": task.attempts.len(),
            "expires_in_ms": attempt.deadline - now,
            "resumed": resumed,
            "mode": if attempt.recovery { "recovery" } else { "fresh" },
        })
    }
}
