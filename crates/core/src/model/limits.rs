//! Every size, count and duration that Tenure bounds, in one place and with a name.

use super::glyphs::is_ignorable;
use super::refusal::{Code, Refusal};
use super::time::duration;

/// Longest title, in bytes.
pub const TITLE_BYTES: usize = 500;
/// Longest description, note, handoff, checkpoint or reason text, in bytes.
pub const TEXT_BYTES: usize = 64 * 1024;
/// Longest one-line field (branch, commit, path, label, reference), in bytes.
pub const LINE_BYTES: usize = 1024;
/// Most entries in a list field (labels, criteria, touches, dependencies given at creation).
pub const LIST_ITEMS: usize = 100;
/// Most rows in one page of a list.
pub const PAGE_ROWS: u32 = 1000;
/// Rows of a page when the caller names no limit.
pub const PAGE_ROWS_DEFAULT: u32 = 20;
/// Most bytes of the rows of a page, as JSON, when the caller names no limit: whoever reads an answer pays for every
/// word. A page has at least one row.
pub const PAGE_BYTES_DEFAULT: usize = 1600;
/// The same for each part of a digest.
pub const PART_BYTES_DEFAULT: usize = 400;
/// Shortest password of a person, in bytes.
pub const PASSWORD_BYTES_MIN: usize = 12;
/// Longest password of a person, in bytes.
pub const PASSWORD_BYTES_MAX: usize = 1024;
/// Most passwords that are compared or hashed at once: each takes 19 MiB and a core for a while.
pub const PASSWORDS_AT_ONCE: usize = 2;
/// Most that wait for their turn; beyond that a caller is told to come back.
pub const PASSWORDS_WAITING: usize = 16;
/// How many wrong passwords in a row are compared for one name before the next one has to wait.
pub const GUESSES_OF_NAME: u32 = 5;
/// After how long one more is compared, in milliseconds.
pub const GUESS_OF_NAME_MS: u64 = 20_000;
/// The same for all names together.
pub const GUESSES: u32 = 30;
/// After how long one more is compared for all names together, in milliseconds.
pub const GUESS_MS: u64 = 2_000;
/// Who was authenticated, and who was refused, is recorded once for each account in so long, in milliseconds.
pub const AUTHENTICATIONS_MS: u64 = 60_000;
/// How long a login in a browser goes on that is not used, in milliseconds: half an hour. This and the next are what NIST
/// SP 800-63B asks for at its second level.
pub const LOGIN_IDLE_MS: u64 = 30 * 60 * 1000;
/// How long a login in a browser goes on at most, in milliseconds: half a day.
pub const LOGIN_MS_MAX: u64 = 12 * 60 * 60 * 1000;
/// How old a login in a browser may be for what only people may do, in milliseconds: long enough to read before one acts, too
/// short for a screen that somebody has left.
pub const LOGIN_RECENT_MS: u64 = 10 * 60 * 1000;
/// Most logins in browsers at once; beyond that the one that was not used for longest ends.
pub const LOGINS: usize = 1024;
/// Most of them of one person.
pub const LOGINS_OF_PERSON: usize = 16;
/// How often somebody may try to log in from one address in a row: fewer than there are guesses in all, so that one address
/// leaves some to others.
pub const LOGIN_BURST: u32 = 10;
/// After how long an address may try once more, in milliseconds.
pub const LOGIN_EVERY_MS: u64 = 10_000;
/// Largest form of a page, in bytes: the longest name and password, with three bytes for each.
pub const FORM_BYTES: usize = 8 * 1024;
/// How long a token counts where nothing is said, in milliseconds: 90 days.
pub const TOKEN_MS_DEFAULT: i64 = 90 * 24 * 60 * 60 * 1000;
/// Shortest time that a token counts, in milliseconds.
pub const TOKEN_MS_MIN: i64 = 60_000;
/// Longest time that a token counts, in milliseconds: 366 days.
pub const TOKEN_MS_MAX: i64 = 366 * 24 * 60 * 60 * 1000;
/// How long a replaced token may go on beside the one that follows it, in milliseconds: a day.
pub const TOKEN_OVERLAP_MS_MAX: i64 = 24 * 60 * 60 * 1000;
/// Shortest window of a reporter, in milliseconds.
pub const REPORTER_MS_MIN: i64 = 1_000;
/// Longest window of a reporter, in milliseconds: an hour. Whoever still holds the task can declare another one.
pub const REPORTER_MS_MAX: i64 = 60 * 60 * 1000;
/// Longest query of a search, in bytes.
pub const QUERY_BYTES: usize = 1024;
/// Most words and phrases of one query.
pub const QUERY_TERMS: usize = 32;
/// Most tasks that one search shows; who wants others says more precisely what.
pub const FOUND_ROWS: u32 = 100;
/// Most text in one page of entries or events, in bytes; a page has at least one row.
pub const PAGE_TEXT_BYTES: usize = 256 * 1024;
/// Most other tasks of one relation that are shown with a task; `dependency list` has the others.
pub const NEIGHBOURS_SHOWN: u32 = 50;
/// Most attempts of a task that are shown.
pub const ATTEMPTS_SHOWN: usize = 50;
/// Most entries that a recovery packet holds.
pub const RECOVERY_ENTRIES: u32 = 20;
/// Most bytes of text that a recovery packet holds: the newest entry whole, then as many as fit.
pub const RECOVERY_BYTES: usize = TEXT_BYTES;
/// Most bytes that the results of one `--jq` may have.
pub const JQ_BYTES: usize = 64 * 1024 * 1024;
/// How long the next result of `--jq` may take, in milliseconds.
pub const JQ_MS: u64 = 10_000;
/// Most memory that an evaluation of `--jq` may need, in bytes.
pub const JQ_MEMORY_BYTES: u64 = 512 * 1024 * 1024;
/// Most characters of a word of the command line that a message repeats. A title fits.
pub const ECHO_CHARACTERS: usize = 500;
/// Most names that a completion offers.
pub const COMPLETIONS: u32 = 100;
/// How long a completion waits for the coordinator, in milliseconds. Then it offers nothing.
pub const COMPLETION_MS: u64 = 250;
/// Deepest nesting of a JSON request.
pub const JSON_DEPTH: usize = 32;
/// Largest request body, in bytes; imports have their own.
pub const BODY_BYTES: usize = 1024 * 1024;
/// Longest path of a request with its query, in bytes: what a question asks for stands there.
pub const TARGET_BYTES: usize = 12 * 1024;
/// Largest imported file, in bytes.
pub const IMPORT_BYTES: usize = 32 * 1024 * 1024;
/// Most bytes of requests to import that the coordinator keeps at once: the two largest that it works on, and as many
/// again that wait. Who comes beyond that is told to come back.
pub const IMPORTS_BYTES: usize = 8 * IMPORT_BYTES;
/// Deepest nesting of a line of an export. What an imported record left over may be as deep as a request, and each
/// passage from one fleet to another wraps it once more.
pub const EXPORT_DEPTH: usize = 100;
/// Most exports that are written, or still read by who asked for them, at once. Each takes room on the store's disk.
pub const EXPORTS: usize = 4;
/// Most records of one import.
pub const IMPORT_RECORDS: usize = 100_000;
/// Most tasks that one walk through dependencies may visit before it is refused.
pub const GRAPH_WALK_TASKS: usize = 100_000;
/// The last moment of a date that anybody can name: the end of the year 9999, in milliseconds since 1970.
pub const WALL_MS_MAX: i64 = 253_402_300_799_999;
/// Most tasks of a chain in which each was cancelled because the next stands in its place.
pub const SUCCESSORS_MAX: usize = 100;
/// Longest chain that `explain` prints.
pub const EXPLAIN_STEPS: usize = 50;
/// Most commands that share one commit. Larger groups gain nothing and lengthen the tail.
pub const BATCH_COMMANDS: usize = 256;
/// Longest time that a request may wait for something to happen, in milliseconds. Who has more patience asks again.
pub const WAIT_MS_MAX: i64 = 60_000;
/// Longest wait inside a tool's call, in milliseconds: clients of tools give up on one that takes a minute.
pub const TOOL_WAIT_MS_MAX: i64 = 50_000;
/// Longest answer of a tool, in bytes: a model reads all of it.
pub const TOOL_ANSWER_BYTES: usize = 24 * 1024;
/// Most requests that wait for something to happen at once; beyond that a caller is told to come back.
pub const WAITERS: usize = 512;
/// Most callers that follow the record at once.
pub const FOLLOWERS: usize = 256;
/// How long a caller that was told of work has it to itself, in milliseconds. Then the next one is told.
pub const WAKE_MS: u64 = 100;
/// After how long one who waits looks again although nothing was heard, in milliseconds: the net below the wakes.
pub const RECHECK_MS: u64 = 5_000;
/// How long a question that wants an event to be there waits for it, in milliseconds. Then it is refused.
pub const AT_LEAST_MS: u64 = 5_000;
/// After how long it looks again although nothing was heard, in milliseconds.
pub const AT_LEAST_LOOK_MS: u64 = 500;
/// Most commands waiting for the writer; beyond that a caller is told to come back.
pub const QUEUE_COMMANDS: usize = 4096;

