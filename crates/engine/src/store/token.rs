//! Tokens of agents and machines.

use tenure_core::model::time::WallTime;
use tenure_core::model::token::TokenRecord;

use super::driver::{Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static TOKEN: Shape = Shape::new(
    "token",
    &["id", "kind", "principal", "hash", "read_only", "created_at", "expires_at", "revoked_at"],
    1,
    6,
);

/// Tokens by id.
pub static BY_ID: Lookup = Lookup::new(&TOKEN, &["id"], "");

impl Stored for TokenRecord {
    fn shape() -> &'static Shape {
        &TOKEN
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: fields.parse()?,
            kind: fields.parse()?,
            principal: fields.parse()?,
            hash: fields.parse()?,
            read_only: fields.flag()?,
            created_at: WallTime(fields.integer()?),
            expires_at: WallTime(fields.integer()?),
            revoked_at: fields.optional_integer()?.map(WallTime),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.id.as_str());
        values.text(self.kind.as_str());
        values.text(self.principal.as_str());
        values.shown(&self.hash);
        values.flag(self.read_only);
        values.integer(self.created_at.0);
        values.integer(self.expires_at.0);
        values.optional_integer(self.revoked_at.map(|at| at.0));
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}
