//! Bringing in another tracker's tasks: a preview first, then all or nothing.

use std::path::PathBuf;

use clap::Subcommand;
use tenure_core::model::ids::ProjectKey;
use tenure_core::model::limits::IMPORT_BYTES;
use tenure_core::operation::record::{ApplyImport, ImportFormat, PreviewImport};

use crate::context::Context;
use crate::long_text;
use crate::stop::Stop;

/// `tenure import …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Import a Beads export: one JSON object a line
    Beads(Beads),
}

/// A file and what to do with it.
#[derive(clap::Args)]
pub struct Beads {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// The project to import into; the one that this checkout is bound to when absent
    #[arg(long, value_name = "KEY")]
    project: Option<ProjectKey>,
    /// Do it; without, only a report says what would be done
    #[arg(long)]
    apply: bool,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    let Command::Beads(Beads { file, project, apply }) = command;
    let text = long_text::read_file(&file, IMPORT_BYTES)?;
    let project = context.project(project.as_ref())?;
    let format = ImportFormat::Beads;
    if apply {
        context.perform(&ApplyImport { project, format, text })
    } else {
        context.perform(&PreviewImport { project, format, text })
    }
}
