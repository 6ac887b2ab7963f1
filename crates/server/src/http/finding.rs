//! What was found of the database that the store is in, as it travels.
//!
//! The comments are product text: `/openapi.json` describes the answers with them.

use schemars::JsonSchema;
use serde::Serialize;
use tenure_engine::store::postgres::checkup::Finding;

/// One thing that was looked at.
#[derive(Serialize, JsonSchema)]
pub(super) struct Looked {
    /// What it is.
    name: &'static str,
    /// Whether it is as it must be; nothing where it is only told.
    ok: Option<bool>,
    /// What was found.
    found: String,
    /// What to do about it, where there is something.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'static str>,
}

impl From<Finding> for Looked {
    fn from(Finding { name, is_good, found, next }: Finding) -> Self {
        Self { name, ok: is_good, found, next }
    }
}
