//! Backups: written by the daemon while it serves, verified without one.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};
use tenure_client::failure::Failure;
use tenure_core::model::backup::Manifest;
use tenure_core::model::refusal::Refusal;
use tenure_engine::backup::{BackupError, check};

use crate::context::Context;
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

/// What the answers have.
const FIELDS: [&str; 15] = [
    "file", "v", "fleet", "epoch", "event", "head", "schema", "bytes", "sha256", "taken_at", "tenure",
    "database", "seal", "intact", "flaw",
];

/// Runs one.
pub fn run(command: &Command, context: &Context) -> Result<(), Stop> {
    context.check_own_fields(&FIELDS)?;
    match command {
        Command::Create { file, replace } => create(context, file, *replace),
        Command::Verify { file } => verify(context, file),
    }
}

/// The daemon has a folder of its own, so it is told the whole path.
fn create(context: &Context, file: &Path, replace: bool) -> Result<(), Stop> {
    let file = absolute(file)?;
    let Some(text) = file.to_str() else {
        return Err(usage("the path of the backup is not UTF-8", "name another file"));
    };
    let json = context.client()?.backup(text, replace)?;
    let written: Value = serde_json::from_slice(&json).map_err(|error| {
        Failure::cannot_tell(format!("the answer cannot be read: {error}"), "verify the backup")
    })?;
    let manifest = manifest_in(&written)?;
    let mut page = Page::new();
    page.line(&format!("a backup was written: {text}"));
    fields(&mut page, &manifest);
    context.print_value(&written, &page.finish())
}

fn manifest_in(written: &Value) -> Result<Manifest, Failure> {
    let mut fields = written.as_object().cloned().unwrap_or_default();
    fields.remove("file");
    serde_json::from_value(Value::Object(fields)).map_err(|error| {
        Failure::cannot_tell(format!("the answer cannot be read: {error}"), "verify the backup")
    })
}

/// A backup that is not what was written is a failed check.
fn verify(context: &Context, file: &Path) -> Result<(), Stop> {
    let file = absolute(file)?;
    let mut page = Page::new();
    match check::verify(&file) {
        Ok(manifest) => {
            page.line("the backup is whole");
            fields(&mut page, &manifest);
            let mut report = serde_json::to_value(&manifest).expect("a manifest is plain data");
            report["file"] = json!(file);
            report["intact"] = json!(true);
            context.print_value(&report, &page.finish())
        }
        Err(error @ BackupError::Altered(..)) => {
            page.line("the backup is BROKEN");
            page.field("flaw", &error.to_string());
            let report = json!({ "file": file, "intact": false, "flaw": error.to_string() });
            context.print_value(&report, &page.finish())?;
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
    page.field("head", &manifest.head.to_string());
    page.field("size", &format!("{} bytes", manifest.bytes));
    page.field("sha256", &manifest.sha256.to_string());
}
