//! Renewing the lease while the command runs, on a thread and by a way to the coordinator of its own.

use std::time::Duration;

use tenure_client::ask::Answered;
use tenure_client::call::Client;
use tenure_client::clock;
use tenure_client::failure::Failure;
use tenure_client::pause::{Pause, Steps};
use tenure_client::session::Session;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::AttemptId;
use tenure_core::model::limits::PAGE_ROWS;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::ownership::{Alive, Heartbeat};
use tenure_core::operation::record::ListEvents;

use super::bound::{Bound, span};
use super::guard::TICK;
use crate::duration::ms;

/// Longest rest after a heartbeat that nobody answered, unless more is stated.
const REST_MAX_MS: i64 = 1_000;

/// Shortest rest, however little of the lease is left.
const REST_MIN: Duration = Duration::from_millis(50);

/// What became of the lease.
#[derive(Debug)]
pub enum Renewal {
    /// It lives.
    Until(Bound),
    /// It lives, and somebody asked for a stop.
    StopAsked,
    /// The session itself ended the attempt.
    Finished,
    /// Ownership is gone.
    Lost(Failure),
}

/// A lease to be renewed.
pub struct Lease {
    /// The way to the coordinator.
    pub client: Client,
    /// The session that holds it.
    pub session: Session,
    /// The attempt.
    pub attempt: AttemptId,
    /// Until when the command may run without another heartbeat.
    pub bound: Bound,
    /// When the next heartbeat is due, on [`clock::boot_ms`].
    pub due: i64,
    /// How often one is due.
    pub heartbeat_ms: i64,
}

impl Lease {
    /// Renews it until it is over or nobody listens. Each interval counts from before the last request was sent.
    pub fn keep(mut self, tell: impl Fn(Renewal) -> bool) {
        let mut pause = self.pause();
        loop {
            sleep_until(self.due);
            let sent_at = clock::boot_ms();
            match self.beat() {
                Ok(alive) if alive.value.attempt == self.attempt => {
                    let alive = alive.value;
                    self.bound = Bound::of(sent_at, alive.expires_in_ms);
                    let renewed = tell(Renewal::Until(self.bound));
                    if !renewed || alive.cancel_requested && !tell(Renewal::StopAsked) {
                        return;
                    }
                    self.heartbeat_ms = alive.heartbeat_ms;
                    self.due = sent_at + alive.heartbeat_ms;
                    pause = self.pause();
                }
                Err(failure) if !failure.is_decided() => {
                    let rest = pause.rest(failure.retry_after());
                    self.due = again_at(clock::boot_ms(), rest, self.bound);
                }
                // The session may hold another attempt at the task by now; this one is over all the same.
                outcome => {
                    let over = self.over(outcome.err());
                    tell(over);
                    return;
                }
            }
        }
    }

    fn pause(&self) -> Pause {
        let cap = REST_MAX_MS.min(self.heartbeat_ms / 4);
        Pause::new(Steps { first: span(cap / 4).max(REST_MIN), factor: 2, cap: span(cap).max(REST_MIN) })
    }

    /// A session that was closed or replaced on this machine is nobody's to renew for.
    fn beat(&self) -> Result<Answered<Alive>, Failure> {
        if !self.session.is_in_file()? {
            let detail = format!("the session {} was closed or replaced", self.session.name);
            return Err(Refusal::new(Code::SessionClosed, detail).into());
        }
        self.client.call(&Heartbeat { task: self.attempt.task.clone() }, Some(&self.session))
    }

    fn over(&self, failure: Option<Failure>) -> Renewal {
        match finished(&self.client, &self.session, &self.attempt) {
            Ok(true) => Renewal::Finished,
            Ok(false) | Err(_) => Renewal::Lost(failure.unwrap_or_else(|| {
                Failure::cannot_tell(format!("{} is over", self.attempt), "read the task's history")
            })),
        }
    }
}

/// Whether the session itself ended its attempt: the record says who did what.
pub fn finished(client: &Client, session: &Session, attempt: &AttemptId) -> Result<bool, Failure> {
    let question =
        ListEvents { after: None, newest: true, task: Some(attempt.task.clone()), limit: Some(PAGE_ROWS) };
    let events = client.call(&question, None)?.value.events;
    Ok(events.iter().any(|event| {
        let ends = matches!(
            event.kind,
            EventKind::TaskClosed
                | EventKind::TaskHandedOff
                | EventKind::TaskReleased
                | EventKind::TaskCancelled
        );
        let of_attempt = event.attempt.as_ref().is_none_or(|of| of == attempt);
        ends && of_attempt && event.actor.session.as_ref() == Some(&session.id)
    }))
}

/// When to ask again after a rest. Whatever the coordinator states, half of the time until the command is stopped is left
/// for asking again: a lease that nobody renews costs the work.
fn again_at(now: i64, rest: Duration, bound: Bound) -> i64 {
    let rest = rest.min(span((bound.stop_at - now) / 2).max(REST_MIN));
    now.saturating_add(ms(rest))
}

/// Sleeps until a moment that goes on while the machine sleeps.
fn sleep_until(due: i64) {
    loop {
        let left = span(due - clock::boot_ms());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(TICK.min(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_wait_leaves_half_of_the_time_for_asking_again() {
        let bound = Bound { stop_at: 21_000, ends_at: 31_000 };
        let second = Duration::from_secs(1);
        assert_eq!(again_at(1_000, second, bound), 2_000);
        assert_eq!(again_at(1_000, 90 * second, bound), 11_000);
        assert_eq!(again_at(11_000, Duration::MAX, bound), 16_000);
        for late in [20_990, 21_000, 40_000] {
            assert_eq!(
                again_at(late, Duration::MAX, bound),
                late + 50,
                "it neither stands still nor hammers"
            );
        }
    }
}
