//! An agent inside the test's own process: the client library, one session, and a log of all it asked and heard.

use std::path::Path;

use serde_json::Value;
use tenure_client::autostart::Start;
use tenure_client::call::{Client, Retry};
use tenure_client::failure::Failure;
use tenure_client::identity::Identity;
use tenure_client::mutation::{self, Chosen};
use tenure_client::session::{Particulars, Session};
use tenure_core::model::refusal::Refusal;
use tenure_core::operation::catalog::entries;
use tenure_core::operation::{Operation, Spec};

use crate::log::{End, Log};
use crate::program;

/// An agent with its session.
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its way to the daemon.
    pub client: Client,
    /// Its session.
    pub session: Session,
    log: Option<Log>,
}

/// How a call ended, typed.
#[derive(Debug)]
pub enum Outcome<T> {
    /// Done.
    Ok(T),
    /// Refused.
    Refused(Refusal),
    /// Nobody can tell.
    Unknown(String),
}

impl<T: std::fmt::Debug> Outcome<T> {
    /// The answer of a call that must succeed.
    pub fn ok(self) -> T {
        match self {
            Self::Ok(answer) => answer,
            other => panic!("the call should have been done: {other:?}"),
        }
    }

    /// The refusal of a call that must be refused.
    pub fn refused(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            other => panic!("the call should have been refused: {other:?}"),
        }
    }
}

/// A caller without a session. It starts no daemon.
#[must_use]
pub fn client(folder: &Path) -> Client {
    Client::new(folder, None, Box::new(|_| ()))
}

/// A caller that starts the daemon when none answers, as every command does.
#[must_use]
pub fn starting_client(folder: &Path) -> Client {
    let start = Start { program: program::tenure().to_owned(), arguments: Vec::new() };
    Client::new(folder, Some(start), Box::new(|_| ()))
}

/// An agent's identity by its name alone.
#[must_use]
pub fn identity(name: &str) -> Identity {
    let name = name.parse().expect("tests choose valid names");
    Identity { name, conversation: None, harness: None, origin: "a test".to_owned() }
}

/// What is constant about an operation that is known by its name.
#[must_use]
pub fn spec(operation: &str) -> Spec {
    let found = entries().into_iter().find(|entry| entry.spec.name == operation);
    found.unwrap_or_else(|| panic!("{operation} is no operation")).spec
}

impl Agent {
    /// Opens a session under this name.
    #[must_use]
    pub fn open(client: Client, name: &str) -> Self {
        Self::try_open(client, name).unwrap_or_else(|failure| panic!("{name} opens no session: {failure}"))
    }

    /// The same where the daemon may be gone at any moment.
    pub fn try_open(client: Client, name: &str) -> Result<Self, Failure> {
        let session = Session::open(&client, &identity(name), &Particulars::default())?;
        Ok(Self { name: name.to_owned(), client, session, log: None })
    }

    /// The same agent, writing down what it asks and hears in a folder of logs.
    #[must_use]
    pub fn logging(self, logs: &Path) -> Self {
        Self { log: Some(Log::of(logs, &self.name)), ..self }
    }

    /// The same agent, who does not ask again by itself: what it is told first is all that it hears.
    #[must_use]
    pub fn asking_once(self) -> Self {
        let once = Retry { pause_ms: 0, repetitions: 0 };
        Self { client: self.client.with_retry(once), ..self }
    }

    /// Asks for an operation.
    pub fn ask<O: Operation>(&self, operation: &O) -> Outcome<O::Answer> {
        let input = serde_json::to_value(operation).expect("inputs are plain data");
        let call = self.log.as_ref().map(|log| log.invoke(O::SPEC.name, &input));
        let outcome = self.client.call(operation, Some(&self.session));
        if let (Some(log), Some(call)) = (&self.log, call) {
            let outcome = outcome.as_ref().map(|answered| {
                serde_json::from_slice(&answered.json).expect("an answer that was read is JSON")
            });
            log.heard(call, ending(outcome));
        }
        match outcome {
            Ok(answered) => Outcome::Ok(answered.value),
            Err(Failure::Refused(refusal)) if !is_uncertain(&refusal) => Outcome::Refused(*refusal),
            Err(failure) => Outcome::Unknown(failure.to_string()),
        }
    }

    /// Asks for a mutation that is known by its name.
    pub fn mutate(&self, operation: &str, input: &Value) -> Result<Value, Failure> {
        let answer =
            mutation::perform(&self.client, &self.session, (&spec(operation), input), &Chosen::default())?;
        Ok(serde_json::from_slice(&answer).expect("an answer that was accepted is JSON"))
    }
}

/// Whether a refusal only says that nobody can tell.
fn is_uncertain(refusal: &Refusal) -> bool {
    use tenure_core::model::refusal::Code;
    matches!(refusal.code, Code::CannotTell | Code::Overloaded | Code::Behind)
}

fn ending(outcome: Result<Value, &Failure>) -> End {
    match outcome {
        Ok(answer) => End::Ok { answer },
        Err(Failure::Refused(refusal)) if !is_uncertain(refusal) => {
            End::Refused { code: refusal.code, facts: serde_json::json!(refusal.facts) }
        }
        Err(failure) => End::Unknown { detail: failure.to_string() },
    }
}
