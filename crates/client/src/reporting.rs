//! Renewing as a reporter: with a secret of its own, and as nobody else. No session and no token of the user's is read.

use serde_json::Value;
use tenure_core::operation::reporter::{EndReporter, RenewLease, Renewed, ReporterOver};
use tenure_core::operation::{Operation, Spec};
use tenure_core::token::ReporterSecret;
use tenure_core::wire;

use crate::ask::Answered;
use crate::call::{Client, patience};
use crate::clock;
use crate::failure::Failure;
use crate::route::route;

/// A reporter's secret that nobody has yet.
#[must_use]
pub fn draw() -> ReporterSecret {
    ReporterSecret::of(clock::random())
}

/// A caller that may renew one lease.
pub struct Reporting {
    client: Client,
}

impl Reporting {
    /// A reporter with this secret, calling where `client` calls.
    #[must_use]
    pub fn with(client: Client, secret: &ReporterSecret) -> Self {
        Self { client: client.reporting(secret) }
    }

    /// Renews the lease.
    pub fn renew(&self) -> Result<Renewed, Failure> {
        Ok(Answered::read(self.ask(&RenewLease::SPEC)?)?.value)
    }

    /// Says that it renews no more.
    pub fn end(&self) -> Result<ReporterOver, Failure> {
        Ok(Answered::read(self.ask(&EndReporter::SPEC)?)?.value)
    }

    /// Asks for an operation of reporters, none of which has an input.
    pub fn ask(&self, spec: &Spec) -> Result<Vec<u8>, Failure> {
        let (input, id) = (Value::Object(serde_json::Map::new()), clock::operation_id().to_string());
        let headers = [(wire::IDEMPOTENCY_KEY, id.as_str())];
        Ok(self.client.exchange(&route(spec, &input)?, &headers, patience(spec, &input))?)
    }
}