/// Most connections by the network at once; further callers wait in the queues of the addresses. The socket has its own.
pub const NETWORK_CONNECTIONS: usize = 1024;
/// Most of them from one address: one IPv4 address or the 64 bits of an IPv6 network. A trusted proxy has no such limit.
pub const NETWORK_CONNECTIONS_PER_ADDRESS: usize = 256;
/// Largest head of a request by the network, in bytes.
pub const NETWORK_HEAD_BYTES: usize = 32 * 1024;
/// Most headers of a request by the network.
pub const NETWORK_HEADERS: usize = 64;
/// How long a TLS handshake may take, in milliseconds.
pub const NETWORK_HANDSHAKE_MS: u64 = 10_000;
/// How long a connection by the network may be silent before and within a request's headers, in milliseconds.
pub const NETWORK_HEADERS_MS: u64 = 30_000;
/// How long a caller by the network may take nothing of its answer, in milliseconds.
pub const NETWORK_WRITE_MS: u64 = 30_000;
/// How often an address may ask in a row without being known. Then it waits.
pub const UNKNOWN_BURST: u32 = 30;
/// After how long an address that is not known may ask once more, in milliseconds.
pub const UNKNOWN_EVERY_MS: u64 = 2_000;
/// Most addresses that are remembered for having asked without being known.
pub const UNKNOWN_ADDRESSES: usize = 4096;
/// How often in a second whoever is known may write by the network, in the long run. Fifty agents on one machine that renew,
/// note and claim write about ten times in a second; only a loop that never rests writes a hundred times.
pub const WRITES_PER_SECOND: u32 = 100;
/// For how many seconds' writes there is room in a row: fifty agents that begin at one moment need a few hundred.
pub const WRITES_BURST_S: u32 = 10;
/// How many times as much one address may write as one who is known: several machines can stand behind one.
pub const WRITES_OF_ADDRESS: u32 = 4;
/// Most who are known, and most addresses, that are remembered for having written lately.
pub const WRITERS: usize = 4096;

