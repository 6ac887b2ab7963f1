//! The short section that tells agents, in the files that they read first, to work by Tenure.

use std::fmt;
use std::fs::Permissions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use tenure_client::failure::Failure;
use tenure_client::private::{self, SMALL_FILE_BYTES};
use tenure_core::model::refusal::{Code, Refusal};

use crate::command::backup::absolute;
use crate::command::export::publish;
use crate::context::Context;
use crate::render::Page;
use crate::stop::Stop;

/// What the section stands between. Everything outside is the file's own.
const BEGIN: &str = "<!-- tenure: begin (written by `tenure onboard`) -->";
const END: &str = "<!-- tenure: end -->";

/// The section.
const SECTION: &str = "\
## Tenure

Tenure decides who works on what here. Before you change anything, run `tenure instructions` and do as it says; run it again
in every new conversation and after your context was shortened. If the command is missing or cannot reach the coordinator,
change nothing and tell a person.";

/// Tell agents to work by Tenure, in the files that they read first
///
/// Without a file the section is printed.
/// The section is short and stays as it is: what agents have to do comes from `tenure instructions`. In a file it stands
/// between two markers, and only what is between them is ever changed.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tenure onboard --into AGENTS.md --into CLAUDE.md\n  tenure onboard --into AGENTS.md --check"
)]
pub struct Onboard {
    /// Put the section into this file; repeatable
    #[arg(long = "into", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Change nothing, and fail if a file lacks the section as it is now
    #[arg(long, requires = "files")]
    check: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Became {
    /// It was not there.
    Created,
    /// The section was put in, or replaced.
    Updated,
    /// It had the section.
    Unchanged,
}

impl fmt::Display for Became {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
        })
    }
}

/// A file, and what became of it.
#[derive(Serialize, JsonSchema)]
struct Done {
    /// The file.
    file: String,
    /// What became of it; with --check, what would.
    became: Became,
}

/// The section, and the files that it was put into.
#[derive(Serialize, JsonSchema)]
struct Onboarded {
    /// The section with its markers.
    section: String,
    /// The files.
    files: Vec<Done>,
}

/// A file as it is, and as it is to be.
struct Edit<'a> {
    named: &'a Path,
    /// Where it really is, as an absolute path: a link is followed and stays.
    path: PathBuf,
    before: Option<String>,
    after: String,
}

impl Edit<'_> {
    fn became(&self) -> Became {
        match &self.before {
            None => Became::Created,
            Some(before) if *before == self.after => Became::Unchanged,
            Some(_) => Became::Updated,
        }
    }
}

/// Prints the section, or puts it into files. All files are looked at before the first is changed.
pub fn run(onboard: &Onboard, context: &Context) -> Result<(), Stop> {
    context.check_own::<Onboarded>()?;
    let edits = onboard.files.iter().map(|file| edit(file)).collect::<Result<Vec<_>, _>>()?;
    if !onboard.check {
        edits.iter().filter(|edit| edit.became() != Became::Unchanged).try_for_each(write)?;
    }
    let files: Vec<Done> = edits
        .iter()
        .map(|edit| Done { file: edit.named.display().to_string(), became: edit.became() })
        .collect();
    let mut page = Page::new();
    files.iter().for_each(|done| page.field(&done.became.to_string(), &done.file));
    let human = if files.is_empty() { section("\n") } else { page.finish() };
    let is_missing = onboard.check && files.iter().any(|done| done.became != Became::Unchanged);
    context.print_own(&Onboarded { section: section("\n"), files }, &human)?;
    if is_missing { Err(Stop::CheckFailed) } else { Ok(()) }
}

/// The section with its markers and with these ends of lines.
fn section(end_of_line: &str) -> String {
    format!("{BEGIN}\n{SECTION}\n{END}\n").replace('\n', end_of_line)
}

