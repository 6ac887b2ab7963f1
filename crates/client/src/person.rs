//! Asking as a person: with a name and a password, typed for this one request. Nothing of it is kept, so what stays
//! uncertain is not asked again by a later command: a person looks, and asks anew.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tenure_core::model::ids::PrincipalName;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::{Effect, Spec};
use tenure_core::wire;

use crate::call::{Client, patience};
use crate::clock;
use crate::failure::Failure;
use crate::route::route;

/// What a person typed.
pub struct Credentials {
    /// Who proves who they are.
    pub proof: Proven,
    /// The password that an account is to have.
    pub new_password: Option<String>,
}

/// With what.
pub enum Proven {
    /// A name and its password.
    Password {
        /// The name.
        name: PrincipalName,
        /// The password.
        password: String,
    },
    /// The one-time secret that the server printed on its console.
    Console(String),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(…)")
    }
}

impl Client {
    /// Refuses to send what a person types where others could read it. Whoever listens on a port of this machine may be
    /// anybody of it, and nothing proves to the person who it is.
    pub fn check_secrecy(&self) -> Result<(), Failure> {
        let Some(server) = self.server().filter(|server| !server.url.is_encrypted) else { return Ok(()) };
        let detail = format!("what a person types is not sent to {}, where others could read it", server.url);
        let refusal = Refusal::new(Code::OperatorRequired, detail);
        Err(refusal
            .next("use the server's https:// address, or its socket on its own machine (`--local`)")
            .into())
    }

    /// Asks for an operation as a person.
    pub fn ask_as(&self, spec: &Spec, input: &Value, typed: &Credentials) -> Result<Vec<u8>, Failure> {
        self.check_secrecy()?;
        let secret = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let mut headers = match &typed.proof {
            Proven::Password { name, password } => {
                vec![(wire::PERSON, name.to_string()), (wire::PASSWORD, secret(password))]
            }
            Proven::Console(text) => vec![(wire::CONSOLE, secret(text))],
        };
        headers.extend(typed.new_password.as_deref().map(|password| (wire::NEW_PASSWORD, secret(password))));
        if spec.effect != Effect::Read {
            headers.push((wire::IDEMPOTENCY_KEY, clock::operation_id().to_string()));
        }
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Ok(self.exchange(&route(spec, input)?, &headers, patience(spec, input))?)
    }
}
