//! Receipts: the stored answers of operations.

use tenure_core::model::event::Receipt;
use tenure_core::model::ids::Epoch;
use tenure_core::model::time::WallTime;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static RECEIPT: Shape = Shape::new(
    "receipt",
    &["operation_id", "principal", "operation", "fingerprint", "epoch", "at", "answer"],
    2,
    2,
);

/// Receipts by caller and operation id.
pub static BY_ID: Lookup = Lookup::new(&RECEIPT, &["operation_id", "principal"], "");

/// Receipts that still have their answer and are older than a moment. `{columns}` stands for a receipt's columns.
pub const AGED: &str =
    "SELECT {columns} FROM receipt WHERE answer IS NOT NULL AND at < $1 ORDER BY at LIMIT $2";

/// The oldest receipts from before a moment whose answers are still kept.
pub fn aged(driver: &mut dyn Driver, before: WallTime, count: u32) -> Result<Vec<Receipt>, StoreError> {
    let mut values = Values::default();
    values.integer(before.0);
    values.integer(i64::from(count));
    let mut receipts = Vec::new();
    let sql = AGED.replace("{columns}", &RECEIPT.columns().join(", "));
    driver.query(&sql, &values.0, &mut |row| {
        receipts.push(Receipt::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    Ok(receipts)
}

impl Stored for Receipt {
    fn shape() -> &'static Shape {
        &RECEIPT
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            operation_id: fields.parse()?,
            principal: fields.parse()?,
            operation: fields.text()?.to_owned(),
            fingerprint: fields.parse()?,
            epoch: Epoch(fields.count()?),
            at: WallTime(fields.integer()?),
            answer: fields.optional_text()?.map(str::to_owned),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.operation_id.as_str());
        values.text(self.principal.as_str());
        values.text(&self.operation);
        values.shown(&self.fingerprint);
        values.count(self.epoch.0);
        values.integer(self.at.0);
        values.optional_text(self.answer.as_deref());
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(&key.1);
        values.shown(&key.0);
    }
}
