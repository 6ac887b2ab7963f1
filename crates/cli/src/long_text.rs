//! Long text by argument, from a file, or from standard input with `-`. Its bytes are kept as they are.

use std::io::{IsTerminal, Read};
use std::path::Path;

use serde_json::{Map, Value};
use tenure_client::private;
use tenure_core::model::limits;

use crate::stop::{Stop, usage};

/// The fields that may be long, the main one of an operation first.
const FIELDS: [&str; 5] = ["text", "description", "note", "reason", "reopening"];

/// The field that `--file` fills, among those that a request has.
pub fn main_field(has: impl Fn(&str) -> bool) -> Option<&'static str> {
    FIELDS.into_iter().take(3).find(|field| has(field))
}

/// Puts in what `-` or `--file` stand for.
pub fn fill(fields: &mut Map<String, Value>, main: Option<&str>, file: Option<&Path>) -> Result<(), Stop> {
    if let (Some(main), Some(file)) = (main, file) {
        let text = read_file(file, limits::TEXT_BYTES, SHORTEN)?;
        fields.insert(main.to_owned(), Value::String(text));
    }
    let dashes: Vec<&str> =
        FIELDS.into_iter().filter(|field| fields.get(*field).is_some_and(|value| value == "-")).collect();
    match dashes[..] {
        [] => Ok(()),
        [field] => {
            fields.insert(field.to_owned(), Value::String(read_input(limits::TEXT_BYTES, SHORTEN)?));
            Ok(())
        }
        _ => Err(usage(
            format!("{} cannot all be read from standard input", dashes.join(" and ")),
            "use `-` once",
        )),
    }
}

/// What helps against a text that is too long.
pub const SHORTEN: &str = "shorten it";

/// Reads a file, or standard input for `-`. One that is too long is refused with what helps.
pub fn read_file(path: &Path, bytes_max: usize, shorter: &str) -> Result<String, Stop> {
    if path.as_os_str() == "-" {
        return read_input(bytes_max, shorter);
    }
    let shown = path.display();
    if path.metadata().is_ok_and(|found| found.is_file() && found.len() > bytes_max as u64) {
        return Err(too_long(&shown.to_string(), bytes_max, shorter));
    }
    let bytes = private::read(path, bytes_max).map_err(|error| {
        let next = "name a regular file that can be read, or pipe the text in with `-`";
        usage(format!("cannot read {shown}: {error}"), next)
    })?;
    utf8(bytes, &shown.to_string())
}

/// Reads standard input to its end. A terminal is refused, because nobody may be there to type.
fn read_input(bytes_max: usize, shorter: &str) -> Result<String, Stop> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Err(usage(
            "`-` reads standard input, and that is a terminal",
            "pipe the text in, give it as an argument, or name a file",
        ));
    }
    bounded(input.lock(), "standard input", bytes_max, shorter)
}

fn too_long(shown: &str, bytes_max: usize, shorter: &str) -> Stop {
    usage(format!("{shown} is longer than {bytes_max} bytes"), shorter)
}

fn bounded(source: impl Read, shown: &str, bytes_max: usize, shorter: &str) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    source
        .take(bytes_max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| usage(format!("cannot read {shown}: {error}"), "name a file that can be read"))?;
    if bytes.len() > bytes_max {
        return Err(too_long(shown, bytes_max, shorter));
    }
    utf8(bytes, shown)
}

fn utf8(bytes: Vec<u8>, shown: &str) -> Result<String, Stop> {
    String::from_utf8(bytes).map_err(|_| {
        usage(format!("{shown} is not UTF-8 text"), "convert it to UTF-8, or attach it elsewhere")
    })
}
