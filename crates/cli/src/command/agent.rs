//! Letting an agent or a machine in: a token, and the line that whoever is to have it runs on their workstation.

use clap::Subcommand;
use tenure_client::place::Place;
use tenure_client::server_url::ServerUrl;
use tenure_core::token::TokenKind;

use crate::command::token::{self, Given};
use crate::context::Context;
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
    /// Whom it is for
    #[arg(long, default_value = "agent")]
    kind: TokenKind,
    #[command(flatten)]
    given: Given,
    /// The address that the other workstation reaches the server by; that of --server when absent
    #[arg(long, value_name = "URL")]
    server_url: Option<ServerUrl>,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    let Command::Add(Add { kind, given, server_url }) = command;
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
    token::create(context, kind, given, Some(&url))
}
