//! How the command line reads arguments that have bounds: what is wrong is said with what would be right. The rules
//! check again, because not every caller is the command line.

use std::ops::{Bound, RangeBounds};

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::model::limits::{FOUND_ROWS, PAGE_ROWS};
use crate::model::task::{Lifecycle, Resolution};

/// Reads how many rows a list shows.
pub fn rows() -> impl Fn(&str) -> Result<u32, String> + Clone {
    number(1..=i64::from(PAGE_ROWS))
}

/// Reads how many tasks a search shows.
pub fn found_rows() -> impl Fn(&str) -> Result<u32, String> + Clone {
    number(1..=i64::from(FOUND_ROWS))
}

/// Reads a number within bounds, of which the upper one may be missing.
pub fn number<T: TryFrom<i64>>(
    bounds: impl RangeBounds<i64> + Clone,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            match (bounds.start_bound(), bounds.end_bound()) {
                (Bound::Included(least), Bound::Included(most)) => {
                    format!("it is a number from {least} to {most}")
                }
                (Bound::Included(least), _) => format!("it is a whole number, {least} or more"),
                _ => "it is a whole number".to_owned(),
            }
        })
    }
}

/// Reads one of the resolutions that end in this state.
pub fn resolution(ending: Lifecycle) -> impl TypedValueParser<Value = Resolution> {
    let all = Resolution::ALL.iter().filter(move |resolution| resolution.lifecycle() == ending);
    PossibleValuesParser::new(all.filter_map(ValueEnum::to_possible_value)).try_map(|word| word.parse())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_told_its_bounds() {
        assert_eq!((rows()("1"), rows()("1000")), (Ok(1), Ok(1000)));
        for text in ["abc", "", "0", "1001", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(rows()(text).expect_err(text), "it is a number from 1 to 1000");
        }
        let revision = number::<u64>(1..);
        assert_eq!(revision("7"), Ok(7));
        assert_eq!(revision("x").expect_err("no number"), "it is a whole number, 1 or more");
    }
}
