//! What can be done.

use tenure_core::operation::queue;

use crate::on_task::{InProject, OnTask};

/// `tenure ready`.
pub type Ready = InProject<queue::Ready>;
/// `tenure explain`.
pub type Explain = OnTask<queue::Explain, true>;
/// `tenure next`.
pub type Next = InProject<queue::Next>;
