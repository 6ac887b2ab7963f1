//! Durations as people type them: `90s`, `5m`, `1h30m`, `2d`.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo, Timestamp};
use tenure_core::model::time::WallTime;

use crate::render::time;

/// The longest one: a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Reads a duration with its units. A day is 24 hours.
pub fn parse(text: &str) -> Result<Duration, String> {
    let read = text.parse::<Span>().ok();
    let read = read.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    match read.and_then(|duration| Duration::try_from(duration).ok()) {
        Some(duration) if duration <= LONGEST => Ok(duration),
        Some(_) => Err("it is more than a year".to_owned()),
        None => Err("write it with its unit, e.g. 90s, 5m, 1h30m or 2d".to_owned()),
    }
}

/// A duration in milliseconds; one that is longer than can be said is as long as can be said.
pub fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Reads how long ago something was, or when.
pub fn since(text: &str) -> Result<WallTime, String> {
    match parse(text) {
        Ok(duration) => Ok(now().minus_ms(ms(duration))),
        Err(_) => time::parse(text).map_err(|_| {
            "write how long ago (8h, 2d), a date (2027-01-31) or a moment (2027-01-31T09:00Z)".to_owned()
        }),
    }
}

/// This moment by the clock of this machine.
pub fn now() -> WallTime {
    WallTime(Timestamp::now().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, ms) in [
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("250ms", 250),
            ("0s", 0),
            ("2d", 172_800_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "5", "-5s", "five minutes", "5 parsecs", "9999999h", "1 month"] {
            parse(text).expect_err(text);
        }
    }

    #[test]
    fn a_beginning_is_so_long_ago_or_a_date() {
        assert_eq!(since("1970-01-02"), Ok(WallTime(86_400_000)));
        assert_eq!(since("1970-01-01T01:00:00Z"), Ok(WallTime(3_600_000)));
        let eight_hours = 8 * 60 * 60 * 1000;
        let (before, ago, after) = (now(), since("8h").expect("ago"), now());
        assert!(before.minus_ms(eight_hours) <= ago && ago <= after.minus_ms(eight_hours));
        since("yesterday-ish").expect_err("no moment");
    }
}
