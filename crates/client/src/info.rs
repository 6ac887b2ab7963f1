//! What a daemon tells of itself, and whether it fits this client.

use serde::Deserialize;
use tenure_core::model::ids::Epoch;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::WallTime;
use tenure_core::wire::PROTOCOL;

/// What a daemon tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Info {
    /// `tenure`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol it speaks.
    pub protocol: u32,
    /// The oldest protocol that it still serves; only that one when absent.
    #[serde(default)]
    pub protocol_min: Option<u32>,
    /// The fleet's id.
    pub fleet: String,
    /// The fleet's incarnation.
    pub epoch: Epoch,
    /// Its process.
    pub pid: u32,
    /// Whether it is at work, so that it must not be replaced. What that means is the daemon's to say, and
    /// `/openapi.json` says it.
    pub busy: bool,
    /// What its wall clock showed when it answered; absent from a daemon that does not say so.
    #[serde(default)]
    pub wall_time: Option<WallTime>,
}

impl Info {
    /// Whether it speaks this client's protocol.
    pub(crate) fn serves_us(&self) -> bool {
        (self.protocol_min.unwrap_or(self.protocol)..=self.protocol).contains(&PROTOCOL)
    }

    /// Why it cannot be used from here, and what can be done about that.
    pub(crate) fn misfit(&self) -> Refusal {
        let (mine, theirs) = (env!("CARGO_PKG_VERSION"), &self.version);
        let detail = format!(
            "the daemon {} (version {theirs}) speaks protocol {}, this tenure {mine} speaks {PROTOCOL}",
            self.pid, self.protocol
        );
        let next = if self.protocol > PROTOCOL {
            format!("use tenure {theirs} here")
        } else {
            "the older daemon is at work and was left alone: repeat the command in a moment".to_owned()
        };
        Refusal::new(Code::ProtocolMismatch, detail).next(next)
    }
}
