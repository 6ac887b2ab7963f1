//! Writing everything down that is known about tasks: to standard output as it comes, or into a file that has its name
//! only once it is whole.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tempfile::NamedTempFile;
use tenure_client::export::{Piece, Whole};
use tenure_client::failure::Failure;
use tenure_core::model::export::FORMAT;
use tenure_core::model::ids::{Anchor, ProjectKey};
use tenure_core::model::limits::{IMPORT_BYTES, LINE_BYTES};
use tenure_core::model::refusal::{Code, Refusal};

use crate::command::backup::absolute;
use crate::context::Context;
use crate::progress::{Progress, part};
use crate::render::Page;
use crate::stop::{Stop, usage};

/// What ends the name of an export that is not whole yet.
const DRAFT: &str = ".tenure-export-draft";
/// How much of the file's own name is in that of its draft, which must not be too long.
const DRAFT_NAME_BYTES: usize = 200;

/// `tenure export …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    #[command(after_help = "The same state gives the same bytes. The last line vouches for all others: an\n\
        output without it was cut off. Events, receipts and sessions are not in it:\n\
        `tenure backup create` keeps those. An export holds every task and note: keep\n\
        it where only you can read it.\n\n\
        Examples:\n  tenure export jsonl --output tasks.jsonl\n  tenure export jsonl --project afc")]
    Jsonl(Jsonl),
}

/// Write tasks with all that belongs to them as JSON, one record a line
#[derive(clap::Args)]
pub struct Jsonl {
    /// Only this project; repeatable
    #[arg(long = "project", value_name = "KEY")]
    projects: Vec<ProjectKey>,
    /// Write into this file, which has its name only once it is whole; standard output when absent
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an earlier export in that place
    #[arg(long, requires = "output")]
    replace: bool,
}

/// What was written into a file.
#[derive(Serialize, JsonSchema)]
struct Written {
    /// The file.
    file: String,
    /// How many lines it has.
    lines: u64,
    /// How many bytes.
    bytes: u64,
    /// Their SHA-256.
    sha256: String,
    /// The record's last event and its hash, which `tenure audit verify` takes with `--expect`.
    anchor: Option<Anchor>,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    let Command::Jsonl(Jsonl { projects, output, replace }) = command;
    match output {
        Some(file) => into_file(context, &projects, &absolute(&file)?, replace),
        None => to_output(context, &projects),
    }
}

