//! Bringing in tasks of another tracker or of another fleet: a preview first, then all or nothing.

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
    Beads(Beads),
    #[command(
        after_help = "Tasks that are here already stay as they are. Others get ids of this fleet and\n\
        keep their old ones as aliases. Nobody holds them, and policies and bindings\n\
        are told and not taken over."
    )]
    Tenure(Tenure),
}

/// Import a Beads export: one JSON object a line
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

/// Import what `tenure export jsonl` wrote, in this fleet or in another one
#[derive(clap::Args)]
pub struct Tenure {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// Import the file's one project into this one; its projects keep their keys when absent
    #[arg(long, value_name = "KEY")]
    project: Option<ProjectKey>,
    /// Do it; without, only a report says what would be done
    #[arg(long)]
    apply: bool,
}

/// Runs one.
pub fn run(command: &Command, context: &Context) -> Result<(), Stop> {
    let (format, file, apply, shorter) = match command {
        Command::Beads(beads) => (
            ImportFormat::Beads,
            &beads.file,
            beads.apply,
            "export fewer issues at once; an edge to an issue of another file is told, and blocks nothing",
        ),
        Command::Tenure(tenure) => (
            ImportFormat::Tenure,
            &tenure.file,
            tenure.apply,
            "export fewer projects at once: `tenure export jsonl --project KEY`",
        ),
    };
    let text = long_text::read_file(file, IMPORT_BYTES, shorter)?;
    let project = match command {
        Command::Beads(beads) => Some(context.project(beads.project.as_ref())?),
        Command::Tenure(tenure) => tenure.project.clone(),
    };
    if apply {
        context.perform(&ApplyImport { project, format, text })
    } else {
        context.perform(&PreviewImport { project, format, text })
    }
}
