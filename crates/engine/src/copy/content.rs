//! What tables hold, whichever database they are in: rows on their way from one to the other, and digests by which two
//! databases are compared.

use sha2::{Digest as _, Sha256};
use tenure_core::model::ids::Digest;

use super::{CopyError, Side};
use crate::store::driver::{Class, Driver, Row, StoreError, Value};
use crate::store::queue::EVERY_READY;
use crate::store::rows::insert_part;
use crate::store::shape::{ROWS_MAX, Shape};

/// How many rows travel at once.
const PART_ROWS: usize = 8 * ROWS_MAX;
/// Rows travel sooner when their texts have so many bytes.
const PART_BYTES: usize = 1 << 20;

/// What was found of some rows: how many there are, and a digest of all of them in their order.
#[derive(Debug, PartialEq, Eq)]
pub struct Sum {
    pub rows: u64,
    pub digest: Digest,
}

/// A sum in the making.
#[derive(Default)]
struct Summing {
    rows: u64,
    hasher: Sha256,
}

impl Summing {
    fn add(&mut self, row: &[Value<'_>]) {
        self.rows += 1;
        for value in row {
            match value {
                Value::Integer(integer) => {
                    self.hasher.update([1]);
                    self.hasher.update(integer.to_be_bytes());
                }
                Value::Text(text) => {
                    self.hasher.update([2]);
                    self.hasher.update((text.len() as u64).to_be_bytes());
                    self.hasher.update(text.as_bytes());
                }
                Value::Null => self.hasher.update([3]),
            }
        }
    }

    fn done(self) -> Sum {
        Sum { rows: self.rows, digest: Digest(self.hasher.finalize().into()) }
    }
}

/// Rows that travel together.
#[derive(Default)]
struct Part {
    values: Vec<Value<'static>>,
    bytes: usize,
}

impl Part {
    fn add(&mut self, row: Vec<Value<'_>>) {
        let texts = row.iter().map(|value| match value {
            Value::Text(text) => text.len(),
            Value::Integer(_) | Value::Null => 0,
        });
        self.bytes += texts.sum::<usize>();
        self.values.extend(row.into_iter().map(Value::into_owned));
    }

    fn is_full(&self, width: usize) -> bool {
        self.values.len() >= PART_ROWS * width || self.bytes >= PART_BYTES
    }

    fn write(&mut self, driver: &mut dyn Driver, shape: &Shape) -> Result<(), StoreError> {
        insert_part(driver, shape, &self.values)?;
        *self = Self::default();
        Ok(())
    }
}

/// How many rows a table has.
pub fn count(side: &mut Side<'_>, shape: &Shape) -> Result<u64, CopyError> {
    let mut count = 0;
    let asked = side.driver.query(&shape.count(), &[], &mut |row| {
        count = row.integer(0)?.unwrap_or_default();
        Ok(())
    });
    asked.map_err(|error| side.wrong(error))?;
    u64::try_from(count).map_err(|_| side.wrong(StoreError::corrupt(format!("{count} rows"))))
}

/// Writes all rows of a table into the same table of the target. `told` hears how many are written.
pub fn carry_table(
    from: &mut Side<'_>,
    to: &mut Side<'_>,
    shape: &Shape,
    told: &mut dyn FnMut(u64),
) -> Result<Sum, CopyError> {
    let width = shape.columns().len();
    let (mut sum, mut part) = (Summing::default(), Part::default());
    // What the target refuses ends the source's question, which is to blame for nothing.
    let mut refused = None;
    let read = from.driver.query(&shape.every(), &[], &mut |row| {
        let values = values(row, width)?;
        if values.iter().any(|value| matches!(value, Value::Text(text) if to.driver.cannot_hold(text))) {
            let key = shown(&values[..shape.key().len()]);
            refused = Some(CopyError::Unholdable { to: to.name.clone(), table: shape.table(), key });
            return Err(StoreError::new(Class::Other, "a text has no place in the target"));
        }
        sum.add(&values);
        part.add(values);
        if part.is_full(width) {
            part.write(to.driver, shape).inspect_err(|error| refused = Some(to.wrong(error.clone())))?;
            told(sum.rows);
        }
        Ok(())
    });
    match (refused, read) {
        (Some(refused), _) => return Err(refused),
        (None, read) => read.map_err(|error| from.wrong(error))?,
    }
    part.write(to.driver, shape).map_err(|error| to.wrong(error))?;
    told(sum.rows);
    Ok(sum.done())
}

/// The sum of a table. `told` hears now and then how many rows were looked at.
pub fn sum_of(side: &mut Side<'_>, shape: &Shape, told: &mut dyn FnMut(u64)) -> Result<Sum, CopyError> {
    sum(side, &shape.every(), shape.columns().len(), told)
}

/// The sum of the ready queues of all projects.
pub fn ready_queue(side: &mut Side<'_>) -> Result<Sum, CopyError> {
    sum(side, EVERY_READY, 1, &mut |_| ())
}

fn sum(side: &mut Side<'_>, sql: &str, width: usize, told: &mut dyn FnMut(u64)) -> Result<Sum, CopyError> {
    let mut sum = Summing::default();
    let read = side.driver.query(sql, &[], &mut |row| {
        sum.add(&values(row, width)?);
        if sum.rows % PART_ROWS as u64 == 0 {
            told(sum.rows);
        }
        Ok(())
    });
    read.map_err(|error| side.wrong(error))?;
    Ok(sum.done())
}

fn values(row: &dyn Row, width: usize) -> Result<Vec<Value<'_>>, StoreError> {
    (0..width).map(|column| row.value(column)).collect()
}

/// A key, for people.
fn shown(key: &[Value<'_>]) -> String {
    let values = key.iter().map(|value| match value {
        Value::Integer(integer) => integer.to_string(),
        Value::Text(text) => text.escape_debug().to_string(),
        Value::Null => "null".to_owned(),
    });
    values.collect::<Vec<_>>().join(" ")
}
