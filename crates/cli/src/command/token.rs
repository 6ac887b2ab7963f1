//! Tokens of agents and machines. The token is drawn here; the coordinator is told its hash alone.

use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use tenure_client::ask::Answered;
use tenure_client::clock;
use tenure_client::server_url::ServerUrl;
use tenure_core::model::ids::{PrincipalName, TokenId};
use tenure_core::operation::Operation;
use tenure_core::operation::token::{CreateToken, ListTokens, RevokeToken, RotateToken, TokenAnswer};
use tenure_core::token::{Token, TokenKind};

use crate::command::account::By;
use crate::context::Context;
use crate::duration::{self, ms};
use crate::person::As;
use crate::render::time;
use crate::stop::Stop;

/// `tenure token …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Create(Create),
    List(By<ListTokens>),
    Rotate(Rotate),
    Revoke(By<RevokeToken>),
}

/// Give an agent or a machine a token for the network (administrators only)
///
/// The token is printed once, alone on standard output, and kept nowhere: whoever is to have it runs `tenure login`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure token create ci-1 --kind agent --reason \"nightly runs\" --as ada\n  \
    tenure token create mill --kind machine --for 30d --reason \"the build machine\" --as ada")]
pub struct Create {
    /// Whom it is for
    #[arg(long)]
    kind: TokenKind,
    #[command(flatten)]
    given: Given,
}

// What is said of a token that is to be made, besides its kind. A doc comment here would replace the commands' own.
#[derive(clap::Args)]
pub struct Given {
    /// The agent's or the machine's name
    name: PrincipalName,
    /// It asks and changes nothing
    #[arg(long)]
    read_only: bool,
    /// How long it counts, up to 366d; 90d when absent
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    valid: Option<Duration>,
    /// The reason
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    who: As,
}

/// Replace a token by another one of the same name (administrators only)
///
/// The new one is printed once, alone on standard output. The old one ends at once, or after the overlap.
#[derive(clap::Args)]
pub struct Rotate {
    /// The token's id, as `tenure token list` shows it
    token: TokenId,
    /// Whom it is for, as before
    #[arg(long)]
    kind: TokenKind,
    /// How long the old one goes on beside it, up to 24h; it ends at once when absent
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    overlap: Option<Duration>,
    /// The reason
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    who: As,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Create(Create { kind, given }) => create(context, kind, given, None),
        Command::List(By { operation, who }) => context.perform_as(&operation, &who, None),
        Command::Rotate(Rotate { token: old, kind, overlap, reason, who }) => {
            let token = Token::of(kind, clock::random());
            let hash = token.hash();
            let overlap_ms = overlap.map(ms);
            let rotate = RotateToken { token: old, kind, hash, overlap_ms, reason };
            give(context, &rotate, &who, (&token, None))
        }
        Command::Revoke(By { operation, who }) => context.perform_as(&operation, &who, None),
    }
}

/// Makes a token and shows it once; with a server's address, also the command that sets a workstation up with it.
pub fn create(
    context: &Context,
    kind: TokenKind,
    given: Given,
    connect: Option<&ServerUrl>,
) -> Result<(), Stop> {
    let Given { name, read_only, valid, reason, who } = given;
    let token = Token::of(kind, clock::random());
    let create = CreateToken { name, kind, hash: token.hash(), read_only, valid_ms: valid.map(ms), reason };
    give(context, &create, &who, (&token, connect))
}

/// Asks for an operation that makes a token, and shows the token once the coordinator knows it.
fn give<O: Operation<Answer = TokenAnswer>>(
    context: &Context,
    operation: &O,
    who: &As,
    (token, connect): (&Token, Option<&ServerUrl>),
) -> Result<(), Stop> {
    let input = serde_json::to_value(operation).expect("inputs are plain data and always serialise");
    let answered: Answered<TokenAnswer> = Answered::read(context.ask_person(&O::SPEC, &input, who, None)?)?;
    let made = &answered.value.token;
    context.screen.remark(&format!(
        "tenure: the token {} is for the {} {}, until {}; it is shown this once, and {}",
        made.token,
        made.kind,
        made.name,
        time::moment(made.expires_at),
        if connect.is_some() {
            "the other workstation is asked for it when it runs the first line"
        } else {
            "`tenure login` keeps it there"
        }
    ));
    let mut value = json!({ "token": made, "text": token.as_str() });
    let mut lines = format!("{}\n", token.as_str());
    if let Some(url) = connect {
        let command = format!("tenure connect {url}");
        lines = format!("{command}\n{lines}");
        value["connect"] = json!(command);
    }
    context.print_value(&value, &lines)
}
