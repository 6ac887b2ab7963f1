//! Durations as people type them: `90s`, `5m`, `1h30m`.

use std::time::Duration;

use jiff::SignedDuration;

/// The longest one: a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Reads a duration with its units.
pub fn parse(text: &str) -> Result<Duration, String> {
    let read = text.parse::<SignedDuration>().ok().and_then(|read| Duration::try_from(read).ok());
    match read {
        Some(duration) if duration <= LONGEST => Ok(duration),
        Some(_) => Err("it is more than a year".to_owned()),
        None => Err("write it with its unit, e.g. 90s, 5m or 1h30m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, ms) in [("90s", 90_000), ("5m", 300_000), ("1h30m", 5_400_000), ("250ms", 250), ("0s", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "5", "-5s", "five minutes", "5 parsecs", "9999999999h"] {
            parse(text).expect_err(text);
        }
    }
}
