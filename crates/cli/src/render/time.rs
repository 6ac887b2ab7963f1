//! Moments and durations for people.

use jiff::Timestamp;
use tenure_core::model::task::DEFERRED_WITHOUT_DATE;
use tenure_core::model::time::WallTime;

/// A duration in its two largest units.
pub fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds}s"),
        (0, 0, minutes, 0) => format!("{minutes}m"),
        (0, 0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (0, hours, minutes, _) => format!("{hours}h {minutes}m"),
        (days, hours, ..) => format!("{days}d {hours}h"),
    }
}

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
    fn durations_and_moments_are_short() {
        let shown = [0, 999, 61_000, 600_000, 3_660_000, 90_000_000, -5].map(duration);
        assert_eq!(shown, ["0s", "0s", "1m 1s", "10m", "1h 1m", "1d 1h", "0s"]);
        assert_eq!(moment(parse("2027-01-31").expect("a date")), "2027-01-31 00:00Z");
        assert_eq!(moment(parse("2027-01-31T09:30:00+02:00").expect("a moment")), "2027-01-31 07:30Z");
        assert!(parse("soon").is_err());
    }
}
