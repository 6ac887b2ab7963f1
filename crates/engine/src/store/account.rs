//! Accounts of people.

use tenure_core::model::account::{Account, Role};
use tenure_core::model::time::WallTime;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static ACCOUNT: Shape = Shape::new(
    "account",
    &["name", "role", "password", "disabled", "created_at", "password_changed_at"],
    1,
    1,
);

/// Accounts by name.
pub static BY_NAME: Lookup = Lookup::new(&ACCOUNT, &["name"], "");
/// The accounts of a role that are not disabled.
pub static ENABLED_IN: Lookup = Lookup::new(&ACCOUNT, &["role"], "disabled = 0");

impl Stored for Account {
    fn shape() -> &'static Shape {
        &ACCOUNT
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            name: fields.parse()?,
            role: fields.parse()?,
            password: fields.parse()?,
            disabled: fields.flag()?,
            created_at: WallTime(fields.integer()?),
            password_changed_at: WallTime(fields.integer()?),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.name.as_str());
        values.text(self.role.as_str());
        values.text(self.password.as_str());
        values.flag(self.disabled);
        values.integer(self.created_at.0);
        values.integer(self.password_changed_at.0);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}

/// Whether there is an administrator that is not disabled.
pub fn has_administrator(driver: &mut dyn Driver) -> Result<bool, StoreError> {
    let mut values = Values::default();
    values.text(Role::Administrator.as_str());
    let mut found = false;
    ENABLED_IN.ask(driver, values, &mut |_| {
        found = true;
        Ok(())
    })?;
    Ok(found)
}
