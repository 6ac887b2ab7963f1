//! An agent at work over the socket: asks, claims, renews and closes, and knows what it holds.

use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};
use tenure_core::model::ids::{AttemptId, OperationId};

use super::fleet::{Agent, operation_id};
use super::wire::{self, Request};

/// A task that an agent holds.
#[derive(Clone)]
pub struct Held {
    /// The attempt.
    pub attempt: AttemptId,
    /// The operation id of its claim, from which the lease token follows.
    pub claim: OperationId,
}

/// An agent and its own connection.
pub struct Worker<'a> {
    /// Who it is.
    pub agent: &'a Agent,
    /// Where it asks.
    pub stream: UnixStream,
    /// What its operation ids are drawn from.
    purpose: String,
    drawn: u64,
}

impl<'a> Worker<'a> {
    /// Connects an agent to the daemon in a folder. No two workers of a fleet may have the same purpose.
    pub fn connect(folder: &Path, agent: &'a Agent, purpose: String) -> Result<Self, String> {
        let stream = wire::connect(folder).map_err(|error| format!("an agent could not connect: {error}"))?;
        Ok(Self { agent, stream, purpose, drawn: 0 })
    }

    /// Another agent on the same connection.
    pub fn beside<'b>(&self, agent: &'b Agent, purpose: String) -> Result<Worker<'b>, String> {
        let stream = self.stream.try_clone().map_err(|error| error.to_string())?;
        Ok(Worker { agent, stream, purpose, drawn: 0 })
    }

    /// A new operation id.
    pub fn draw(&mut self) -> Result<OperationId, String> {
        self.drawn += 1;
        operation_id(&self.purpose, self.drawn)
    }

    /// Asks a question.
    pub fn ask(&self, path: &str) -> Result<Value, String> {
        parsed(&wire::ask(&self.stream, Request::get(path))?)
    }

    /// Asks for a change, under the fence of what is held.
    pub fn change(&mut self, path: &str, held: Option<&Held>, body: &Value) -> Result<Value, String> {
        let id = self.draw()?;
        let fence = held.map(|held| (&held.attempt, &held.claim));
        let request = Request::post(path, self.agent, &id, fence, &body.to_string());
        parsed(&wire::ask(&self.stream, request)?)
    }

    /// Sends a claim of the next task of a project, and returns its id.
    pub fn send_claim(&mut self, project: &str, wait_ms: Option<i64>) -> Result<OperationId, String> {
        let id = self.draw()?;
        let body = json!({ "projects": [project], "another": true, "wait_ms": wait_ms }).to_string();
        wire::send(&self.stream, Request::post("/claims", self.agent, &id, None, &body))?;
        Ok(id)
    }

    /// Waits for the answer to a claim that was sent.
    pub fn receive_claim(&self, claim: &OperationId) -> Result<Held, String> {
        let answer = parsed(&wire::receive(&self.stream)?)?;
        let attempt = answer["attempt"].as_str().ok_or("a claim's answer names no attempt")?;
        Ok(Held { attempt: attempt.parse()?, claim: claim.clone() })
    }

    /// Claims the next task of a project.
    pub fn claim(&mut self, project: &str) -> Result<Held, String> {
        let id = self.send_claim(project, None)?;
        self.receive_claim(&id)
    }

    /// Does something with a task that it holds.
    pub fn act(&mut self, verb: &str, held: &Held, body: &Value) -> Result<Value, String> {
        self.change(&format!("/tasks/{}/{verb}", held.attempt.task), Some(held), body)
    }
}

fn parsed(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| format!("an answer is no JSON: {error}"))
}
