//! What is written into the record about a command.

use std::ffi::OsString;

use tenure_core::model::limits::TEXT_BYTES;
use tenure_core::model::refusal::Refusal;

use super::channel::Ending;
use super::signals;
use super::watch::{End, Why};
use crate::render::time;
use crate::shell;

/// A longer command is cut.
const COMMAND_CHARACTERS: usize = 2000;

/// A command as a shell reads it.
pub fn command(words: &[OsString]) -> String {
    let words = words.iter().map(|word| shell::word(&word.to_string_lossy()).into_owned());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(COMMAND_CHARACTERS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// How it went.
pub fn went(command: &str, end: &End) -> String {
    let lasted = time::duration(end.lasted_ms);
    let ended = match end.ending {
        Some(Ending::Code(code)) => format!("exited with {code}"),
        Some(Ending::Signal(signal)) => format!("was ended by {}", signals::name(signal)),
        None => "ended unseen".to_owned(),
    };
    let mut text = format!("`tenure run` ran a command that {ended} after {lasted}: {command}");
    if let Some(signal) = end.signal {
        text.push_str(&format!("\n{} was passed on to it.", signals::name(signal)));
    }
    match &end.why {
        Some(Why::Lost(failure)) => text.push_str(&format!("\nIt was stopped: {failure}.")),
        Some(Why::Overdue) => {
            text.push_str("\nIt was stopped: no heartbeat came through for two thirds of the lease.");
        }
        Some(Why::Asked) => text.push_str("\nIt was stopped: the task's cancellation was asked for."),
        Some(Why::Unguarded) => text.push_str("\nIt was stopped: the process that guards it was gone."),
        None => {}
    }
    if !end.left.is_empty() {
        let left: Vec<String> = end.left.iter().map(ToString::to_string).collect();
        text.push_str(&format!("\nThese of its processes could not be ended: {}.", left.join(", ")));
    }
    text
}

/// Why it did not run at all.
pub fn not_started(command: &str, why: &str) -> String {
    format!("`tenure run` could not start a command ({why}): {command}")
}

/// What a refused close lists as missing.
pub fn missing(refusal: &Refusal) -> Vec<String> {
    let listed = refusal.facts.get("missing").and_then(|missing| missing.as_array());
    listed.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Why the task is not closed although its command succeeded.
pub fn not_closed(refusal: &Refusal, missing: &[String]) -> String {
    if missing.is_empty() {
        return format!("The task could not be closed ({}): {}", refusal.code, refusal.detail);
    }
    let list: String = missing.iter().map(|item| format!("\n- {item}")).collect();
    format!("The task could not be closed; this is missing:{list}")
}

/// A text within the room that the record has for one.
pub fn bounded(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_owned();
    }
    let end = (0..=TEXT_BYTES - "…".len()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_is_typed_and_not_without_end() {
        let words = ["sh", "-c", "exit 3"].map(OsString::from);
        assert_eq!(command(&words), "sh -c 'exit 3'");
        let long = command(&["x".repeat(5000).into()]);
        assert_eq!(long.chars().count(), COMMAND_CHARACTERS + 1);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(bounded("short"), "short");
        let cut = bounded(&"ö".repeat(TEXT_BYTES));
        assert!(cut.len() <= TEXT_BYTES && cut.ends_with("ö…"), "{}", cut.len());
    }
}
