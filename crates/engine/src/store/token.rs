//! Tokens of agents and machines.

use tenure_core::model::ids::TokenId;
use tenure_core::model::time::WallTime;
use tenure_core::model::token::TokenRecord;

use super::driver::{Driver, Fields, StoreError, Values};
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

/// A part of the tokens by id.
pub const AFTER: &str = "SELECT {columns} FROM token WHERE id > $1 ORDER BY id LIMIT $2";

/// Tokens after an id, by id, at most so many.
pub fn after(
    driver: &mut dyn Driver,
    id: Option<&TokenId>,
    count: u32,
) -> Result<Vec<TokenRecord>, StoreError> {
    let sql = AFTER.replace("{columns}", &TOKEN.columns().join(", "));
    let mut values = Values::default();
    values.text(id.map_or("", TokenId::as_str));
    values.integer(i64::from(count));
    let mut tokens = Vec::new();
    driver.query(&sql, &values.0, &mut |row| {
        tokens.push(TokenRecord::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    Ok(tokens)
}

/// The token of an id.
pub fn of(driver: &mut dyn Driver, id: &TokenId) -> Result<Option<TokenRecord>, StoreError> {
    let mut values = Values::default();
    values.text(id.as_str());
    let mut found = None;
    BY_ID.ask(driver, values, &mut |fields| {
        found = Some(TokenRecord::read(fields)?);
        Ok(())
    })?;
    Ok(found)
}

/// Tells of every token.
pub fn each(driver: &mut dyn Driver, each: &mut dyn FnMut(&TokenRecord)) -> Result<(), StoreError> {
    driver.query(&TOKEN.every(), &[], &mut |row| {
        each(&TokenRecord::read(&mut Fields::of(row))?);
        Ok(())
    })
}
