//! `tenure store restored`: the next epoch of a store that was restored by other means than `tenure restore`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::{Digest, Epoch, EventNumber};
use tenure_core::model::limits::counted;
use tenure_core::model::refusal::Refusal;
use tenure_core::model::time::WallTime;
use tenure_engine::clock::MachineClocks;
use tenure_engine::restored::{self, Wish, restored};

use super::{hold_off, place};
use crate::context::Context;
use crate::progress::Progress;
use crate::render::{Page, time};
use crate::stop::Stop;

/// What `store restored` takes.
#[derive(clap::Args)]
pub struct Restored {
    /// The store: a URL of PostgreSQL, or a state folder; nobody may serve it
    #[arg(value_name = "WHERE")]
    store: String,
    /// A file with the password of the database
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// What would become of the store, or has become of it.
#[derive(Serialize, JsonSchema)]
struct Report<'a> {
    /// Whether it was done.
    applied: bool,
    /// Where the store is.
    store: String,
    /// The fleet's id.
    fleet: &'a str,
    /// The epoch that ends.
    from_epoch: Epoch,
    /// The number of the last event that the store has.
    after: EventNumber,
    /// What happened last.
    kind: EventKind,
    /// When that was.
    at: WallTime,
    /// The hash of that event: compare it with one noted elsewhere.
    head: Digest,
    /// How many leases end.
    leases: u64,
    /// How many sessions end.
    sessions: u64,
    /// The epoch that begins.
    epoch: Epoch,
    /// The number of its first event.
    event: EventNumber,
    /// What to do next.
    next: &'a str,
}

/// Says what would become of the store, or does it.
pub fn run(wish: &Restored, context: &Context) -> Result<(), Stop> {
    context.check_own::<Report<'_>>()?;
    let place = place("WHERE", &wish.store, "--password-file", wish.password_file.as_deref())?;
    // Whoever works or waits there would start a daemon in between.
    let _nobody_starts_one = hold_off(&[&place])?;
    let progress = Progress::of(&context.screen, "reading the store");
    let whether = if wish.dry_run { Wish::Plan } else { Wish::Begin };
    let done = restored(&place, whether, &MachineClocks, &mut |so_far| progress.tell_restored(so_far));
    drop(progress);
    let done = done.map_err(Refusal::from)?;
    let next = if wish.dry_run {
        "nothing was changed; repeat the command without --dry-run to begin the epoch"
    } else {
        "serve it; whoever goes on from before is told that it was restored, and reconciles"
    };
    if !wish.dry_run {
        context.screen.changed();
    }
    let report = report(&done, !wish.dry_run, place.to_string(), next);
    context.print_own(&report, &shown(&report))
}

fn report<'a>(done: &'a restored::Restored, applied: bool, store: String, next: &'a str) -> Report<'a> {
    Report {
        applied,
        store,
        fleet: &done.found.id,
        from_epoch: done.found.epoch,
        after: done.found.event,
        kind: done.last.kind,
        at: done.last.wall_time,
        head: done.found.head,
        leases: done.leases,
        sessions: done.sessions,
        epoch: done.epoch,
        event: done.event,
        next,
    }
}

fn shown(report: &Report<'_>) -> String {
    let mut page = Page::new();
    page.line(if report.applied {
        "the next epoch has begun"
    } else {
        "in this store the next epoch would begin"
    });
    page.field("store", &report.store);
    page.field("fleet", report.fleet);
    page.field("up to", &format!("event {} of epoch {}", report.after, report.from_epoch));
    page.field("last", &format!("{}, {}", report.kind, time::moment(report.at)));
    page.field("head", &report.head.to_string());
    let ended = [counted(report.leases, "lease"), counted(report.sessions, "session")];
    page.field(if report.applied { "ended" } else { "ends" }, &ended.join(", "));
    page.field("begins", &format!("epoch {}, with event {}", report.epoch, report.event));
    page.field("numbers", "go far on: nothing tells all that was handed out since");
    page.field("next", report.next);
    page.finish()
}
