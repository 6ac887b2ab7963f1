//! Moments for people.

use jiff::Timestamp;
use tenure_core::model::task::DEFERRED_WITHOUT_DATE;
use tenure_core::model::time::WallTime;

pub use tenure_core::model::time::duration;

/// A moment, in UTC.
pub fn moment(at: WallTime) -> String {
    if at == DEFERRED_WITHOUT_DATE {
        return "it is resumed".to_owned();
    }
    match Timestamp::from_millisecond(at.0) {
        Ok(moment) => moment.strftime("%Y-%m-%d %H:%MZ").to_string(),
        Err(_) => format!("{} ms since 1970", at.0),
    }
}

/// Reads a date or a moment; a date alone is its beginning in UTC.
pub fn parse(text: &str) -> Result<WallTime, String> {
    let moment: Timestamp = text
        .parse()
        .or_else(|_| format!("{text}T00:00:00Z").parse())
        .map_err(|_| format!("{text:?} is no date (2027-01-31) and no moment (2027-01-31T09:00:00Z)"))?;
    Ok(WallTime(moment.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_short() {
        assert_eq!(moment(parse("2027-01-31").expect("a date")), "2027-01-31 00:00Z");
        assert_eq!(moment(parse("2027-01-31T09:30:00+02:00").expect("a moment")), "2027-01-31 07:30Z");
        assert!(parse("soon").is_err());
    }
}
