//! Those who follow the record: every event once, by number; and somebody who asks and never reads.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::wire;

use super::super::wire as socket;

/// How long a stream must be silent after the end of the day before its follower goes.
const SILENCE: Duration = Duration::from_secs(2);
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// Follows the record from now on, until it is silent after `is_last`. Returns the number of the last event; one that
/// is missing or comes twice is an error.
pub fn follow(folder: &Path, number: usize, is_last: &AtomicBool) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("follower {number}: {error}");
    let mut stream = open(folder, "/events?newest=true&limit=1").map_err(failed)?;
    stream.set_read_timeout(Some(SILENCE)).map_err(failed)?;
    let mut seen: Option<u64> = None;
    let mut inbox = Vec::new();
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let count = match stream.read(&mut bytes) {
            Ok(0) => return Err(format!("follower {number}: the stream ended")),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => match seen {
                Some(seen) if is_last.load(Ordering::Relaxed) => return Ok(seen),
                _ => continue,
            },
            Err(error) => return Err(failed(error)),
        };
        inbox.extend_from_slice(&bytes[..count]);
        let whole = inbox.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in inbox[..whole].split(|byte| *byte == b'\n') {
            let Some(event) = event_number(line) else { continue };
            if seen.is_some_and(|seen| event != seen + 1) {
                return Err(format!("follower {number}: {event} came after {seen:?}"));
            }
            seen = Some(event);
        }
        inbox.drain(..whole);
    }
}

/// The number of the event whose id a line of the stream tells.
fn event_number(line: &[u8]) -> Option<u64> {
    let id = std::str::from_utf8(line).ok()?.trim_end().strip_prefix("id: ")?;
    id.rsplit_once('-')?.1.parse().ok()
}

/// Asks for the record, as a stream and page by page, and reads nothing of it. It goes on as long as the value lives.
pub fn never_reads(folder: &Path) -> Result<Vec<UnixStream>, String> {
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(open(folder, "/events").map_err(|error| error.to_string())?);
        let mut pages = socket::connect(folder).map_err(|error| error.to_string())?;
        let ask = format!("GET {}/events?limit=1000 HTTP/1.1\r\nHost: tenure\r\n\r\n", wire::API);
        pages.write_all(ask.repeat(8).as_bytes()).map_err(|error| error.to_string())?;
        streams.push(pages);
    }
    Ok(streams)
}

fn open(folder: &Path, path: &str) -> std::io::Result<UnixStream> {
    let mut stream = socket::connect(folder)?;
    let accept = wire::EVENT_STREAM;
    let ask = format!("GET {}{path} HTTP/1.1\r\nHost: tenure\r\nAccept: {accept}\r\n\r\n", wire::API);
    stream.write_all(ask.as_bytes())?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_tells_its_number() {
        assert_eq!(event_number(b"id: 1-204\r"), Some(204));
        assert_eq!(event_number(b"data: {\"number\":3}"), None);
        assert_eq!(event_number(b""), None);
    }
}
