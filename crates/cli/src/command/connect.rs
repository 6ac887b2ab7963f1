//! Setting a workstation up for a server: one command from its URL to the first claim. What it writes is what `login` and
//! the configuration have anyway.

use std::path::PathBuf;

use serde_json::json;
use tenure_client::ask::Answered;
use tenure_client::place::{self, Place, Wish};
use tenure_client::server_url::ServerUrl;
use tenure_client::{config_file, token, version};
use tenure_core::operation::project::BindingView;
use tenure_core::operation::whoami::Identity;

use crate::command::login;
use crate::context::Context;
use crate::environment::variable;
use crate::project_key;
use crate::render::Page;
use crate::stop::{Stop, usage};

/// Set this workstation up for a server, from its URL to the first claim
///
/// The server and its certificate are looked at first; then the token is asked for on the terminal, and shows nothing. Once the
/// server knows the token, it is kept for this user alone, and the server becomes this user's default. Where anything is
/// refused, nothing is changed; to repeat it is harmless.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure connect https://tenure.example\n  \
    tenure connect https://tenure.example --ca ca.pem\n  \
    tenure connect https://tenure.example --check\n\n\
    `tenure agent add` makes the token, on the server's side, and prints the line to run here.")]
pub struct Connect {
    /// The server's address, as https://tenure.example
    url: ServerUrl,
    /// The authorities that its certificate is checked against, in PEM; kept beside the server
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Read the token from standard input instead
    #[arg(long)]
    stdin: bool,
    /// Keep the token, and leave the default as it is
    #[arg(long)]
    no_default: bool,
    /// Only look at the server, its certificate and the token that is kept, and change nothing
    #[arg(long, conflicts_with_all = ["stdin", "no_default"])]
    check: bool,
}

/// Runs it.
pub fn run(connect: &Connect, context: &Context) -> Result<(), Stop> {
    if context.wish.local || context.wish.server.is_some() {
        return Err(usage("the server is named twice", "name it once, as `tenure connect URL`"));
    }
    let authorities = connect.ca.as_deref().map(std::path::absolute).transpose().map_err(|error| {
        usage(format!("--ca names no file: {error}"), "name a file of certificates in PEM")
    })?;
    let server = Some(connect.url.to_string());
    let wish = Wish { server, named_by: Some(place::TYPED), authorities: authorities.clone(), local: false };
    let there = Context::new(context.screen.clone(), context.session_name.clone(), wish);
    let Place::Server(server) = there.place()? else { unreachable!("a server was named") };
    let version = version::server_version(&there.nameless_client()?)?;
    context.screen.remark(&format!("tenure: {} is tenure {version}", server.url));
    if connect.check {
        let known = match token::read(&server.folder, &server.url)? {
            Some(token) => Some(login::known(&there, &server, &token)?),
            None => None,
        };
        return told(&there, known.as_ref(), "it is looked at, and nothing was changed");
    }
    let token = login::given(&server.url, connect.stdin)?;
    let known = login::known(&there, &server, &token)?;
    // What is to be written is known to be right before the first of it is.
    let config = match (connect.no_default, place::config_file(&variable)) {
        (true, _) => None,
        (false, Some(file)) => Some(config_file::with_server(&file, &server.url, authorities.as_deref())?),
        (false, None) => {
            return Err(usage("there is no place for a default: HOME is not set", "say --no-default"));
        }
    };
    let file = token::keep(&server.folder, &server.url, &token)?;
    context.screen.remark(&format!("tenure: the token is kept in {}", file.display()));
    if let Some(config) = config {
        let file = config.write()?;
        context.screen.remark(&format!("tenure: the server is the default, as {} says", file.display()));
    }
    told(&there, Some(&known), "it is set up")
}

/// Says who one is there, what of it belongs to the present checkout, and what to do next.
fn told(there: &Context, known: Option<&Answered<Identity>>, how: &str) -> Result<(), Stop> {
    let Place::Server(server) = there.place()? else { unreachable!("a server was named") };
    let mut page = Page::new();
    page.field("server", &format!("{}: {how}", server.url));
    let Some(known) = known else {
        let next = format!("tenure connect {}", server.url);
        page.field("next", &format!("`{next}`, with a token from whoever runs the server"));
        let value = json!({ "server": server.url.to_string(), "token": null, "next": next });
        return there.print_value(&value, &page.finish());
    };
    let name = known.value.token.as_ref().map(|token| token.name.to_string());
    let kind = known.value.token.as_ref().map(|token| token.kind);
    page.field(
        "known as",
        &format!("{} {}", kind.map_or("", |kind| kind.as_str()), name.as_deref().unwrap_or("-")),
    );
    let checkout = there.checkout();
    let binding: Option<BindingView> = checkout.as_ref().map(|it| there.binding(it)).transpose()?.flatten();
    let next = match (&binding, &checkout) {
        (Some(binding), _) => {
            page.field("project", &format!("{}, of this checkout", binding.project));
            "tenure ready".to_owned()
        }
        (None, Some(checkout)) => {
            page.field("project", "none is bound to this checkout");
            project_key::next_step(checkout)
        }
        (None, None) => {
            page.field("project", "this folder lies in no Git checkout");
            "tenure project list".to_owned()
        }
    };
    page.field("next", &next);
    let value = json!({
        "server": server.url.to_string(),
        "token": known.value.token,
        "project": binding.map(|binding| binding.project),
        "next": next,
    });
    there.print_value(&value, &page.finish())
}
