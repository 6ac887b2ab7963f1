//! `tenure store copy`: a whole store to another place, also into another database.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use tenure_core::model::ids::{Digest, Epoch, EventNumber};
use tenure_core::model::limits::counted;
use tenure_core::model::refusal::Refusal;
use tenure_engine::clock::MachineClocks;
use tenure_engine::copy::{Copied, copy, plan};

use super::{hold_off, place};
use crate::context::Context;
use crate::progress::Progress;
use crate::render::Page;
use crate::stop::Stop;

/// What `store copy` takes.
#[derive(clap::Args)]
pub struct Copy {
    /// The store to copy: a state folder, or a URL of PostgreSQL; nobody may serve it
    #[arg(long, value_name = "WHERE")]
    from: String,
    /// Where the copy is to be: a state folder, or a URL of PostgreSQL; no fleet may live there
    #[arg(long, value_name = "WHERE")]
    to: String,
    /// A file with the password for --from
    #[arg(long, value_name = "FILE")]
    from_password_file: Option<PathBuf>,
    /// A file with the password for --to
    #[arg(long, value_name = "FILE")]
    to_password_file: Option<PathBuf>,
    /// Only say what would be copied
    #[arg(long)]
    dry_run: bool,
}

/// What a copy would do, or has done.
#[derive(Serialize, JsonSchema)]
struct Report<'a> {
    /// Whether it was done.
    applied: bool,
    /// The store that is copied.
    from: String,
    /// Where the copy is.
    to: String,
    /// The fleet's id.
    fleet: &'a str,
    /// The epoch that ends: the source's.
    from_epoch: Epoch,
    /// The epoch that begins in the copy.
    epoch: Epoch,
    /// How many events the source's record has.
    events: u64,
    /// The number of its last event.
    event: EventNumber,
    /// The hash of that event: compare it with one noted elsewhere.
    head: Digest,
    /// How many tasks are ready.
    ready: u64,
    /// How many rows each table has.
    rows: &'a BTreeMap<&'static str, u64>,
    /// What to do next.
    next: &'a str,
}

/// Says what a copy would do, or does it.
pub fn run(wish: &Copy, context: &Context) -> Result<(), Stop> {
    context.check_own::<Report<'_>>()?;
    let from = place("--from", &wish.from, "--from-password-file", wish.from_password_file.as_deref())?;
    let to = place("--to", &wish.to, "--to-password-file", wish.to_password_file.as_deref())?;
    // Whoever works or waits there would start a daemon in between.
    let nobody_starts_one = if wish.dry_run { Vec::new() } else { hold_off(&[&from, &to])? };
    let progress = Progress::of(&context.screen, "reading the store");
    let done = if wish.dry_run {
        plan(&from, &to, &MachineClocks)
    } else {
        copy(&from, &to, &MachineClocks, &mut |so_far| progress.tell_copy(so_far))
    };
    drop(progress);
    drop(nobody_starts_one);
    let copied = done.map_err(Refusal::from)?;
    let next = if wish.dry_run {
        "nothing was changed; repeat the command without --dry-run to copy"
    } else {
        "serve the copy and never the source again: both are the same fleet, and only the copy knows it"
    };
    if !wish.dry_run {
        context.screen.changed();
    }
    let report = Report {
        applied: !wish.dry_run,
        from: from.to_string(),
        to: to.to_string(),
        fleet: &copied.held.fleet.id,
        from_epoch: copied.held.fleet.epoch,
        epoch: copied.begun.epoch,
        events: copied.held.rows.get("event").copied().unwrap_or_default(),
        event: copied.held.fleet.event,
        head: copied.held.fleet.head,
        ready: copied.held.ready,
        rows: &copied.held.rows,
        next,
    };
    context.print_own(&report, &shown(&report, &copied))
}

fn shown(report: &Report<'_>, copied: &Copied) -> String {
    let mut page = Page::new();
    page.line(if report.applied { "the store was copied" } else { "a copy of this store would be made" });
    page.field("from", &report.from);
    page.field("to", &report.to);
    page.field("fleet", report.fleet);
    page.field("up to", &format!("event {} of epoch {}", report.event, report.from_epoch));
    page.field("head", &report.head.to_string());
    let rows = |table: &str| copied.held.rows.get(table).copied().unwrap_or_default();
    let parts = [
        counted(rows("task"), "task"),
        counted(rows("attempt"), "attempt"),
        counted(rows("event"), "event"),
        counted(rows("receipt"), "receipt"),
    ];
    page.field("rows", &parts.join(", "));
    page.field("ready", &counted(report.ready, "task"));
    page.field("begins", &format!("epoch {}", report.epoch));
    page.field("next", report.next);
    page.finish()
}
