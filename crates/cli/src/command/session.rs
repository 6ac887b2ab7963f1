//! Sessions. Opening one is seldom typed: the first command that needs a session opens it.

use clap::Subcommand;
use schemars::SchemaGenerator;
use tenure_client::session::Particulars;
use tenure_core::model::ids::{Capability, SessionId};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::session::{CloseSession, ListSessions, SessionAnswer, ShowSession};

use crate::context::Context;
use crate::render::joined;
use crate::stop::Stop;

/// `tenure session …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Open(Open),
    Show(Show),
    List(ListSessions),
    Close(CloseSession),
}

/// Open the calling session, with what it offers to tasks
#[derive(clap::Args)]
pub struct Open {
    /// Give up the session that is known under this name, and open another
    #[arg(long)]
    anew: bool,
    /// What it offers to tasks that require something; repeatable
    #[arg(long = "capability")]
    capabilities: Vec<Capability>,
    /// The session that starts this one, for a subagent
    #[arg(long)]
    parent: Option<SessionId>,
}

/// Show a session by id or five-word handle; the calling one when absent
#[derive(clap::Args)]
pub struct Show {
    /// The id or the handle
    session: Option<String>,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Open(Open { anew, capabilities, parent }) => {
            context.check_fields(SchemaGenerator::subschema_for::<SessionAnswer>)?;
            let tells_more = parent.is_some() || !capabilities.is_empty();
            let instead_of = if anew { context.known_session()?.map(|known| known.id) } else { None };
            let session = context.open_session(&Particulars { parent, capabilities, instead_of })?;
            if tells_more && !session.is_new {
                let detail = format!(
                    "the session {} is open already, and what it offers is told when it opens",
                    session.name
                );
                return Err(Refusal::new(Code::StateConflict, detail)
                    .next("repeat with --anew; what the old session holds is recovered after its leases end")
                    .into());
            }
            if session.is_new {
                context.screen.changed();
            }
            context.perform(&ShowSession { session: session.id.to_string() })
        }
        Command::Show(Show { session }) => {
            let session = match session {
                Some(session) => session,
                None => context.session()?.id.to_string(),
            };
            context.perform(&ShowSession { session })
        }
        Command::List(operation) => context.perform(&operation),
        Command::Close(operation) => close(&operation, context),
    }
}

/// Closes the calling session. What it holds cannot be given back any more, so that is said.
fn close(operation: &CloseSession, context: &Context) -> Result<(), Stop> {
    context.check_fields(SchemaGenerator::subschema_for::<SessionAnswer>)?;
    let closed = context.call(operation)?;
    context.print(&closed)?;
    let held = &closed.value.session.holds;
    if !held.is_empty() {
        context.screen.remark(&format!(
            "tenure: it still holds {}, and nobody can go on with that before its lease ends; `tenure claim` then takes \
             it over",
            joined(held)
        ));
    }
    Ok(())
}
