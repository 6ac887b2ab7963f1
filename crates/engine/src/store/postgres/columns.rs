//! Rows on their way to PostgreSQL: a list for each column instead of a place for each value, so that one statement, which
//! is planned once, writes however many there are.

use tokio_postgres::types::Type;

use super::value::Argument;
use crate::store::driver::Value;

/// Most rows in one statement: so many texts at their longest fit a message with room to spare.
pub const ROWS_MAX: usize = 256;

/// A source of rows with columns of these types: `unnest($1::BIGINT[], $2::TEXT[] …)`.
pub fn source<'t>(types: impl Iterator<Item = &'t Type>) -> String {
    let lists: Vec<String> = (1..).zip(types).map(|(place, of)| format!("${place}::{of}[]")).collect();
    format!("unnest({})", lists.join(", "))
}

/// The lists of such a source for rows whose values stand one after the other.
pub fn lists(values: &[Value<'_>], width: usize) -> Vec<Argument> {
    let column = |first| values.iter().skip(first).step_by(width).map(Argument::from).collect();
    (0..width).map(|first| Argument::List(column(first))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_spread_over_the_columns() {
        assert_eq!(source([Type::INT8, Type::TEXT].iter()), "unnest($1::int8[], $2::text[])");
        let rows = [Value::Integer(1), Value::Text("a".into()), Value::Integer(2), Value::Null];
        let [Argument::List(numbers), Argument::List(texts)] = &*lists(&rows, 2) else {
            panic!("there are two columns");
        };
        assert_eq!((numbers.len(), texts.len()), (2, 2));
        assert_eq!(numbers[1], Value::Integer(2));
        assert_eq!(texts[1], Value::Null);
    }
}
