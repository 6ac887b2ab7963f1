//! The end of a storm: faults have stopped, and everything must come to its end or say what it waits for.

use std::collections::BTreeMap;

use tenure_core::model::status::Status;
use tenure_core::model::task::DEFERRED_WITHOUT_DATE;
use tenure_core::operation::queue::{Explain, Explanation};
use tenure_core::operation::record::History;
use tenure_core::operation::session::ListSessions;
use tenure_core::operation::task::ShowTask;
use tenure_core::operation::view::TaskSummary;
use tenure_engine::chain;

use super::check::{Verdict, ask, tasks};
use super::world::{CALM_MS, Happening, LEASE_MS, STORM_MS, Told, World};
use crate::history;
use crate::ownership;
use crate::recount::one_effect_per_operation;

impl World {
    /// Looks whether everything has come to its end.
    pub(super) fn look(&mut self) -> Verdict {
        self.agenda.note(500, Happening::Look);
        if !self.is_calm {
            return Ok(());
        }
        let shown = tasks(&mut self.store);
        let left: Vec<String> = shown.iter().filter_map(|task| self.has_still_to_come(task)).collect();
        self.ends = left.is_empty() && self.everybody_knows();
        must!(
            self.ends || self.agenda.now < STORM_MS + CALM_MS,
            "faults have stopped for {} s, and this has not come to its end: {left:?}, agents {:?}",
            CALM_MS / 1000,
            self.agents
        );
        Ok(())
    }

    /// What is still to come of a task that is neither over, nor says what it waits for that no agent brings about: a
    /// typed blocker, a date or somebody who resumes it, or a blocker that was cancelled.
    fn has_still_to_come(&mut self, task: &TaskSummary) -> Option<String> {
        if matches!(task.status, Status::Done | Status::Cancelled | Status::Archived) {
            return None;
        }
        let Explanation { ready, reason, chain, .. } =
            ask(&mut self.store, Explain { task: task.id.clone() });
        let leaf = chain.last().expect("a chain begins with the task itself").task.clone();
        let leaf = ask(&mut self.store, ShowTask { task: leaf, entries: None }).task;
        let is_dated = leaf.deferred_until.is_some_and(|until| until != DEFERRED_WITHOUT_DATE);
        let waits_for = [
            ("has an open blocker", true),
            ("is cancelled and still in the way", true),
            ("is put off until its date", is_dated),
            ("is put off until somebody resumes it", !is_dated),
        ];
        let says = !ready && waits_for.iter().any(|(words, told)| *told && reason.contains(words));
        (!says).then(|| format!("{} is {}: {reason}", task.id, task.status))
    }

    /// Whether no living agent is in doubt about anything.
    fn everybody_knows(&self) -> bool {
        let living = self.agents.iter().filter(|agent| !agent.is_gone);
        living.into_iter().all(|agent| self.records[agent.record].is_certain())
    }

    /// What must hold at the very end, from the whole record.
    pub(super) fn last_words(&mut self) -> Verdict {
        if !self.judge.is_restored() {
            let owned = ownership::play(&self.judge.events);
            must!(!owned.is_empty(), "nobody ever owned anything");
        }
        one_effect_per_operation(&self.judge.events);
        let report = chain::verify(&mut self.store, &mut |_| ()).map_err(|error| error.to_string())?;
        must!(report.flaw.is_none(), "the record is not whole: {report:?}");
        must!(report.events == self.judge.events.len() as u64, "the record was read whole: {report:?}");
        for session in ask(&mut self.store, ListSessions { limit: Some(1000) }).sessions {
            must!(session.holds.is_empty(), "{} still holds {:?}", session.name, session.holds);
        }
        self.count()?;
        self.judge_history()?;
        self.pass()?;
        let words = format!(
            "the end after {} steps, head {}, {} replays, {} stale writes refused, {}",
            self.steps(),
            report.head,
            self.judge.replayed,
            self.judge.stale_refused,
            self.bites()
        );
        self.say(&words);
        Ok(())
    }

    /// What was asked and heard is the history of locks. After a restore another history begins, in which locks are not
    /// new; it is judged by the record alone.
    pub(super) fn judge_history(&mut self) -> Verdict {
        if self.judge.is_restored() {
            return Ok(());
        }
        let ids: Vec<String> = tasks(&mut self.store).iter().map(|task| task.id.to_string()).collect();
        let calls = self.asking.calls(&ids);
        self.calls = calls.len() as u64;
        history::check(&calls, LEASE_MS)
    }

    /// What was acknowledged is there, once; nothing is there twice.
    fn count(&mut self) -> Verdict {
        let mut found: BTreeMap<String, u32> = BTreeMap::new();
        for task in tasks(&mut self.store) {
            *found.entry(task.title).or_default() += 1;
            for entry in ask(&mut self.store, History { task: task.id, limit: Some(1000) }).entries {
                *found.entry(entry.text).or_default() += 1;
            }
        }
        for (text, told) in &self.texts {
            let times = found.get(text).copied().unwrap_or_default();
            must!(times <= 1, "P4: {text:?} was recorded {times} times");
            must!(*told == Told::Nothing || times == 1, "P2: {text:?} was acknowledged, and is not there");
        }
        Ok(())
    }
}
