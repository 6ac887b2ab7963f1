//! `tenure restore`: a backup in the place of the store. It needs no daemon; beside one it looks, and changes nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tenure_client::autostart;
use tenure_core::model::backup::Manifest;
use tenure_core::model::ids::{Epoch, EventNumber};
use tenure_core::model::limits::counted;
use tenure_core::model::refusal::Refusal;
use tenure_engine::backup::BackupError;
use tenure_engine::backup::replace::{Plan, Present, plan, restore};
use tenure_engine::clock::MachineClocks;
use tenure_engine::store::folder::FolderError;

use super::backup::{absolute, fields};
use crate::context::Context;
use crate::progress::Progress;
use crate::render::{Page, joined};
use crate::shell;
use crate::stop::Stop;

/// How long a daemon that was ended may take to close its store: longer than it gives what was asked of it.
const GOING: Duration = Duration::from_secs(15);
/// How often it is looked whether it has.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Put a backup in the place of the store
///
/// Without --confirm it only says what would be lost. Afterwards a new epoch begins: every lease, session, cursor and
/// answer from before is void, and no number that may have been handed out is given again. The present store keeps
/// another name.
#[derive(clap::Args)]
pub struct Restore {
    /// The file of the backup; its manifest lies beside it
    file: PathBuf,
    /// Do it; without, only a report says what would be done
    #[arg(long)]
    confirm: bool,
    /// With --confirm: end the daemon that serves the store, and let nobody start another one until it is done
    #[arg(long)]
    stop: bool,
}

/// What a restore would do, or has done.
#[derive(Serialize, JsonSchema)]
struct Report<'a> {
    /// Whether it was done.
    applied: bool,
    /// The backup's manifest.
    backup: &'a Manifest,
    /// The store that was there, and what it has that the backup has not.
    present: Option<Value>,
    /// Why the store that was there cannot be read.
    unreadable: Option<&'a str>,
    /// Whether all that was handed out since the backup is known.
    is_known: bool,
    /// The epoch that begins.
    epoch: Epoch,
    /// The number of its first event.
    event: EventNumber,
    /// What the store that was there is called now.
    kept_as: Option<&'a Path>,
    /// Whether a daemon serves the store that is there.
    served: bool,
    /// What to do next.
    next: &'a str,
}

/// Says what a restore would do, or does it.
pub fn run(wish: &Restore, context: &Context) -> Result<(), Stop> {
    context.check_own::<Report<'_>>()?;
    let store = context.store()?;
    let file = absolute(&wish.file)?;
    // Whoever works or waits there would start a daemon in between.
    let _nobody_starts_one = if wish.confirm { Some(autostart::hold_off(&store)?) } else { None };
    let whole = format!("tenure restore {} --confirm --stop", shell::word(&wish.file.to_string_lossy()));
    let progress = Progress::of(&context.screen, "reading the backup");
    let heard = &mut |so_far| progress.tell_backup(so_far);
    let done = match (wish.confirm, wish.stop) {
        (false, _) => plan(&store, &file, &MachineClocks, heard),
        (true, false) => restore(&store, &file, &MachineClocks, heard),
        (true, true) => {
            // A daemon is ended only for a backup that can take the place of its store.
            plan(&store, &file, &MachineClocks, heard).map_err(Refusal::from)?;
            context.client()?.end_daemon()?;
            once_it_is_gone(|| restore(&store, &file, &MachineClocks, heard))
        }
    };
    drop(progress);
    let plan = done.map_err(|error| {
        let is_served = matches!(error, BackupError::Folder(FolderError::InUse(_)));
        let mut refusal = Refusal::from(error);
        if is_served && !wish.stop {
            refusal.next_actions.insert(0, whole.clone());
        }
        refusal
    })?;
    if wish.confirm {
        context.screen.changed();
    }
    let next = match (wish.confirm, plan.is_served) {
        (true, _) => "work goes on; take a backup soon: this one is of an earlier epoch now",
        (false, false) => "nothing was changed; repeat the command with --confirm to restore",
        (false, true) => &format!("nothing was changed; `{whole}` ends the daemon first, and restores"),
    };
    context.print_own(&report(&plan, wish.confirm, next), &shown(&plan, wish.confirm, next))
}

/// A daemon that goes closes its socket first and its store last.
fn once_it_is_gone<T>(mut restore: impl FnMut() -> Result<T, BackupError>) -> Result<T, BackupError> {
    let deadline = Instant::now() + GOING;
    loop {
        match restore() {
            Err(BackupError::Folder(FolderError::InUse(_))) if Instant::now() < deadline => {
                std::thread::sleep(LOOK_PAUSE);
            }
            done => return done,
        }
    }
}

fn report<'a>(plan: &'a Plan, applied: bool, next: &'a str) -> Report<'a> {
    let present = plan.present.as_ref().map(|Present { fleet, lost }| {
        json!({ "epoch": fleet.epoch, "event": fleet.event, "head": fleet.head, "lost": lost })
    });
    Report {
        applied,
        backup: &plan.manifest,
        present,
        unreadable: plan.unreadable.as_deref(),
        is_known: plan.is_known,
        epoch: plan.epoch,
        event: plan.event,
        kept_as: plan.kept_as.as_deref(),
        served: plan.is_served,
        next,
    }
}

fn shown(plan: &Plan, applied: bool, next: &str) -> String {
    let mut page = Page::new();
    page.line(if applied { "the store was restored" } else { "a restore of this backup would:" });
    fields(&mut page, &plan.manifest);
    match (&plan.present, &plan.unreadable) {
        (Some(present), _) => show_lost(&mut page, present, applied),
        (None, Some(why)) => page.field("present", &format!("cannot be read ({why})")),
        (None, None) => page.field("present", "no store is there"),
    }
    page.field("begins", &format!("epoch {}, with event {}", plan.epoch, plan.event));
    if !plan.is_known {
        page.field("numbers", "go far on: nothing tells all that was handed out since the backup");
    }
    if let Some(kept) = &plan.kept_as {
        page.field("kept as", &kept.display().to_string());
    }
    page.field("next", next);
    page.finish()
}

/// What the present store has and the backup has not.
fn show_lost(page: &mut Page, Present { fleet, lost }: &Present, applied: bool) {
    page.field("present", &format!("event {} of epoch {}", fleet.event, fleet.epoch));
    let is_lost = if applied { "gone" } else { "lost" };
    if lost.events == 0 {
        page.field(is_lost, "nothing");
    } else {
        let kinds: Vec<String> = lost.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        page.field(is_lost, &format!("{}: {}", counted(lost.events, "event"), joined(&kinds)));
        for event in &lost.newest {
            let task = event.task.as_ref().map(ToString::to_string).unwrap_or_default();
            page.line(&format!("  {} {} {task}", event.number, event.kind));
        }
        if lost.events > lost.newest.len() as u64 {
            page.line("  …");
        }
    }
    if lost.unknown_here > 0 {
        let events = counted(lost.unknown_here, "event");
        page.field("note", &format!("the backup has {events} that the present store never had"));
    }
}
