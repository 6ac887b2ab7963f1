//! Where settings come from.

use clap::Subcommand;
use serde_json::json;
use tenure_client::place::{self, Place, Setting};
use tenure_client::token;
use tenure_core::model::refusal::Refusal;

use crate::context::Context;
use crate::environment::variable;
use crate::render::Page;
use crate::stop::Stop;

/// `tenure config …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Show the settings in force
    Show {
        /// Say what set each
        #[arg(long)]
        origin: bool,
    },
}

/// Shows the settings. Nothing is started or asked for it.
pub fn run(command: &Command, context: &Context) -> Result<(), Stop> {
    let Command::Show { origin } = command;
    let mut settings: Vec<Setting> = Vec::new();
    settings.extend(place::server(&context.wish, &variable)?);
    if let Place::Server(server) = context.place()? {
        let file = token::file(&server.folder, &server.url);
        let is_there = token::read(&server.folder, &server.url)?.is_some();
        let origin = if is_there { "it is there" } else { "it is not there yet" };
        settings.push(Setting {
            name: "token",
            value: file.to_string_lossy().into_owned(),
            origin: origin.to_owned(),
        });
        settings.extend(server.authorities);
    }
    settings.push(place::state_folder(&variable)?);
    settings.push(match context.identity() {
        Ok(identity) => {
            Setting { name: "session", value: identity.name.to_string(), origin: identity.origin }
        }
        Err(Refusal { detail, .. }) => Setting { name: "session", value: String::new(), origin: detail },
    });
    if let Some(checkout) = context.checkout() {
        let origin = format!("the Git checkout {}", checkout.top.display());
        settings.push(Setting {
            name: "repository",
            value: checkout.identities.join(" or "),
            origin: origin.clone(),
        });
        settings.push(Setting { name: "folder", value: checkout.folder, origin });
    }
    let mut page = Page::new();
    for setting in &settings {
        let value = if setting.value.is_empty() { "-" } else { &setting.value };
        let told = if *origin { format!("{value}  ({})", setting.origin) } else { value.to_owned() };
        page.field(setting.name, &told);
    }
    context.print_value(&json!({"settings": settings}), &page.finish())
}
