//! Reporters: helpers that renew the lease of one attempt.

use tenure_core::model::ids::{OperationId, TokenId};
use tenure_core::model::reporter::Reporter;
use tenure_core::model::time::FleetTime;

use super::driver::{Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static REPORTER: Shape = Shape::new(
    "reporter",
    &[
        "id",
        "attempt",
        "session",
        "principal",
        "token",
        "hash",
        "watches",
        "created_at",
        "until",
        "ended_at",
        "renewed_at",
        "renewed_operation",
    ],
    1,
    9,
);

/// Reporters by id.
pub static BY_ID: Lookup = Lookup::new(&REPORTER, &["id"], "");

impl Stored for Reporter {
    fn shape() -> &'static Shape {
        &REPORTER
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: fields.parse()?,
            attempt: fields.parse()?,
            session: fields.parse()?,
            principal: fields.parse()?,
            token: fields.optional_parse()?,
            hash: fields.parse()?,
            watches: fields.text()?.to_owned(),
            created_at: FleetTime(fields.integer()?),
            until: FleetTime(fields.integer()?),
            ended_at: fields.optional_integer()?.map(FleetTime),
            renewed_at: fields.optional_integer()?.map(FleetTime),
            renewed_operation: fields.optional_parse()?,
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.id.as_str());
        values.shown(&self.attempt);
        values.text(self.session.as_str());
        values.text(self.principal.as_str());
        values.optional_text(self.token.as_ref().map(TokenId::as_str));
        values.shown(&self.hash);
        values.text(self.watches.as_str());
        values.integer(self.created_at.0);
        values.integer(self.until.0);
        values.optional_integer(self.ended_at.map(|at| at.0));
        values.optional_integer(self.renewed_at.map(|at| at.0));
        values.optional_text(self.renewed_operation.as_ref().map(OperationId::as_str));
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}
