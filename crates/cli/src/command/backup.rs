//! Backups: written by the daemon while it serves, verified without one.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use tenure_client::failure::Failure;
use tenure_core::model::backup::{Manifest, Written};
use tenure_core::model::ids::Anchor;
use tenure_core::model::refusal::Refusal;
use tenure_engine::backup::{BackupError, check};

use crate::context::Context;
use crate::progress::Progress;
use crate::render::{Page, time};
use crate::stop::{Stop, usage};

/// `tenure backup …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Write a checked copy of the store into a file, while work goes on
    #[command(after_help = "Its manifest is written beside it, as FILE.json: keep the two together.\n\
        A backup holds every task, note and event: keep it where only you can read it.")]
    Create {
        /// The file to write
        file: PathBuf,
        /// Replace an earlier backup in that place
        #[arg(long)]
        replace: bool,
    },
    /// Check that a backup is whole: its digest, its database and its record
    Verify {
        /// The file of the backup
        file: PathBuf,
    },
}

/// What a check of a backup found.
#[derive(Serialize, JsonSchema)]
struct Checked {
    /// The file of the backup.
    file: String,
    /// Whether it is what was written.
    intact: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<String>,
    /// What its manifest says.
    #[serde(flatten)]
    manifest: Option<Manifest>,
}

/// Runs one.
pub fn run(command: &Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Create { file, replace } => create(context, file, *replace),
        Command::Verify { file } => verify(context, file),
    }
}

/// The daemon has a folder of its own, so it is told the whole path.
fn create(context: &Context, file: &Path, replace: bool) -> Result<(), Stop> {
    context.check_own::<Written>()?;
    let file = absolute(file)?;
    let Some(text) = file.to_str() else {
        return Err(usage("the path of the backup is not UTF-8", "name another file"));
    };
    let client = context.client()?;
    let progress = Progress::of(&context.screen, "the daemon writes the backup and checks it");
    let json = client.backup(text, replace);
    drop(progress);
    let written: Written = serde_json::from_slice(&json?).map_err(|error| {
        Failure::cannot_tell(format!("the answer cannot be read: {error}"), "tenure backup verify FILE")
    })?;
    let mut page = Page::new();
    page.line(&format!("a backup was written: {text}"));
    context.screen.changed();
    fields(&mut page, &written.manifest);
    context.print_own(&written, &page.finish())
}

/// A backup that is not what was written is a failed check.
fn verify(context: &Context, file: &Path) -> Result<(), Stop> {
    context.check_own::<Checked>()?;
    let file = absolute(file)?;
    let progress = Progress::of(&context.screen, "reading the backup");
    let checked = check::verify(&file, &mut |so_far| progress.tell_backup(so_far));
    drop(progress);
    let (file, mut page) = (file.display().to_string(), Page::new());
    match checked {
        Ok(manifest) => {
            page.line("the backup is whole");
            fields(&mut page, &manifest);
            let report = Checked { file, intact: true, flaw: None, manifest: Some(manifest) };
            context.print_own(&report, &page.finish())
        }
        Err(error @ BackupError::Altered(..)) => {
            let flaw = error.to_string();
            page.line("the backup is BROKEN");
            page.field("flaw", &flaw);
            let report = Checked { file, intact: false, flaw: Some(flaw), manifest: None };
            context.print_own(&report, &page.finish())?;
            Err(Stop::CheckFailed)
        }
        Err(error) => Err(Refusal::from(error).into()),
    }
}

/// A path that means the same in every folder. Where its folder is there, without detours.
pub fn absolute(file: &Path) -> Result<PathBuf, Stop> {
    let whole = std::path::absolute(file)
        .map_err(|error| usage(format!("{}: {error}", file.display()), "name a file"))?;
    let folder = whole.parent().and_then(|folder| folder.canonicalize().ok());
    Ok(match (folder, whole.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        (None, _) | (_, None) => whole,
    })
}

/// What a manifest says, for people.
pub fn fields(page: &mut Page, manifest: &Manifest) {
    page.field("taken", &time::moment(manifest.taken_at));
    page.field("fleet", &manifest.fleet);
    page.field("up to", &format!("event {} of epoch {}", manifest.event, manifest.epoch));
    page.field("anchor", &Anchor { event: manifest.event, hash: manifest.head }.to_string());
    page.field("size", &format!("{} bytes", manifest.bytes));
    page.field("sha256", &manifest.sha256.to_string());
}
