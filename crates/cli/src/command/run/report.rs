//! How it went, for a person and for a program. Standard output is the command's, so it stands elsewhere.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use tenure_core::model::ids::{AttemptId, TaskId};

use super::channel::Ending;
use super::outcome::{Outcome, Told};
use super::watch::End;
use crate::fields;
use crate::screen::Screen;
use crate::stop::{Stop, usage};

/// A report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    task: TaskId,
    attempt: AttemptId,
    command: String,
    /// The command's exit code.
    code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
    /// Absent when it could not be started.
    lasted_ms: Option<i64>,
    outcome: Outcome,
    /// What `run` ends with.
    exit: u8,
    reason: Option<String>,
    missing: Vec<String>,
}

/// Refuses a place for the report that is none, before anything is claimed.
pub fn check_place(file: Option<&Path>) -> Result<(), Stop> {
    let Some(file) = file else { return Ok(()) };
    let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    if folder.is_dir() && !file.is_dir() {
        return Ok(());
    }
    let wrong = if file.is_dir() { "is a folder" } else { "lies in a folder that does not exist" };
    Err(usage(format!("--report: {} {wrong}", file.display()), "name a file in a folder that exists"))
}

impl Report {
    /// Of a run that has ended, or of a command that could not be started.
    pub fn new(attempt: &AttemptId, command: &str, end: Option<&End>, told: Told) -> Self {
        let (code, signal) = match end.and_then(|end| end.ending) {
            Some(Ending::Code(code)) => (Some(code), None),
            Some(Ending::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        Self {
            task: attempt.task.clone(),
            attempt: attempt.clone(),
            command: command.to_owned(),
            code,
            signal,
            lasted_ms: end.map(|end| end.lasted_ms),
            outcome: told.outcome,
            exit: told.exit,
            reason: told.reason,
            missing: told.missing,
        }
    }

    /// Tells it: into a file where one is named, as a line of JSON where that was asked for, else in words.
    pub fn tell(&self, file: Option<&Path>, screen: &Screen) {
        let value = serde_json::to_value(self).expect("a report is plain data");
        if let Some(file) = file
            && let Err(error) = std::fs::write(file, format!("{value}\n"))
        {
            screen.talk(&format!("tenure: the report could not be written to {}: {error}", file.display()));
        }
        match screen.json.as_deref() {
            None => screen.remark(&format!("tenure: {}", self.sentence())),
            Some([]) => screen.talk_json(&value.to_string()),
            Some(names) => screen.talk_json(&fields::row(&value.to_string(), names)),
        }
    }

    fn sentence(&self) -> String {
        let task = &self.task;
        let what = match self.outcome {
            Outcome::Closed => format!("{task} is closed"),
            Outcome::HandedOff => format!("{task} was handed off"),
            Outcome::Released => format!("{task} was released"),
            Outcome::EndedByCommand => format!("{task}: the command itself ended its attempt"),
            Outcome::Lost => format!("{} was lost; what it left is to be recovered", self.attempt),
            Outcome::Unrecorded => format!(
                "what became of {task} could not be recorded; the session's next command asks again for what is uncertain"
            ),
        };
        match &self.reason {
            Some(reason) => format!("{what}: {}", reason.replace('\n', " ")),
            None => what,
        }
    }
}
