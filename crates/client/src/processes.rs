//! The processes above this one, as Linux tells of them.

use std::path::Path;

/// What is known of one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's number.
    pub parent: u32,
    /// Its session leader's number.
    pub leader: u32,
    /// Its terminal as the kernel numbers it; 0 for none.
    pub terminal: u64,
    /// When it started, in clock ticks since the machine did. With `pid` it names one process for good.
    pub started: u64,
    /// Its short name.
    pub name: String,
    /// The words it was started with; empty when they cannot be read.
    pub words: Vec<String>,
}

/// Looks up one process.
#[must_use]
pub fn process(pid: u32) -> Option<Process> {
    let folder = format!("/proc/{pid}");
    let stat = std::fs::read_to_string(Path::new(&folder).join("stat")).ok()?;
    let words = std::fs::read(Path::new(&folder).join("cmdline")).unwrap_or_default();
    let words = words
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .take(4)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    Some(Process { words, ..parse_stat(&stat)? })
}

/// When a process started, if it lives.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let is_zombie = rest.trim_start().starts_with(['Z', 'X']);
    parse_stat(&stat).filter(|_| !is_zombie).map(|process| process.started)
}

/// Reads `/proc/PID/stat`. The name stands in parentheses and may itself contain some.
fn parse_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(Process {
        pid: pid.parse().ok()?,
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        leader: fields.get(3)?.parse().ok()?,
        terminal: fields.get(4)?.parse::<i64>().ok()?.unsigned_abs(),
        started: fields.get(19)?.parse().ok()?,
        words: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_read_whole() {
        let stat = "42 (a) b (c)) S 7 42 41 34816 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 987 1 2";
        let process = parse_stat(stat).expect("well-formed");
        assert_eq!((process.name.as_str(), process.parent, process.leader), ("a) b (c)", 7, 41));
        assert_eq!((process.terminal, process.started), (34816, 987));
    }

    #[test]
    fn this_process_is_found() {
        let me = process(std::process::id()).expect("alive");
        assert_eq!(started(me.pid), Some(me.started));
        assert!(!me.words.is_empty());
    }
}