/// The export is JSON itself, so there is no other answer on standard output.
fn to_output(context: &Context, projects: &[ProjectKey]) -> Result<(), Stop> {
    if context.screen.json.is_some() {
        let next = "leave --json out, or name a file with --output: then it tells what was written";
        return Err(usage("--json has no meaning here: an export is JSON lines", next));
    }
    let client = context.client()?;
    // On a terminal that the lines themselves fill, nothing passes between them.
    let progress = (!std::io::stdout().is_terminal()).then(|| progress(context));
    client.export(projects, &mut |piece| {
        if let Some(progress) = &progress {
            tell(progress, &piece);
        }
        // A line that was cut off has no end, and is given none.
        match context.screen.lines(piece.line) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok(())
}

/// Writes under another name beside the file, and renames that once it is whole.
fn into_file(context: &Context, projects: &[ProjectKey], file: &Path, replace: bool) -> Result<(), Stop> {
    context.check_own::<Written>()?;
    refuse_other(file, replace)?;
    let writing = |error: std::io::Error| unwritable(file, &error);
    let draft = draft(file).map_err(writing)?;
    let client = context.client()?;
    let progress = progress(context);
    let (mut out, mut failed) = (BufWriter::new(draft), None);
    let read = client.export(projects, &mut |piece| {
        tell(&progress, &piece);
        match out.write_all(piece.line) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    drop(progress);
    failed.map_or(Ok(()), |error| Err(writing(error)))?;
    let whole = read?.expect("it is read to its end unless writing failed");
    let draft = out.into_inner().map_err(|error| writing(error.into_error()))?;
    publish(draft, file, replace).map_err(writing)?;
    told(context, file, &whole)
}

/// A file beside the one that is meant, locked as long as this process lives. Those that killed exports to the same file
/// left are removed.
fn draft(file: &Path) -> std::io::Result<NamedTempFile> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{}.", &name[..name.floor_char_boundary(DRAFT_NAME_BYTES)]);
    let is_draft = |found: &str| {
        let random = found.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(DRAFT));
        random.is_some_and(|random| !random.is_empty() && random.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    for entry in std::fs::read_dir(folder)?.flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.file_name().to_str().is_some_and(is_draft) {
            let left = File::options().write(true).open(entry.path());
            // Whoever writes it holds it.
            if left.is_ok_and(|left| left.try_lock().is_ok()) {
                std::fs::remove_file(entry.path()).ok();
            }
        }
    }
    loop {
        let draft = tempfile::Builder::new().prefix(&prefix).suffix(DRAFT).tempfile_in(folder)?;
        // Another export may have taken it for one that was left, before it was locked.
        if draft.as_file().try_lock().is_ok() && draft.path().exists() {
            return Ok(draft);
        }
    }
}

/// Gives a draft its name, an absolute path, durably.
pub fn publish(draft: NamedTempFile, file: &Path, replace: bool) -> std::io::Result<()> {
    draft.as_file().sync_all()?;
    let named = if replace { draft.persist(file) } else { draft.persist_noclobber(file) };
    named.map_err(|error| error.error)?;
    File::open(file.parent().unwrap_or(Path::new("/")))?.sync_all()
}

fn told(context: &Context, file: &Path, whole: &Whole) -> Result<(), Stop> {
    let written = Written {
        file: file.display().to_string(),
        lines: whole.lines,
        bytes: whole.bytes,
        sha256: whole.sha256.to_string(),
        anchor: whole.anchor,
    };
    let mut page = Page::new();
    page.line(&format!("an export was written: {}", written.file));
    page.field("lines", &written.lines.to_string());
    page.field("size", &format!("{} bytes", written.bytes));
    page.field("sha256", &written.sha256);
    if let Some(anchor) = &written.anchor {
        page.field("anchor", &anchor.to_string());
    }
    if written.bytes > IMPORT_BYTES as u64 {
        let more =
            format!("one import takes {IMPORT_BYTES} bytes: to import it, export fewer projects at once");
        page.field("look at", &more);
    }
    context.print_own(&written, &page.finish())
}

/// Refuses a name that is taken, unless by an earlier export that is to be replaced.
fn refuse_other(file: &Path, replace: bool) -> Result<(), Stop> {
    let found = match file.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unwritable(file, &error)),
    };
    let shown = file.display();
    if !replace {
        let taken = Refusal::new(Code::AlreadyExists, format!("{shown} is there already"));
        return Err(taken.next("name another file, or replace an earlier export with --replace").into());
    }
    if found.is_file() && is_export(file) {
        return Ok(());
    }
    let other = Refusal::new(Code::AlreadyExists, format!("{shown} is no earlier export"));
    Err(other.next("name another file; nothing but an export is replaced").into())
}

/// Whether a file begins as an export does.
fn is_export(file: &Path) -> bool {
    let mut line = Vec::new();
    let read = File::open(file)
        .and_then(|file| BufReader::new(file.take(LINE_BYTES as u64)).read_until(b'\n', &mut line));
    let header: Value = read.ok().and_then(|_| serde_json::from_slice(&line).ok()).unwrap_or_default();
    header["format"] == FORMAT
}

fn unwritable(file: &Path, error: &std::io::Error) -> Stop {
    let detail = format!("{}: {error}", file.display());
    let (code, next) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            (Code::DiskFull, "make room, and repeat the command")
        }
        ErrorKind::AlreadyExists => (Code::AlreadyExists, "name another file"),
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::InvalidFilename
        | ErrorKind::InvalidInput => (Code::InvalidInput, "name a file in a folder that you can write to"),
        _ => return Failure::cannot_tell(detail, "check the disk, and repeat the command").into(),
    };
    Refusal::new(code, detail).next(next).into()
}

/// An export is read from the daemon, which gathers it first.
fn progress(context: &Context) -> Progress {
    Progress::of(&context.screen, "the daemon gathers the export")
}

fn tell(progress: &Progress, piece: &Piece<'_>) {
    progress.tell(|| format!("reading: {}", part(piece.done, piece.all)));
}
