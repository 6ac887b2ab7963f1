//! How the model ends attempts and tasks: by a lease that lives, or under the revision of what nobody has.

use serde_json::{Value, json};

use super::fleet::{Answer, Attempt, Model, Request, id};
use super::graph::End;
use super::steps::{Dependents, NAMES};

impl Model {
    /// The attempt that the caller acts for, if it has authority.
    pub(super) fn held(
        &mut self,
        now: i64,
        request: &Request,
        number: u64,
    ) -> Result<&mut Attempt, &'static str> {
        let Some((generation, claim)) = request.fence else {
            self.existing(number)?;
            return Err(if self.graph.ends[&number].is_some() { "state_conflict" } else { "not_holder" });
        };
        let task = self.task(number);
        let current = task.held && generation == task.attempts.len() as u64;
        let attempt = &mut task.attempts[generation as usize - 1];
        if attempt.session != request.ask.who || attempt.claim != claim {
            return Err("not_holder");
        }
        match (current, attempt.expired) {
            (true, _) if attempt.deadline > now => Ok(attempt),
            (true, _) | (false, true) => Err("lease_expired"),
            (false, false) => Err("superseded"),
        }
    }

    pub(super) fn free(&mut self, number: u64, reserved: Option<(&'static str, i64)>) {
        let task = self.task(number);
        task.held = false;
        task.reserved = reserved;
    }

    pub(super) fn ended(&self, now: i64, number: u64, request: &Request) -> Value {
        let mut answer = json!({ "task": { "id": id(number), "status": self.status(now, number) } });
        if let Some((generation, _)) = request.fence {
            answer["attempt"] = json!(format!("{}@{generation}", id(number)));
        }
        answer
    }

    /// By what right a task is ended: a lease that lives, or the revision of a task that nobody has.
    pub(super) fn authority(
        &mut self,
        now: i64,
        request: &Request,
        number: u64,
        despite_expired: bool,
    ) -> Result<(), &'static str> {
        if request.fence.is_some() {
            return self.held(now, request, number).map(|_| ());
        }
        if self.graph.ends[&number].is_some() {
            return Err("state_conflict");
        }
        match self.tasks[&number].current() {
            Some(attempt) if attempt.deadline > now => return Err("lease_held"),
            Some(_) if !despite_expired => return Err("state_conflict"),
            Some(_) | None => {}
        }
        match request.revision {
            Some(revision) if revision == self.tasks[&number].revision => Ok(()),
            Some(_) => Err("revision_conflict"),
            None => Err("invalid_input"),
        }
    }

    pub(super) fn end(&mut self, number: u64, end: End) {
        self.graph.ends.insert(number, Some(end));
        self.task(number).revision += 1;
        self.free(number, None);
    }

    pub(super) fn close(&mut self, now: i64, request: &Request, number: u64) -> Answer {
        let objective = self.existing(number)?.objective;
        self.authority(now, request, number, false)?;
        let undecided = self.tasks[&number].current().is_some_and(|at| at.recovery && !at.disposed);
        if undecided || (objective && self.graph.unfinished_children(number) > 0) {
            return Err("requirements_missing");
        }
        self.end(number, End::Done);
        Ok(self.ended(now, number, request))
    }

    pub(super) fn cancel(
        &mut self,
        now: i64,
        request: &Request,
        number: u64,
        dependents: Option<Dependents>,
    ) -> Answer {
        let task = self.existing(number)?;
        let live = task.current().is_some_and(|attempt| attempt.deadline > now);
        if live && request.fence.is_none() {
            let attempt = self.task(number).attempts.last_mut().expect("it lives");
            attempt.stop = true;
            let holder = NAMES[attempt.session];
            return Ok(json!({ "task": { "status": "in_progress" }, "asked_to_stop": holder }));
        }
        self.authority(now, request, number, true)?;
        let waiting = self.graph.waiting_for(number);
        let Some(dependents) = dependents.or(waiting.is_empty().then_some(Dependents::Keep)) else {
            return Err("dependents_undecided");
        };
        self.end(number, End::Cancelled);
        let mut also = Vec::new();
        match dependents {
            Dependents::Keep => {}
            Dependents::Release => waiting.iter().for_each(|task| {
                self.graph.waits.remove(&(*task, number));
            }),
            Dependents::Cancel => {
                let mut left = waiting;
                while let Some(next) = left.pop() {
                    if self.graph.ends[&next].is_none() && !self.tasks[&next].held {
                        self.end(next, End::Cancelled);
                        also.push(next);
                        left.extend(self.graph.waiting_for(next));
                    }
                }
            }
        }
        let also: Vec<String> = also.into_iter().map(id).collect();
        Ok(json!({ "task": { "id": id(number), "status": "cancelled" }, "also_cancelled": also }))
    }
}
