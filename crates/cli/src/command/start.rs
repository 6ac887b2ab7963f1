//! `tenure` alone: what is going on here, and the next step.

use serde_json::json;
use tenure_core::operation::queue::Ready;

use crate::context::Context;
use crate::render::plain;
use crate::stop::Stop;

/// How many ready tasks are shown.
const READY_SHOWN: u32 = 5;

/// Starts the daemon if none runs, and says what is ready here or how to bind this folder.
pub fn run(context: &Context) -> Result<(), Stop> {
    let info = context.client()?.info()?;
    let store = context.store()?;
    if context.screen.json.is_none() {
        let text = format!("tenure {} runs with the store in {}", info.version, store.display());
        context.screen.data(&plain::line(&text));
    }
    let checkout = context.checkout();
    let Some(checkout) = checkout else {
        let next = "go to a Git checkout and run `tenure init KEY`, or play `tenure demo`";
        context.print_value(
            &json!({"store": store, "project": null, "next": next}),
            &format!("this folder lies in no Git checkout: {next}"),
        );
        return Ok(());
    };
    match context.bound_project(&checkout)? {
        Some(project) => context.perform(&Ready { project, limit: Some(READY_SHOWN), cursor: None }),
        None => {
            let next = "tenure init KEY";
            let text = format!("{} is bound to no project: {next}", checkout.top.display());
            context.print_value(&json!({"store": store, "project": null, "next": next}), &plain::line(&text));
            Ok(())
        }
    }
}
