//! The record.

use tenure_core::operation::record;

use crate::on_task::OnTask;

/// `tenure events`.
pub type Events = record::ListEvents;
/// `tenure stats`.
pub type Statistics = record::Statistics;
/// `tenure history`.
pub type History = OnTask<record::History, true>;
