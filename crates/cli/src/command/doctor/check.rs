//! One check: what was looked at, what was found, and what to do about it.

use serde::Serialize;

/// One check.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// Whether it passed; nothing when it only informs.
    pub ok: Option<bool>,
    /// What was found.
    pub found: String,
    /// The next command or step, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Check {
    /// All is as it must be.
    pub fn passed(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, ok: Some(true), found: found.into(), next: None }
    }

    /// Something is not as it must be, and this is what to do.
    pub fn failed(name: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { name, ok: Some(false), found: found.into(), next: Some(next.into()) }
    }

    /// Good to know, and neither right nor wrong.
    pub fn informs(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, ok: None, found: found.into(), next: None }
    }

    /// The same with a step that may be wanted.
    pub fn with_next(self, next: Option<String>) -> Self {
        Self { next, ..self }
    }
}
