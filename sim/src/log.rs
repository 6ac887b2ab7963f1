//! What a client asked and what it heard, as JSON lines: the only witness that a recount believes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::model::refusal::Code;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// The coordinator did it and said so.
    Ok {
        /// Its answer.
        answer: Value,
    },
    /// The coordinator said no: nothing has happened.
    Refused {
        /// Why.
        code: Code,
        /// What it said.
        facts: Value,
    },
    /// Nobody can tell: it may have happened, once.
    Unknown {
        /// What went wrong.
        detail: String,
    },
}

/// One line of a log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The client was about to ask.
    Invoke {
        /// The call's number in this log.
        call: u64,
        /// When, in microseconds of one clock that all clients of a test share.
        at: i64,
        /// The operation's name.
        operation: String,
        /// Its input.
        input: Value,
    },
    /// The client heard, or gave up.
    Return {
        /// The call's number in this log.
        call: u64,
        /// When.
        at: i64,
        /// What it heard.
        #[serde(flatten)]
        end: End,
    },
}

/// A whole call, put together from its lines.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who called.
    pub agent: String,
    /// The operation's name.
    pub operation: String,
    /// Its input.
    pub input: Value,
    /// When it was about to ask.
    pub invoked: i64,
    /// When it heard; absent when its process was killed first.
    pub returned: Option<i64>,
    /// What it heard. A process that was killed heard nothing.
    pub end: End,
}

impl Call {
    /// A text field of the input.
    #[must_use]
    pub fn asked(&self, field: &str) -> &str {
        self.input[field].as_str().unwrap_or_default()
    }

    /// The answer, if there was one.
    #[must_use]
    pub fn answer(&self) -> Option<&Value> {
        match &self.end {
            End::Ok { answer } => Some(answer),
            End::Refused { .. } | End::Unknown { .. } => None,
        }
    }
}

/// One client's log.
#[derive(Debug)]
pub struct Log {
    file: Mutex<(File, u64)>,
}

/// Microseconds of the monotonic clock, which all processes of a machine share.
#[must_use]
pub fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}

impl Log {
    /// The log of one agent in a folder of logs. A log that is there already is continued.
    #[must_use]
    pub fn of(folder: &Path, agent: &str) -> Self {
        let path = folder.join(format!("{agent}.jsonl"));
        let earlier = std::fs::read_to_string(&path).unwrap_or_default().lines().count() as u64;
        let file = OpenOptions::new().create(true).append(true).open(path).expect("the folder is the test's");
        Self { file: Mutex::new((file, earlier)) }
    }

    /// Writes down what is about to be asked, and gives the call's number.
    pub fn invoke(&self, operation: &str, input: &Value) -> u64 {
        let mut file = self.file.lock().expect("no writer of a log panics");
        let call = file.1;
        let (operation, input) = (operation.to_owned(), input.clone());
        append(&mut file, &Line::Invoke { call, at: now(), operation, input });
        call
    }

    /// Writes down what was heard.
    pub fn heard(&self, call: u64, end: End) {
        let mut file = self.file.lock().expect("no writer of a log panics");
        append(&mut file, &Line::Return { call, at: now(), end });
    }
}

fn append(file: &mut (File, u64), line: &Line) {
    let mut text = serde_json::to_string(line).expect("a line is plain data");
    text.push('\n');
    file.0.write_all(text.as_bytes()).expect("the log's disk has room");
    file.1 += 1;
}

/// All calls of all logs in a folder, in the order they were asked.
#[must_use]
pub fn calls(folder: &Path) -> Vec<Call> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is the test's").flatten() {
        all.extend(calls_of(&entry.path()));
    }
    all.sort_by_key(|call| call.invoked);
    all
}

fn calls_of(path: &PathBuf) -> Vec<Call> {
    let agent = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let text = std::fs::read_to_string(path).expect("a log is text");
    let mut calls: Vec<(u64, Call)> = Vec::new();
    for line in text.lines() {
        match serde_json::from_str(line).expect("a log holds whole lines") {
            Line::Invoke { call, at, operation, input } => {
                let end = End::Unknown { detail: "the client was killed".to_owned() };
                let agent = agent.clone();
                calls.push((call, Call { agent, operation, input, invoked: at, returned: None, end }));
            }
            Line::Return { call, at, end } => {
                let found = calls.iter_mut().rev().find(|(number, _)| *number == call);
                let (_, found) = found.expect("a return follows its invocation");
                (found.returned, found.end) = (Some(at), end);
            }
        }
    }
    calls.into_iter().map(|(_, call)| call).collect()
}
