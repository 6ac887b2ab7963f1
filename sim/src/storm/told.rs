//! What the clients of a storm asked and heard, as histories of locks.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::model::ids::OperationId;
use tenure_core::model::refusal::Refusal;
use tenure_core::operation::ownership::{Alive, Claimed};
use tenure_engine::Command;

use crate::history::logged::{refused, what};
use crate::history::{Call, Heard, Moment, Span, What};

/// What one operation id was used for, and what came of it for its client.
struct Asked {
    command: Command,
    invoked: Moment,
    /// How many messages went out with it, until the client heard. Each heartbeat renews, and whichever of them was
    /// refused, another may have taken effect.
    messages: u32,
    heard: Option<(Moment, Result<String, Refusal>)>,
}

/// Everything that was asked, by its id.
#[derive(Default)]
pub struct Asking(BTreeMap<OperationId, Asked>);

impl Asking {
    /// A client asks, perhaps not for the first time.
    pub fn ask(&mut self, id: &OperationId, command: &Command, invoked: Moment) {
        let asked = || Asked { command: command.clone(), invoked, messages: 0, heard: None };
        self.0.entry(id.clone()).or_insert_with(asked);
    }

    /// A message with it goes out.
    pub fn send(&mut self, id: &OperationId) {
        if let Some(asked) = self.0.get_mut(id) {
            asked.messages += 1;
        }
    }

    /// The client hears.
    pub fn hear(&mut self, id: &OperationId, returned: Moment, outcome: &Result<String, Refusal>) {
        if let Some(asked) = self.0.get_mut(id) {
            asked.heard.get_or_insert_with(|| (returned, outcome.clone()));
        }
    }

    /// The calls as locks know them; a claim that named no task and was not answered may have got any of `tasks`.
    #[must_use]
    pub fn calls(&self, tasks: &[String]) -> Vec<Call> {
        self.0.values().flat_map(|asked| asked.calls(tasks)).collect()
    }
}

impl Asked {
    fn calls(&self, tasks: &[String]) -> Vec<Call> {
        let fence = self.command.envelope.fence.as_ref().map(|fence| &fence.attempt);
        let generation = fence.map(|attempt| attempt.generation.0);
        let name = self.command.operation.spec().name;
        let Some(what) = what(name, generation).filter(|what| generation.is_some() || *what == What::Claim)
        else {
            return Vec::new();
        };
        let input: Value = serde_json::from_str(&self.command.operation.to_json()).expect("an input is JSON");
        if input["recovery"] == true {
            return Vec::new();
        }
        let named: Vec<String> = match input["task"].as_str() {
            Some(task) => vec![task.to_owned()],
            None => tasks.to_vec(),
        };
        let unheard = |task: &String| self.call(task, what, None, Heard::Unknown);
        match &self.heard {
            None => named.iter().map(unheard).collect(),
            Some((at, Ok(answer))) => {
                let (task, heard) = answered(what, answer, named.first());
                let mut calls = vec![self.call(&task, what, Some(*at), heard)];
                if matches!(what, What::Renew(_)) {
                    calls.extend((1..self.messages).map(|_| unheard(&task)));
                }
                calls
            }
            Some((at, Err(refusal))) => {
                let heard = refused(what, refusal.code).filter(|_| named.len() == 1);
                let told = heard.map(|heard| self.call(&named[0], what, Some(*at), heard));
                let others = named.iter().filter(|_| self.messages > 1).map(unheard);
                told.into_iter().chain(others).collect()
            }
        }
    }

    fn call(&self, task: &str, what: What, returned: Option<Moment>, heard: Heard) -> Call {
        let client = self.command.envelope.caller.as_ref().map(|caller| caller.session.to_string());
        let client = client.unwrap_or_default();
        Call { client, task: task.to_owned(), what, invoked: self.invoked, returned, heard }
    }
}

/// What an answer tells, and about which task.
fn answered(what: What, answer: &str, named: Option<&String>) -> (String, Heard) {
    let task = || named.cloned().unwrap_or_default();
    let exactly = |deadline| Span { from: deadline, to: deadline };
    match what {
        What::Claim => {
            let claimed: Claimed = serde_json::from_str(answer).expect("a claim's answer");
            let generation = claimed.generation.0;
            let granted = Heard::Granted(generation, exactly(claimed.deadline.0));
            let heard = if claimed.resumed { Heard::Resumed(generation) } else { granted };
            (claimed.attempt.task.to_string(), heard)
        }
        What::Renew(_) => {
            let alive: Alive = serde_json::from_str(answer).expect("a heartbeat's answer");
            (task(), Heard::Renewed(exactly(alive.deadline.0)))
        }
        What::Write(_) | What::Release(_) | What::Close(_) => (task(), Heard::Done),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::envelope::{Envelope, Fence};
    use tenure_core::model::refusal::Code;
    use tenure_core::operation::ownership::Close;
    use tenure_core::secret::SessionSecret;

    use super::*;

    fn close() -> Command {
        let secret = SessionSecret::new([7; 32]);
        let token = secret.lease_token(&"op-0".parse().expect("an id"));
        let fence = Fence { attempt: "afc-1@1".parse().expect("an attempt"), token };
        let close: Close = serde_json::from_value(json!({ "task": "afc-1" })).expect("a close");
        Command { operation: close.into(), envelope: Envelope { fence: Some(fence), ..Envelope::default() } }
    }

    /// Seed 249963166757483: of two copies in one batch the first was refused, and the second was not.
    #[test]
    fn a_refusal_of_one_message_says_nothing_of_another_with_its_id() {
        let id: OperationId = "op-1".parse().expect("an id");
        let moment = |order| Moment { order, ms: order };
        let refusal = Err(Refusal::new(Code::RequirementsMissing, "no disposition"));
        for (messages, heard) in [(1, vec![]), (2, vec![Heard::Unknown])] {
            let mut asking = Asking::default();
            asking.ask(&id, &close(), moment(1));
            (0..messages).for_each(|_| asking.send(&id));
            asking.hear(&id, moment(2), &refusal);
            let calls: Vec<Heard> = asking.calls(&[]).into_iter().map(|call| call.heard).collect();
            assert_eq!(calls, heard, "{messages} messages");
        }
    }
}
