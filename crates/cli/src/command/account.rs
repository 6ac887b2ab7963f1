//! Accounts of people. Every password is typed on the terminal.

use clap::Subcommand;
use tenure_core::model::ids::PrincipalName;
use tenure_core::operation::account::{
    BootstrapAccount, CreateAccount, EditAccount, ListAccounts, SetPassword,
};

use crate::context::Context;
use crate::person::As;
use crate::stop::Stop;

/// `tenure account …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Bootstrap(Bootstrap),
    Create(By<CreateAccount>),
    List(By<ListAccounts>),
    Edit(By<EditAccount>),
    Password(Password),
}

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(clap::Args)]
#[command(
    after_help = "While a fleet has no administrator, `tenure serve` prints a one-time secret on the terminal that \
    it was started on. This command asks for that secret and for the new password, on this terminal."
)]
pub struct Bootstrap {
    #[command(flatten)]
    operation: BootstrapAccount,
}

// An operation and who asks for it.
#[derive(clap::Args)]
pub struct By<O: clap::Args> {
    #[command(flatten)]
    pub operation: O,
    #[command(flatten)]
    pub who: As,
}

// Its help is the operation's own comment as well.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure account password\n  \
    tenure account password bob --as ada --reason \"forgotten\"")]
pub struct Password {
    #[command(flatten)]
    operation: SetPassword,
    #[command(flatten)]
    who: As,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Bootstrap(Bootstrap { operation }) => {
            context.perform_as(&operation, &As::default(), Some(&operation.name))
        }
        Command::Create(By { operation, who }) => context.perform_as(&operation, &who, Some(&operation.name)),
        Command::List(By { operation, who }) => context.perform_as(&operation, &who, None),
        Command::Edit(By { operation, who }) => context.perform_as(&operation, &who, None),
        Command::Password(Password { operation, who }) => {
            let whose: PrincipalName = match &operation.name {
                Some(name) => name.clone(),
                None => who.name()?,
            };
            context.perform_as(&operation, &who, Some(&whose))
        }
    }
}
