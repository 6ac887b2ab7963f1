//! `tenure` alone: what is going on here, and the next step.

use schemars::SchemaGenerator;
use serde_json::json;
use tenure_client::place::Place;
use tenure_core::operation::project::BindingView;
use tenure_core::operation::queue::{Ready, ReadyList};

use crate::context::Context;
use crate::project_key;
use crate::render::{Page, plain};
use crate::stop::Stop;

/// How many ready tasks are shown.
const READY_SHOWN: u32 = 5;

/// Starts the daemon if none runs, and says what is ready here or how to bind this folder.
pub fn run(context: &Context) -> Result<(), Stop> {
    let info = context.client()?.info()?;
    let place = context.place()?;
    let (shown, store) = match &place {
        Place::Local(store) => {
            (format!("runs with the store in {}", store.display()), store.display().to_string())
        }
        Place::Server(server) => (format!("answers at {}", server.url), server.url.to_string()),
    };
    if context.screen.json.is_none() {
        let text = format!("tenure {} {shown}", info.version);
        context.screen.data(&plain::line(&text));
    }
    let (here, next) = match context.checkout() {
        None => (
            "this folder lies in no Git checkout".to_owned(),
            "go to a Git checkout and run `tenure init`, or play `tenure demo`".to_owned(),
        ),
        Some(checkout) => match context.binding(&checkout)? {
            Some(BindingView { project, .. }) => {
                context.check_fields(SchemaGenerator::subschema_for::<ReadyList>)?;
                let ready = context.call(&Ready { project, limit: Some(READY_SHOWN), cursor: None })?;
                return context.print_as(&ready, &Page::of_command("ready", &ready.value));
            }
            None => (
                format!("{} is bound to no project", checkout.top.display()),
                project_key::next_step(&checkout),
            ),
        },
    };
    let mut page = Page::new();
    page.line(&here);
    page.field("next", &next);
    context.print_value(&json!({"store": store, "project": null, "next": next}), &page.finish())
}
