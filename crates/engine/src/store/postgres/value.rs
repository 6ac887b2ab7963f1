//! Values on their way to PostgreSQL and back.

use tokio_postgres::Row as Found;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::store::driver::{Row, StoreError, Value};

/// A value that a statement keeps until it is sent.
#[derive(Debug, Clone)]
pub enum Argument {
    /// A number.
    Integer(i64),
    /// A text.
    Text(String),
    /// Nothing.
    Null,
    /// The values of a column.
    List(Vec<Self>),
}

impl Argument {
    /// The values of a statement, kept.
    pub fn all(values: &[Value<'_>]) -> Vec<Self> {
        values.iter().map(Self::from).collect()
    }
}

impl From<&Value<'_>> for Argument {
    fn from(value: &Value<'_>) -> Self {
        match value {
            Value::Integer(integer) => Self::Integer(*integer),
            Value::Text(text) => Self::Text(text.clone().into_owned()),
            Value::Null => Self::Null,
        }
    }
}

impl PartialEq<Value<'_>> for Argument {
    fn eq(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Integer(one), Value::Integer(other)) => one == other,
            (Self::Text(one), Value::Text(other)) => one == other,
            (Self::Null, Value::Null) => true,
            (Self::Integer(_) | Self::Text(_) | Self::Null | Self::List(_), _) => false,
        }
    }
}

impl ToSql for Argument {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Integer(integer) => integer.to_sql_checked(of, out),
            Self::Text(text) => text.to_sql_checked(of, out),
            Self::Null => Ok(IsNull::Yes),
            Self::List(values) => values.to_sql_checked(of, out),
        }
    }

    /// Which value goes where is known only with the value: it is looked at when it is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A row of an answer.
pub struct PostgresRow<'a>(pub &'a Found);

impl PostgresRow<'_> {
    fn get<'r, T: tokio_postgres::types::FromSql<'r>>(
        &'r self,
        column: usize,
    ) -> Result<Option<T>, StoreError> {
        self.0.try_get(column).map_err(|error| StoreError::corrupt(format!("column {}: {error}", column + 1)))
    }
}

impl Row for PostgresRow<'_> {
    fn integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0.columns().get(column).map(tokio_postgres::Column::type_) {
            // A number that stands in a statement and not in a table.
            Some(&Type::INT4) => self.get::<i32>(column).map(|integer| integer.map(i64::from)),
            Some(_) | None => self.get(column),
        }
    }

    fn text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        self.get(column)
    }

    fn value(&self, column: usize) -> Result<Value<'_>, StoreError> {
        match self.0.columns().get(column).map(tokio_postgres::Column::type_) {
            Some(&Type::TEXT) => Ok(self.text(column)?.map_or(Value::Null, |text| Value::Text(text.into()))),
            Some(_) | None => Ok(self.integer(column)?.map_or(Value::Null, Value::Integer)),
        }
    }
}
