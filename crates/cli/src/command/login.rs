//! Getting in: the token for a server, kept for this user alone.

use std::path::Path;

use serde_json::Value;
use tenure_client::ask::Answered;
use tenure_client::call::Client;
use tenure_client::place::{Place, Server};
use tenure_client::server_url::ServerUrl;
use tenure_client::token::{self, Token};
use tenure_core::operation::Operation;
use tenure_core::operation::whoami::{Identity, WhoAmI};

use crate::context::Context;
use crate::long_text;
use crate::stop::{Stop, usage};
use crate::typing::Typing;

/// Longest text in which a token is looked for.
const TOKEN_BYTES: usize = 1024;

/// Keep the token for a server, once the server knows it
///
/// The token is asked for on the terminal and shows nothing. It is kept in a file of this user alone, in place of the one
/// that was there; `tenure config show --server URL` names the file.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure login --server https://tenure.example\n  \
    tenure login --server https://tenure.example --stdin")]
pub struct Login {
    /// Read the token from standard input instead
    #[arg(long)]
    stdin: bool,
}

/// Runs it.
pub fn run(login: &Login, context: &Context) -> Result<(), Stop> {
    let Place::Server(server) = context.place()? else {
        return Err(usage(
            "the store of this machine asks for no token",
            "name a server with --server URL or TENURE_SERVER",
        ));
    };
    let token = given(&server.url, login.stdin)?;
    let known = known(context, &server, &token)?;
    let file = token::keep(&server.folder, &server.url, &token)?;
    context.screen.remark(&format!("tenure: the token is kept in {}", file.display()));
    context.print(&known)
}

/// The token for a server, as a person types it or a program gives it.
pub fn given(server: &ServerUrl, stdin: bool) -> Result<Token, Stop> {
    let text = if stdin {
        long_text::read_file(Path::new("-"), TOKEN_BYTES, "a token is one short line")?
    } else {
        Typing::on_terminal("a token")?.line(&format!("The token for {server}"))?
    };
    let line = text.lines().next().unwrap_or_default();
    Token::given(line)
        .map_err(|wrong| usage(format!("what was given is {wrong}"), "copy it whole, as it was shown"))
}

/// Whose token it is, if the server knows it.
pub fn known(context: &Context, server: &Server, token: &Token) -> Result<Answered<Identity>, Stop> {
    let screen = context.screen.clone();
    let notice = Box::new(move |text: &str| screen.remark(&format!("tenure: {text}")));
    let client = Client::with_token(server.clone(), Some(token.clone()), notice)?;
    Ok(Answered::read(client.ask(&WhoAmI::SPEC, &Value::Object(serde_json::Map::new()), None)?)?)
}
