//! The record.

use std::ops::ControlFlow;

use clap::Args;
use schemars::SchemaGenerator;
use tenure_core::model::event::Event;
use tenure_core::operation::record::{self, EventList, ListEvents};

use crate::context::Context;
use crate::fields;
use crate::on_task::OnTask;
use crate::render::Page;
use crate::stop::Stop;

/// `tenure stats`.
pub type Statistics = record::Statistics;
/// `tenure history`.
pub type History = OnTask<record::History, true>;

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure events --newest\n  \
    tenure events --follow --task afc-1\n  \
    tenure events --follow --json --after 1-200")]
pub struct Events {
    #[command(flatten)]
    events: ListEvents,
    /// Go on with events as they happen, after the newest ones or those after a cursor; with --json, one a line
    #[arg(long)]
    follow: bool,
}

/// Shows events, or follows them.
pub fn events(command: Events, context: &Context) -> Result<(), Stop> {
    let Events { events, follow } = command;
    if !follow {
        return context.perform(&events);
    }
    context.check_fields(SchemaGenerator::subschema_for::<EventList>)?;
    let print = |event: &Event, bytes: &str| match context.screen.json.as_deref() {
        None => context.screen.data(&Page::of(event)),
        Some([]) => context.screen.json(bytes),
        Some(names) => context.screen.json(&fields::row(bytes, names)),
    };
    let after = match events.after {
        Some(after) => after,
        None => {
            let newest = context.call(&ListEvents { newest: true, ..events.clone() })?.value;
            for event in &newest.events {
                let bytes =
                    serde_json::to_string(event).expect("an event is plain data and always serialises");
                print(event, &bytes);
            }
            newest.cursor
        }
    };
    context.client()?.follow(events, after, &mut |event, bytes| match print(event, bytes) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    })?;
    Ok(())
}