/// How long a lease lasts unless the project says otherwise, in milliseconds.
pub const LEASE_MS_DEFAULT: i64 = 10 * 60_000;
/// Shortest lease a project may set, in milliseconds.
pub const LEASE_MS_MIN: i64 = 30_000;
/// Longest lease a project may set, in milliseconds.
pub const LEASE_MS_MAX: i64 = 4 * 60 * 60_000;
/// The advised heartbeat interval is this or a third of the lease, whichever is shorter, in milliseconds.
pub const HEARTBEAT_MS_MAX: i64 = 60_000;
/// How long a session without any call still counts as present, in milliseconds.
pub const PRESENCE_MS: i64 = 10 * 60_000;
/// How long a handoff to a named agent is kept for that agent, in milliseconds.
pub const HANDOFF_WINDOW_MS: i64 = 30 * 60_000;
/// How long an attempt without progress goes unremarked, in milliseconds.
pub const PROGRESS_OVERDUE_MS: i64 = 15 * 60_000;
/// Most wall time that a joining process adds to the stored fleet time, in milliseconds.
pub const JOIN_WALL_MS_MAX: i64 = 5_000;
/// How long a receipt answers a replay; afterwards its tombstone still refuses the id. Milliseconds of wall time.
pub const RECEIPT_MS: i64 = 30 * 24 * 60 * 60_000;

