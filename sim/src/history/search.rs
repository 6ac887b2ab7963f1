//! The search for an order: calls are given their moments as late as possible, one return after the other.
//!
//! What is kept between two returns is every state that the lock can be in, with the calls that have had their moment
//! and have not returned. A return at which no state is left is the end of the shortest beginning that no lock could
//! have produced.

use std::collections::BTreeSet;

use super::lock::{Lock, Owner};
use super::{Call, Heard, What};

/// Most states that are looked at for one return. A history that needs more is not decided, and says so.
const STATES_MAX: usize = 200_000;

/// A state that the lock can be in, and the calls that have had their moment without having returned.
type State = (Lock, BTreeSet<usize>);

/// Judges the history of one task.
pub fn check(calls: &[Call], lease_ms: i64) -> Result<(), String> {
    let mut ends: Vec<usize> = (0..calls.len()).filter(|call| calls[*call].returned.is_some()).collect();
    ends.sort_by_key(|call| calls[*call].returned.map(|returned| returned.order));
    // A write of which nobody heard changes nothing about who holds the lock.
    let moves = |call: &Call| call.returned.is_none() && !matches!(call.what, What::Write(_));
    let unknown: Vec<usize> = (0..calls.len()).filter(|call| moves(&calls[*call])).collect();
    let mut states: BTreeSet<State> = BTreeSet::from([(Lock::new(), BTreeSet::new())]);
    for (place, end) in ends.iter().enumerate() {
        let Some(returned) = calls[*end].returned else { continue };
        let before = |call: &&usize| calls[**call].invoked.order <= returned.order;
        let open: Vec<usize> = unknown.iter().chain(&ends[place..]).filter(before).copied().collect();
        let step =
            Step { calls, lease_ms, open: &open, later: &ends[place..], end: *end, latest: returned.ms };
        states = step.reach(states)?;
        if states.is_empty() {
            return Err(shortest(calls, returned.order));
        }
    }
    Ok(())
}

/// One return.
struct Step<'a> {
    calls: &'a [Call],
    lease_ms: i64,
    /// What may have its moment before it.
    open: &'a [usize],
    /// What has not returned before it.
    later: &'a [usize],
    /// What returns.
    end: usize,
    /// Its time.
    latest: i64,
}

impl Step<'_> {
    /// Every state in which the call that returns has had its moment.
    fn reach(&self, states: BTreeSet<State>) -> Result<BTreeSet<State>, String> {
        let mut reached = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<State> = states.into_iter().map(|state| self.look_around(state)).collect();
        while let Some(state) = waiting.pop() {
            if !self.can_go_on(&state) || !seen.insert(state.clone()) {
                continue;
            }
            if seen.len() > STATES_MAX {
                let task = &self.calls[self.end].task;
                return Err(format!("the history of {task} is not decided: more than {STATES_MAX} states"));
            }
            let (lock, mut had) = state;
            if had.remove(&self.end) {
                reached.insert((lock, had));
                continue;
            }
            for call in self.open.iter().filter(|call| !had.contains(call) && self.comes_first(**call, &had))
            {
                if let Some(lock) = lock.after(&self.calls[*call], self.latest, self.lease_ms) {
                    let mut had = had.clone();
                    had.insert(*call);
                    had.retain(|call| self.matters(*call, &lock));
                    waiting.push(self.look_around((lock, had)));
                }
            }
        }
        Ok(reached)
    }

    /// Whether no other call could take this one's place. Of several that one client asked alike and heard nothing of,
    /// the first that was asked can do all that the others can: its moment may be earlier, and a lock allows no less
    /// earlier.
    fn comes_first(&self, call: usize, had: &BTreeSet<usize>) -> bool {
        let mine = &self.calls[call];
        let is_alike = |other: &Call| {
            other.returned.is_none()
                && (&other.client, other.what) == (&mine.client, mine.what)
                && (other.invoked.ms, other.invoked.order) < (mine.invoked.ms, mine.invoked.order)
        };
        let mut others = self.open.iter().filter(|other| **other != call && !had.contains(other));
        mine.returned.is_some() || !others.any(|other| is_alike(&self.calls[*other]))
    }

    /// Gives their moments to all calls that can have one right now and change nothing: later it would be no better.
    fn look_around(&self, (lock, mut had): State) -> State {
        let unchanged = |call: usize| {
            let after = lock.after(&self.calls[call], self.latest, self.lease_ms);
            after.is_some_and(|after| after == lock)
        };
        let now: Vec<usize> =
            self.open.iter().copied().filter(|call| !had.contains(call) && unchanged(*call)).collect();
        had.extend(now.into_iter().filter(|call| self.calls[*call].returned.is_some()));
        (lock, had)
    }

    /// Whether it must be remembered that a call had its moment: an unknown one of an attempt that is over can have none
    /// any more.
    fn matters(&self, call: usize, lock: &Lock) -> bool {
        let Call { what, returned, .. } = &self.calls[call];
        let generation = match what {
            What::Claim => None,
            What::Renew(generation)
            | What::Write(generation)
            | What::Release(generation)
            | What::Close(generation) => *generation,
        };
        let held = matches!(lock.owner, Owner::Client { .. });
        let over = generation.is_some_and(|generation| generation < lock.generation || !held);
        returned.is_some() || !over
    }

    /// Whether every grant that is still to come can come: its generation has not been given yet.
    fn can_go_on(&self, (lock, had): &State) -> bool {
        self.later.iter().filter(|call| !had.contains(call)).all(|call| match self.calls[*call].heard {
            Heard::Granted(generation, _) => generation > lock.generation,
            Heard::Resumed(generation) => generation >= lock.generation,
            Heard::Renewed(_) | Heard::Done | Heard::Held | Heard::Stale | Heard::Unknown => true,
        })
    }
}

/// The shortest beginning that cannot be, in words.
fn shortest(calls: &[Call], until: i64) -> String {
    let mut lines: Vec<&Call> = calls.iter().filter(|call| call.invoked.order <= until).collect();
    lines.sort_by_key(|call| call.invoked.order);
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    format!("no lock with generations has this history:\n{}", lines.join("\n"))
}
