//! The processes above and below this one, as Linux tells of them.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
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
    /// Whether it was put to sleep by a signal.
    pub stands_still: bool,
    /// Whether it has ended and only its parent has not taken note yet.
    pub has_ended: bool,
    /// Its process group's number.
    pub group: u32,
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

/// Whether a process lives and was put to sleep by a signal.
#[must_use]
pub fn stands_still(pid: u32) -> bool {
    living(pid).is_some_and(|process| process.stands_still)
}

/// When a process started, if it lives.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    living(pid).map(|process| process.started)
}

/// A process that has not ended, without its words.
fn living(pid: u32) -> Option<Process> {
    known(pid).filter(|process| !process.has_ended)
}

/// A process, without its words.
fn known(pid: u32) -> Option<Process> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The living processes below one, however deep, without their words. A parent stands before its children.
#[must_use]
pub fn below(root: u32) -> Vec<Process> {
    among(numbers().filter_map(known).collect(), root)
}

/// Those of some processes. One that is about to end keeps its children for a moment after it was seen to have ended, so
/// the way to them leads through it.
fn among(mut others: Vec<Process>, root: u32) -> Vec<Process> {
    let (mut above, mut found) = (BTreeSet::from([root]), Vec::new());
    while !above.is_empty() {
        let (children, rest) = others.into_iter().partition(|process| above.contains(&process.parent));
        others = rest;
        above = children.iter().map(|child: &Process| child.pid).collect();
        found.extend(children.into_iter().filter(|child| !child.has_ended));
    }
    found
}

/// The processes that have a file open, as far as this user may know, the oldest number first.
#[must_use]
pub fn having_open(file: &Path) -> Vec<Process> {
    let Ok(file) = file.metadata() else { return Vec::new() };
    let is_it = |descriptor: std::fs::DirEntry| {
        std::fs::metadata(descriptor.path())
            .is_ok_and(|open| (open.dev(), open.ino()) == (file.dev(), file.ino()))
    };
    let mut found: Vec<Process> = numbers()
        .filter(|pid| {
            let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            open.into_iter().any(is_it)
        })
        .filter_map(living)
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// The numbers of all processes.
fn numbers() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Reads `/proc/PID/stat`. The name stands in parentheses and may itself contain some.
fn parse_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(Process {
        pid: pid.parse().ok()?,
        name: name.to_owned(),
        stands_still: fields.first()? == &"T",
        has_ended: matches!(fields.first(), Some(&("Z" | "X"))),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
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
        assert_eq!((process.group, process.terminal, process.started), (42, 34816, 987));
        assert!(
            !process.stands_still && parse_stat(&stat.replace(" S ", " T ")).is_some_and(|p| p.stands_still)
        );
    }

    #[test]
    fn the_children_of_one_that_is_ending_are_still_found() {
        let process = |pid, parent, has_ended| Process { pid, parent, has_ended, ..Process::default() };
        let all = vec![process(9, 1, false), process(3, 2, false), process(2, 7, true), process(7, 1, false)];
        let found: Vec<u32> = among(all, 7).iter().map(|process| process.pid).collect();
        assert_eq!(found, [3]);
    }

    #[test]
    fn a_child_s_child_is_below_and_one_that_has_ended_is_not() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().expect("piped"));
        std::io::BufRead::read_line(&mut output, &mut line).expect("it says a number");
        let grandchild: u32 = line.trim().parse().expect("a number");
        let pids = |found: Vec<Process>| found.iter().map(|process| process.pid).collect::<Vec<_>>();
        let found = pids(below(std::process::id()));
        let place = |pid| found.iter().position(|found| *found == pid);
        assert!(place(child.id()).is_some() && place(child.id()) < place(grandchild), "{found:?}");
        let pid = rustix::process::Pid::from_raw(i32::try_from(grandchild).expect("small")).expect("not 0");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
        child.wait().expect("it is our child");
        let left = pids(below(std::process::id()));
        assert!(!left.contains(&child.id()) && !left.contains(&grandchild), "{left:?}");
    }

    #[test]
    fn who_has_a_file_open_is_found_by_whatever_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        let open = std::fs::File::create(&file).expect("created");
        std::fs::hard_link(&file, &link).expect("linked");
        let pids = |path: &Path| having_open(path).iter().map(|process| process.pid).collect::<Vec<_>>();
        assert_eq!(pids(&link), [std::process::id()]);
        drop(open);
        assert_eq!(pids(&link), [0; 0]);
        assert_eq!(pids(&folder.path().join("nothing")), [0; 0]);
    }

    #[test]
    fn this_process_is_found() {
        let me = process(std::process::id()).expect("alive");
        assert_eq!(started(me.pid), Some(me.started));
        assert!(!me.words.is_empty());
    }
}