fn edit(named: &Path) -> Result<Edit<'_>, Stop> {
    let failed = |error: &std::io::Error| unusable("read", named, error);
    let path = match named.canonicalize() {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound && named.symlink_metadata().is_err() => {
            let path = absolute(named)?;
            std::fs::metadata(folder(&path)).map_err(|error| failed(&error))?;
            return Ok(Edit { named, path, before: None, after: section("\n") });
        }
        Err(error) => return Err(failed(&error).into()),
    };
    let bytes = private::read(&path, SMALL_FILE_BYTES).map_err(|error| failed(&error))?;
    let wrong = |why: &str| {
        let detail = format!("{}: {why}", named.display());
        Refusal::new(Code::InvalidInput, detail).next("mend the file, or name another with --into")
    };
    let before = String::from_utf8(bytes).map_err(|_| wrong("it is no UTF-8 text"))?;
    let after = with_section(&before).map_err(wrong)?;
    Ok(Edit { named, path, before: Some(before), after })
}

/// A text with the section in its place, or at its end if it has none.
fn with_section(text: &str) -> Result<String, &'static str> {
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let section = section(end_of_line);
    let (begins, ends) = (text.matches(BEGIN).count(), text.matches(END).count());
    match (begins, ends) {
        (0, 0) => {
            let gap = match text {
                "" => String::new(),
                text if text.ends_with('\n') => end_of_line.to_owned(),
                _ => end_of_line.repeat(2),
            };
            Ok(format!("{text}{gap}{section}"))
        }
        (1, 1) => {
            let (before, rest) = text.split_once(BEGIN).expect("it is there once");
            let Some((_, after)) = rest.split_once(END) else {
                return Err("its end marker stands before its begin marker");
            };
            Ok(format!("{before}{}{after}", section.trim_end()))
        }
        _ => Err("it has not one pair of the markers `tenure: begin` and `tenure: end`"),
    }
}

/// Puts the new text in the file's place at once: whoever reads it has all of one or all of the other.
fn write(edit: &Edit<'_>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| unusable("write", edit.named, &error);
    // As open to others as any new file of this user.
    let mut draft = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(&edit.path))
        .map_err(failed)?;
    draft.write_all(edit.after.as_bytes()).map_err(failed)?;
    if edit.before.is_some() {
        let permissions = std::fs::metadata(&edit.path).map_err(failed)?.permissions();
        draft.as_file().set_permissions(permissions).map_err(failed)?;
    }
    publish(draft, &edit.path, edit.before.is_some()).map_err(failed)
}

/// The folder that a file with an absolute path is in.
fn folder(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("/"))
}

fn unusable(doing: &str, file: &Path, error: &std::io::Error) -> Failure {
    let detail = format!("cannot {doing} {}: {error}", file.display());
    Failure::cannot_tell(detail, "name a file, in a folder that is there, that you may change")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_comes_once_and_what_is_around_it_stays() {
        let new = with_section("").expect("put in");
        assert_eq!(new, section("\n"));
        let own = with_section("# Ours\n\nRules.").expect("put in");
        assert_eq!(own, format!("# Ours\n\nRules.\n\n{}", section("\n")));
        assert_eq!(with_section(&own).as_deref(), Ok(&*own), "a second time changes nothing");
        let old = own.replace(SECTION, "what an older version said") + "\nMore of ours.\n";
        let renewed = with_section(&old).expect("renewed");
        assert_eq!(renewed, own + "\nMore of ours.\n");
    }

    #[test]
    fn ends_of_lines_are_those_of_the_file() {
        let windows = with_section("# Ours\r\n").expect("put in");
        assert_eq!(windows.matches('\n').count(), windows.matches("\r\n").count(), "{windows:?}");
        assert_eq!(with_section(&windows).as_deref(), Ok(&*windows));
    }

    #[test]
    fn markers_that_are_no_pair_are_refused() {
        for wrong in [
            format!("{BEGIN}\n"),
            format!("{END}\n"),
            format!("{END}\n{BEGIN}\n"),
            format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n"),
        ] {
            assert!(with_section(&wrong).is_err(), "{wrong}");
        }
    }
}
