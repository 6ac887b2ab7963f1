//! `tenure mcp`: the operations as tools for a model, over standard input and output. Each call is what a command is: it
//! finds its caller in the same way and keeps its session in the same file, so a model that calls tools and one that types
//! commands are the same agent.

mod carrier;
mod patience;

use tenure_client::failure::Failure;
use tenure_client::place::Wish;
use tenure_core::operation::tools::Profile;
use tenure_server::mcp::serve_stdio;

use crate::context::Context;
use crate::screen::Screen;
use crate::stop::Stop;

/// Offer the operations to a model as tools (MCP), over standard input and output
///
/// A harness starts it and speaks the Model Context Protocol to it; the page on tools tells how each is told to. Standard
/// output carries the protocol alone, remarks go to standard error, and it ends when its input does.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tenure mcp
  tenure mcp --profile full")]
pub struct Mcp {
    /// Which tools to offer: those of the loop, or every operation of an agent
    #[arg(long, value_enum, default_value = "default")]
    profile: Profile,
}

/// What every call begins with.
struct Beginning {
    screen: Screen,
    session_name: Option<String>,
    wish: Wish,
}

/// Serves until the input ends.
pub fn run(mcp: &Mcp, context: &Context) -> Result<(), Stop> {
    let beginning = Beginning {
        screen: context.screen.clone(),
        session_name: context.session_name.clone(),
        wish: context.wish.clone(),
    };
    serve_stdio(beginning, mcp.profile).map_err(|error| {
        let detail = format!("the protocol ended in the middle: {error}");
        Failure::cannot_tell(detail, "start it from a harness that speaks MCP").into()
    })
}