/// How far a restore moves every counter on, at least, where nothing tells what was handed out since the backup. Whatever
/// gets a number is recorded as an event, and a billion events take more than 300 GB: no store grows by that between a
/// backup and the loss that it is restored for, whatever the clocks say.
pub const RESTORE_SKIP: u64 = 1_000_000_000;
/// How much further for each millisecond since the backup. No machine commits a million events a second, so the same
/// backup can be restored again after a second loss.
pub const RESTORE_SKIP_PER_MS: u64 = 1_000;
/// Most bytes of a backup's manifest.
pub const MANIFEST_BYTES: usize = 16 * 1024;
/// How many of the events that a restore takes away are shown.
pub const LOST_EVENTS_SHOWN: u32 = 10;

/// Durations that tests and the demo may shorten; everybody else gets the defaults above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durations {
    /// Shortest lease a project may set.
    pub lease_ms_min: i64,
    /// Lease of a project that sets none.
    pub lease_ms_default: i64,
    /// Presence of a session after its last call.
    pub presence_ms: i64,
    /// How long a handoff waits for the agent it names.
    pub handoff_window_ms: i64,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            lease_ms_min: LEASE_MS_MIN,
            lease_ms_default: LEASE_MS_DEFAULT,
            presence_ms: PRESENCE_MS,
            handoff_window_ms: HANDOFF_WINDOW_MS,
        }
    }
}

/// The advised interval between heartbeats for a lease of this length, in milliseconds.
#[must_use]
pub fn heartbeat_ms(lease_ms: i64) -> i64 {
    HEARTBEAT_MS_MAX.min(lease_ms / 3).max(1)
}

/// How many of something, in words: `1 task`, `3 tasks`. The noun is one that takes an s.
#[must_use]
pub fn counted(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// The beginning of a text that is safe and short enough to quote in an error.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Whether nothing of a text can be seen: only white space, control characters and characters without a glyph.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    let blank_braille = '\u{2800}';
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_ignorable(c) || c == blank_braille)
}

/// Refuses a text field that is empty (unless `optional`), too long or contains NUL.
pub fn check_text(field: &str, text: &str, bytes_max: usize, optional: bool) -> Result<(), Refusal> {
    if !optional && is_blank(text) {
        return Err(Refusal::field(field, "is empty", "give it a text"));
    }
    if text.len() > bytes_max {
        let bytes = counted(text.len() as u64, "byte");
        let wrong = format!("has {bytes}, the limit is {bytes_max}");
        return Err(Refusal::field(field, &wrong, "shorten it or attach it elsewhere and name the place"));
    }
    if text.contains('\0') {
        return Err(Refusal::field(field, "contains a NUL character", "remove it"));
    }
    Ok(())
}

/// Refuses a one-line field that is empty, too long or has control characters.
pub fn check_line(field: &str, text: &str) -> Result<(), Refusal> {
    check_text(field, text, LINE_BYTES, false)?;
    if text.chars().any(char::is_control) {
        return Err(Refusal::field(field, "contains a control character", "write it on one plain line"));
    }
    Ok(())
}

/// Refuses a duration, in milliseconds, that is shorter or longer than allowed.
pub fn check_span(field: &str, ms: i64, (least, most): (i64, i64), remedy: &str) -> Result<(), Refusal> {
    if (least..=most).contains(&ms) {
        return Ok(());
    }
    let wrong = format!("is not between {} and {}", duration(least), duration(most));
    Err(Refusal::field(field, &wrong, remedy))
}

/// Refuses a list field with more entries than allowed.
pub fn check_count(field: &str, count: usize, most: usize) -> Result<(), Refusal> {
    if count > most {
        let wrong = format!("has {count} entries, the limit is {most}");
        return Err(Refusal::new(Code::InvalidInput, format!("{field} {wrong}")).next("split it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_takes_no_s() {
        assert_eq!([0u32, 1, 2].map(|n| counted(n, "task")), ["0 tasks", "1 task", "2 tasks"]);
    }

    #[test]
    fn a_text_of_which_nothing_can_be_seen_is_empty() {
        for text in
            ["", " \t\n", "\u{200b}", "\u{feff}\u{2060} \u{ad}", "\u{3164}", "\u{2800}", "\u{7}\u{e0041}"]
        {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["-", ".", "家", "👩\u{200d}👧", "\u{200b}x"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
