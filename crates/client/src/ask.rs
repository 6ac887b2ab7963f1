//! Asking for an operation: as nobody, or as a session.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::{Access, Effect, Operation, Spec};
use tenure_core::wire;

use crate::call::{Client, patience, read};
use crate::clock;
use crate::failure::Failure;
use crate::mutation;
pub use crate::mutation::Chosen;
use crate::route::route;
use crate::session::Session;

/// An answer, read and as it came.
#[derive(Debug, Clone)]
pub struct Answered<T> {
    /// The answer.
    pub value: T,
    /// Its bytes.
    pub json: Vec<u8>,
}

impl<T: DeserializeOwned> Answered<T> {
    /// Reads an answer. One that is not whole or of another kind is none.
    pub fn read(json: Vec<u8>) -> Result<Self, Failure> {
        Ok(Self { value: read(&json)?, json })
    }
}

impl Client {
    /// Asks for an operation.
    pub fn call<O: Operation>(
        &self,
        operation: &O,
        session: Option<&Session>,
    ) -> Result<Answered<O::Answer>, Failure> {
        let input = serde_json::to_value(operation).expect("inputs are plain data and always serialise");
        Answered::read(self.ask(&O::SPEC, &input, session)?)
    }

    /// Asks for any operation by its description and its input as JSON. Mutations go through the session's file.
    pub fn ask(&self, spec: &Spec, input: &Value, session: Option<&Session>) -> Result<Vec<u8>, Failure> {
        self.ask_with(spec, input, session, &Chosen::default())
    }

    /// The same, of which the caller chooses something itself.
    pub fn ask_with(
        &self,
        spec: &Spec,
        input: &Value,
        session: Option<&Session>,
        chosen: &Chosen,
    ) -> Result<Vec<u8>, Failure> {
        if spec.access.is_authenticated() {
            // A session is no person. Who asks all the same hears it from the coordinator.
            let id = clock::operation_id().to_string();
            return Ok(self.exchange(
                &route(spec, input)?,
                &[(wire::IDEMPOTENCY_KEY, id.as_str())],
                patience(spec, input),
            )?);
        }
        let headers = match (spec.effect, session) {
            (Effect::Write | Effect::Light, Some(session)) => {
                return mutation::perform(self, session, (spec, input), chosen);
            }
            (Effect::Read, Some(session)) => session.headers(),
            (Effect::Read, None) if spec.access == Access::Anyone => Vec::new(),
            (Effect::Read | Effect::Write | Effect::Light, None) => {
                let detail = format!("`{}` needs a session", spec.name);
                return Err(Refusal::new(Code::SessionRequired, detail).into());
            }
        };
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Ok(self.exchange(&route(spec, input)?, &headers, patience(spec, input))?)
    }
}
