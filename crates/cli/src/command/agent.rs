//! Letting an agent or a machine in: a token, and the line that whoever is to have it runs on their workstation.

use std::time::Duration;

use clap::Subcommand;
use tenure_client::place::Place;
use tenure_client::server_url::ServerUrl;
use tenure_core::model::ids::PrincipalName;
use tenure_core::token::TokenKind;

use crate::command::token::{self, Given};
use crate::context::Context;
use crate::duration;
use crate::person::As;
use crate::stop::{Stop, usage};

/// `tenure agent …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Add(Add),
}

/// Let an agent or a machine in by the network (administrators only)
///
/// It makes a token as `tenure token create` does, and prints two lines: the command that sets the other workstation up, and the
/// token, which is shown this once.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure agent add ci-1 --reason \"nightly runs\" --as ada --server-url https://tenure.example\n  \
    tenure agent add mill --kind machine --for 30d --reason \"the build machine\" --as ada")]
pub struct Add {
    /// The agent's or the machine's name
    name: PrincipalName,
    /// Whom it is for
    #[arg(long, default_value = "agent")]
    kind: TokenKind,
    /// It asks and changes nothing
    #[arg(long)]
    read_only: bool,
    /// How long it counts, up to 366d; 90d when absent
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    valid: Option<Duration>,
    /// The reason
    #[arg(long)]
    reason: String,
    /// The address that the other workstation reaches the server by; that of --server when absent
    #[arg(long, value_name = "URL")]
    server_url: Option<ServerUrl>,
    #[command(flatten)]
    who: As,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    let Command::Add(Add { name, kind, read_only, valid, reason, server_url, who }) = command;
    let url = match (server_url, context.place()?) {
        (Some(url), _) => url,
        (None, Place::Server(server)) => server.url,
        (None, Place::Local(_)) => {
            return Err(usage(
                "from here it is not known by which address others reach this server",
                "name it with --server-url https://…",
            ));
        }
    };
    token::create(context, Given { name, kind, read_only, valid, reason, who }, Some(&url))
}
