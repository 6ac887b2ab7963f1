//! Waiting inside a call. A claim is asked for when there is work, and not left with the coordinator: nothing is claimed for
//! a model that has stopped waiting.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tenure_client::failure::Failure;
use tenure_core::operation::ownership::Claim;
use tenure_core::operation::wait::{Until, Wait};
use tenure_core::operation::{Operation, Spec};
use tenure_server::mcp::Beside;
use tenure_server::mcp::asked::Asked;

use crate::stop::Stop;

/// How long the coordinator is asked to wait before it is looked whether somebody still does here, in milliseconds.
const LOOK_MS: u64 = 2_000;

/// How long a call waits, and for what.
pub(super) struct Patience {
    until: Instant,
    /// What is waited for between two claims; a wait waits by itself.
    between: Option<Map<String, Value>>,
}

/// The patience of a call that has some.
pub(super) fn patience(asked: &Asked) -> Option<Patience> {
    let name = asked.tool.spec.name;
    if ![Claim::SPEC.name, Wait::SPEC.name].contains(&name) {
        return None;
    }
    let wait_ms = asked.input.get("wait_ms")?.as_u64().filter(|wait| *wait > 0)?;
    let between = (name == Claim::SPEC.name).then(|| {
        let mut wait = asked.input.clone();
        wait.remove("another");
        if wait.get("task").is_some_and(Value::is_string) {
            wait.insert("until".to_owned(), json!(Until::Ready));
            wait.remove("no_recovery");
        }
        wait
    });
    Some(Patience { until: Instant::now() + Duration::from_millis(wait_ms), between })
}

impl Patience {
    /// Asks until there is an answer, nobody waits for it, or the time is over.
    pub(super) fn ask(
        mut self,
        asked: &Asked,
        beside: &Beside,
        ask: impl Fn(&Spec, &Map<String, Value>) -> Result<String, Stop>,
    ) -> Result<String, Stop> {
        let mut input = asked.input.clone();
        loop {
            let slice = json!(self.left_ms().min(LOOK_MS));
            match &mut self.between {
                Some(_) => drop(input.remove("wait_ms")),
                None => drop(input.insert("wait_ms".to_owned(), slice.clone())),
            }
            match ask(&asked.tool.spec, &input) {
                Err(stop) if may_pass(&stop) && self.left_ms() > 0 && !beside.is_gone() => {
                    if let Some(wait) = &mut self.between {
                        wait.insert("wait_ms".to_owned(), slice);
                        match ask(&Wait::SPEC, wait) {
                            Err(stop) if !may_pass(&stop) => return Err(stop),
                            Ok(_) | Err(_) => {}
                        }
                        // What was freed meanwhile is for somebody who still waits.
                        if beside.is_gone() {
                            return Err(stop);
                        }
                    }
                }
                end => return end,
            }
        }
    }

    fn left_ms(&self) -> u64 {
        let left = self.until.saturating_duration_since(Instant::now()).as_millis();
        u64::try_from(left).unwrap_or(u64::MAX)
    }
}

fn may_pass(stop: &Stop) -> bool {
    let worth = tenure_core::rules::patience::Patience::is_worth_it;
    matches!(stop, Stop::Failure(Failure::Refused(refusal)) if worth(refusal))
}
