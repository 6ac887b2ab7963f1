//! Acting as a person: the name that is meant, and the password that is typed for this one action.

use schemars::SchemaGenerator;
use serde_json::Value;
use tenure_client::ask::Answered;
use tenure_client::person::{Credentials, Proven};
use tenure_client::place::Place;
use tenure_core::model::ids::PrincipalName;
use tenure_core::operation::account::{BootstrapAccount, CreateAccount, SetPassword};
use tenure_core::operation::{Access, Operation, Spec};

use crate::context::Context;
use crate::environment::variable;
use crate::render::Show;
use crate::stop::{Stop, usage};
use crate::typing::Typing;

// Who acts, for what people prove with a password. A doc comment here would replace what each command says of itself.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct As {
    /// The person who acts, and types their password; the name of this login when absent
    #[arg(id = "person", long = "as", value_name = "NAME")]
    name: Option<PrincipalName>,
}

impl As {
    /// The person's name.
    pub fn name(&self) -> Result<PrincipalName, Stop> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let login = variable("LOGNAME").or_else(|| variable("USER")).unwrap_or_default();
        login.parse().map_err(|_| usage("it is not clear who acts", "name the person with --as NAME"))
    }
}

impl Context {
    /// Whose password an operation sets, when it is called by its name.
    pub fn password_of(&self, spec: &Spec, input: &Value) -> Result<Option<PrincipalName>, Stop> {
        let named = || input.get("name").and_then(Value::as_str).and_then(|name| name.parse().ok());
        match spec.name {
            name if name == BootstrapAccount::SPEC.name || name == CreateAccount::SPEC.name => Ok(named()),
            name if name == SetPassword::SPEC.name => match named() {
                Some(name) => Ok(Some(name)),
                None => As::default().name().map(Some),
            },
            _ => Ok(None),
        }
    }

    /// Asks for an operation of a person, who types the password on the terminal. Where the operation sets a password, the
    /// new one is asked for as well: `whose` names the account.
    pub fn ask_person(
        &self,
        spec: &Spec,
        input: &Value,
        who: &As,
        whose: Option<&PrincipalName>,
    ) -> Result<Vec<u8>, Stop> {
        let what = if spec.access == Access::Console { "the server's secret" } else { "a password" };
        let client = self.client()?;
        client.check_secrecy()?;
        let mut typing = Typing::on_terminal(what)?;
        let name = if spec.access == Access::Console { None } else { Some(who.name()?) };
        let proof = match name {
            Some(name) => {
                // Whoever is to get the password is named, unless it is this machine's own.
                let at = match self.place()? {
                    Place::Server(server) => format!(" at {}", server.url),
                    Place::Local(_) => String::new(),
                };
                let password = typing.line(&format!("Password of {name}{at} for `{}`", spec.name))?;
                Proven::Password { name, password }
            }
            None => Proven::Console(typing.line("The one-time secret that the server printed")?),
        };
        let new_password = whose.map(|whose| typing.new_password(whose.as_str())).transpose()?;
        drop(typing);
        let answer = client.ask_as(spec, input, &Credentials { proof, new_password })?;
        if spec.effect != tenure_core::operation::Effect::Read {
            self.screen.changed();
        }
        Ok(answer)
    }

    /// The same, and prints the answer.
    pub fn perform_as<O: Operation>(
        &self,
        operation: &O,
        who: &As,
        whose: Option<&PrincipalName>,
    ) -> Result<(), Stop>
    where
        O::Answer: Show,
    {
        self.check_fields(SchemaGenerator::subschema_for::<O::Answer>)?;
        let input = serde_json::to_value(operation).expect("inputs are plain data and always serialise");
        let answered: Answered<O::Answer> = Answered::read(self.ask_person(&O::SPEC, &input, who, whose)?)?;
        self.print(&answered)
    }
}
