//! `tenure store …`: what is done to a whole store that nobody serves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use tenure_client::autostart;
use tenure_core::model::ids::{Digest, Epoch, EventNumber};
use tenure_core::model::limits::counted;
use tenure_core::model::refusal::Refusal;
use tenure_core::wire::FLEET_MARKER;
use tenure_engine::clock::MachineClocks;
use tenure_engine::copy::{Copied, Place, copy, plan};
use tenure_engine::store::folder::DATABASE;
use tenure_engine::store::postgres::address::Address;

use super::backup::absolute;
use crate::context::Context;
use crate::long_text::read_file;
use crate::progress::Progress;
use crate::render::Page;
use crate::stop::{Stop, usage};

/// Where the password of a database comes from, unless its URL or a file tells it. PostgreSQL's own name.
const PASSWORD: &str = "PGPASSWORD";
/// Longest password that is read from a file, in bytes.
const PASSWORD_BYTES_MAX: usize = 1024;

/// `tenure store …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Copy a whole store to another place, also into another database
    #[command(after_help = "A place is a state folder, or a URL of PostgreSQL:\n\
        \x20 postgres://USER@HOST/DATABASE?schema=NAME\n\
        The schema is `tenure` unless the URL names one. A password in a URL can be read by everybody on this machine:\n\
        set PGPASSWORD instead, or name a file of its own for each side.")]
    Copy(Box<Copy>),
}

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

/// Runs one.
pub fn run(command: &Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Copy(wish) => run_copy(wish, context),
    }
}

/// Says what a copy would do, or does it.
fn run_copy(wish: &Copy, context: &Context) -> Result<(), Stop> {
    context.check_own::<Report<'_>>()?;
    let from = place("--from", &wish.from, wish.from_password_file.as_deref())?;
    let to = place("--to", &wish.to, wish.to_password_file.as_deref())?;
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

/// Reads where a store is.
fn place(option: &str, named: &str, password_file: Option<&Path>) -> Result<Place, Stop> {
    if named.contains("://") {
        let password = match password_file {
            Some(file) => Some(password(file)?),
            None => std::env::var(PASSWORD).ok().filter(|password| !password.is_empty()),
        };
        let address = Address::parse(named, password.as_deref());
        let address = address.map_err(|error| usage(format!("{option}: {}", error.detail), error.remedy))?;
        return Ok(Place::Database(Box::new(address)));
    }
    if password_file.is_some() {
        let detail = format!("{option}-password-file is named, and {option} is a folder");
        return Err(usage(detail, format!("leave out {option}-password-file")));
    }
    let folder = absolute(Path::new(named))?;
    if folder.is_file() {
        let detail = format!("{option}: {} is a file", folder.display());
        return Err(usage(detail, "name the state folder, not the database in it"));
    }
    Ok(Place::Folder(folder))
}

/// Reads a password: the one line of a file.
fn password(file: &Path) -> Result<String, Stop> {
    let shorter = "name a file that holds the password and nothing else";
    let text = read_file(file, PASSWORD_BYTES_MAX, shorter)?;
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(password), None) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(usage(format!("{} is not one line", file.display()), shorter)),
    }
}

/// Keeps commands from starting daemons in places where one has served before.
fn hold_off(places: &[&Place]) -> Result<Vec<File>, Stop> {
    let mut folders = BTreeSet::new();
    for place in places {
        match place {
            Place::Folder(folder)
                if [DATABASE, FLEET_MARKER].iter().any(|name| folder.join(name).exists()) =>
            {
                // One that is named twice is held once; that it is, the copy refuses.
                folders.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone()));
            }
            Place::Folder(_) | Place::Database(_) => {}
        }
    }
    folders.iter().map(|folder| Ok(autostart::hold_off(folder)?)).collect()
}
