//! What the model shows to questions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fleet::{Model, Task, id};
use super::graph::End;

impl Model {
    pub(super) fn status(&self, now: i64, number: u64) -> &'static str {
        let task = &self.tasks[&number];
        match self.graph.ends[&number] {
            Some(End::Done) => return "done",
            Some(End::Cancelled) => return "cancelled",
            None => {}
        }
        match task.current() {
            Some(attempt) if attempt.deadline > now => "in_progress",
            Some(_) => "recovery",
            None if self.graph.is_blocked(number) => "blocked",
            None if task.deferred_until.is_some_and(|until| until > self.wall) => "deferred",
            None if task.objective && self.graph.unfinished_children(number) > 0 => "waiting_children",
            None => "ready",
        }
    }

    /// What an explanation says, in short.
    pub fn explained(&self, number: u64) -> Value {
        let status = self.status(self.committed.0, number);
        json!({ "status": status, "ready": status == "ready" && !self.tasks[&number].objective })
    }

    /// How many tasks there are.
    pub fn tasks(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// Everything that questions tell, at the time that was committed last.
    pub fn visible(&self) -> Value {
        let now = self.committed.0;
        let tasks = self.tasks.iter().map(|(number, task)| (id(*number), self.shown(now, *number, task)));
        let tasks: BTreeMap<String, Value> = tasks.collect();
        let mut ready: Vec<u64> = self.tasks.keys().copied().collect();
        ready.retain(|number| !self.tasks[number].held && self.can_go_on(*number));
        ready.sort_by_key(|number| (self.tasks[number].priority, self.tasks[number].ready_at, *number));
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for (number, task) in &self.tasks {
            let reason = match self.status(now, *number) {
                "done" | "cancelled" => continue,
                "deferred" | "waiting_children" | "ready" if task.objective => "objective",
                "ready" => continue,
                status => status,
            };
            *reasons.entry(reason).or_default() += 1;
        }
        let open = self.sessions.iter().filter(|(_, session)| session.open);
        let sessions = open.map(|(who, session)| {
            let mut holds: Vec<String> = self
                .holds(now, *who)
                .into_iter()
                .map(|number| self.tasks[&number].attempt_id(number))
                .collect();
            holds.sort();
            (who.to_string(), json!({ "present": session.present_until > now, "holds": holds }))
        });
        json!({
            "tasks": tasks,
            "ready": ready.into_iter().map(id).collect::<Vec<_>>(),
            "reasons": reasons,
            "sessions": sessions.collect::<BTreeMap<_, _>>(),
            "fleet_time": now,
        })
    }

    pub(super) fn shown(&self, now: i64, number: u64, task: &Task) -> Value {
        let names = |numbers: Vec<u64>| numbers.into_iter().map(id).collect::<Vec<_>>();
        let waits = self.graph.waits.iter().filter(|(waiting, _)| *waiting == number).map(|(_, on)| *on);
        let attempt = task.current().map(|attempt| {
            let live = attempt.deadline > now;
            json!({
                "id": task.attempt_id(number),
                "session": attempt.session.to_string(),
                "state": if live { "active" } else { "expired" },
                "mode": if attempt.recovery { "recovery" } else { "fresh" },
                "expires_in_ms": if live { attempt.deadline - now } else { 0 },
                "cancel_requested": attempt.stop,
            })
        });
        let reserved = task.reserved.filter(|(_, until)| *until > now);
        json!({
            "status": self.status(now, number),
            "revision": task.revision,
            "generation": task.attempts.len(),
            "attempt": attempt,
            "waits_for": names(waits.collect()),
            "parents": names(self.graph.parents_of(number).collect()),
            "children": names(self.graph.children_of(number).collect()),
            "deferred_until": task.deferred_until,
            "reserved": reserved.map(|(principal, until)| json!({ "principal": principal, "until": until })),
        })
    }
}
