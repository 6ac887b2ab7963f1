//! The first and the last line of an export: what the file is, and whether it is whole.

use super::malformed;
use super::records::strict;
use crate::import::{Wrong, value};
use crate::model::export::{End, FORMAT, Header, Seal, VERSION};
use crate::model::limits::{EXPORT_DEPTH, excerpt};
use crate::model::refusal::Refusal;

/// A file that is whole.
pub(super) struct Framed<'a> {
    /// The fleet that it was exported from.
    pub(super) fleet: String,
    /// The lines between the first and the last, with their numbers.
    pub(super) lines: Vec<(u64, &'a str)>,
}

/// Reads the frame of a file and compares it with the lines inside. A file that was cut or altered is told before
/// anything of it is read.
pub(super) fn open(text: &str) -> Result<Framed<'_>, Refusal> {
    let mut lines: Vec<(u64, &str)> = (1..).zip(text.split_inclusive('\n')).collect();
    let refused = |line: u64| move |wrong: Wrong| malformed(line, &wrong);
    if let Some((number, _)) = lines.iter().find(|(_, line)| line.contains('\0')) {
        return Err(malformed(*number, "it has NUL bytes, as a file that a disk did not keep"));
    }
    if let Some(version) = lines.first().and_then(|(_, line)| newer(line)) {
        let wrong =
            format!("it is written in version {version} of the format, and this program knows {VERSION}");
        return Err(crate::import::malformed(1, &wrong, "upgrade tenure, here and its daemon"));
    }
    let fleet =
        lines.first().ok_or_else(|| "the file is empty".to_owned()).and_then(|(_, line)| header(line));
    let fleet = fleet.map_err(refused(1))?;
    let (number, last) = lines.pop().expect("there is a first line");
    let end = end(last).map_err(refused(number))?;
    let mut seal = Seal::default();
    lines.iter().for_each(|(_, line)| seal.add(line.as_bytes()));
    let found = seal.end();
    if end.lines != found.lines {
        let wrong =
            format!("the last line vouches for {} lines, and {} come before it", end.lines, found.lines);
        return Err(malformed(number, &wrong));
    }
    if end.sha256 != found.sha256 {
        let wrong = format!("the lines before the last one were altered: their SHA-256 is {}", found.sha256);
        return Err(malformed(number, &wrong));
    }
    lines.remove(0);
    Ok(Framed { fleet, lines })
}

/// The version of a format that this program does not know yet.
fn newer(line: &str) -> Option<u64> {
    let value = value(line, EXPORT_DEPTH).ok().filter(|value| value["format"] == FORMAT)?;
    value["version"].as_u64().filter(|version| *version > u64::from(VERSION))
}

fn header(line: &str) -> Result<String, Wrong> {
    let other = || format!("this is no export of Tenure: it does not begin with the format {FORMAT}");
    let value = value(line, EXPORT_DEPTH).map_err(|_| other())?;
    if value["record"] != "header" || value["format"] != FORMAT {
        return Err(other());
    }
    match value["version"].as_u64() {
        Some(1) => {}
        _ => return Err("it has no version of the format that there ever was".to_owned()),
    }
    let Header { fleet, .. } = strict(value, "header")?;
    let is_name =
        (1..=64).contains(&fleet.len()) && fleet.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_name { Ok(fleet) } else { Err(format!("{:?} is not the id of a fleet", excerpt(&fleet))) }
}

fn end(line: &str) -> Result<End, Wrong> {
    let cut =
        || "the file ends without its last line, which vouches for the others: it was cut off".to_owned();
    let value = value(line, EXPORT_DEPTH).map_err(|_| cut())?;
    if value["record"] != "end" || !line.ends_with('\n') {
        return Err(cut());
    }
    strict(value, "end")
}
