//! The processes of a server, each by its number: the one that was started and those that it has started.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::run;

/// How long processes may take to stand still or to be gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often they are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A server whose processes stand still, as on a machine that is overrun. They go on when this is dropped, also by the end
/// of whoever holds it.
#[derive(Debug)]
pub struct Still {
    held: Option<ChildStdin>,
    guard: Child,
}

impl Still {
    pub(crate) fn of(first: Pid) -> Result<Self, String> {
        // What stands still starts nothing more.
        let mut all = vec![first];
        send(first, Signal::STOP);
        until(|| is(first, 'T'))?;
        all.extend(children(first));
        let numbers: Vec<String> = all.iter().map(|pid| pid.as_raw_nonzero().to_string()).collect();
        // Its standard input ends with the caller, however that ends, and then it wakes them.
        let mut guard = Command::new("sh");
        guard.args(["-c", "echo; read -r _; kill -CONT $*", "guard"]).args(&numbers);
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut guard = guard.spawn().map_err(|error| error.to_string())?;
        let mut still = Self { held: guard.stdin.take(), guard };
        let begun = still.guard.stdout.take().expect("it is piped").read_exact(&mut [0]);
        begun.map_err(|error| format!("the guard of a server that stands still: {error}"))?;
        all.iter().for_each(|pid| send(*pid, Signal::STOP));
        until(|| all.iter().all(|pid| is(*pid, 'T') || has_ended(*pid)))?;
        Ok(still)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        drop(self.held.take());
        self.guard.wait().ok();
    }
}

/// Ends them all at once: nothing is written any more, nobody is told.
pub(crate) fn kill(server: &mut Child) -> Result<(), String> {
    let first = Pid::from_child(server);
    send(first, Signal::STOP);
    until(|| is(first, 'T') || has_ended(first))?;
    let children = children(first);
    children.iter().for_each(|pid| send(*pid, Signal::KILL));
    server.kill().and_then(|()| server.wait()).map_err(|error| error.to_string())?;
    until(|| children.iter().all(|pid| has_ended(*pid)))
}

/// The same for one that somebody else started. What its children start meanwhile goes by itself, as all of PostgreSQL
/// does that has lost its first process.
pub(crate) fn kill_others(firsts: &[Pid]) -> Result<(), String> {
    let all: Vec<Pid> = firsts.iter().flat_map(|first| [vec![*first], children(*first)].concat()).collect();
    all.iter().for_each(|pid| send(*pid, Signal::KILL));
    until(|| all.iter().all(|pid| has_ended(*pid)))
}

/// The server that has a data folder, if it lives. Its file may be older than it, and its number another's by now.
pub(crate) fn serving(data: &Path) -> Option<Pid> {
    let noted = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let number = noted.lines().next()?;
    let named = fs::read(format!("/proc/{number}/cmdline")).ok()?;
    let names = |word: &[u8]| word == data.as_os_str().as_encoded_bytes();
    named.split(|byte| *byte == 0).any(names).then(|| Pid::from_raw(number.parse().ok()?)).flatten()
}

/// Gives back the memory that a server which was killed has left. Its next start would have used it.
pub(crate) fn clear_memory(data: &Path) {
    let left = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    if let Some(memory) = left.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) {
        // One that ended in peace has left none.
        run(Command::new("ipcrm").args(["--shmem-id", memory])).ok();
    }
}

fn send(pid: Pid, signal: Signal) {
    // One that has ended meanwhile needs no signal.
    kill_process(pid, signal).ok();
}

fn until(mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > PATIENCE {
            return Err("the processes of PostgreSQL do not obey their signals".to_owned());
        }
        // waits because: what a signal does to a process is only known by looking at it
        sleep(LOOK_EVERY);
    }
    Ok(())
}

/// The state and the parent of a process, as the kernel tells them.
fn stat(pid: &str) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

fn is(pid: Pid, state: char) -> bool {
    stat(&pid.as_raw_nonzero().to_string()).is_some_and(|(found, _)| found == state)
}

/// One that its parent has not asked about yet has ended too.
fn has_ended(pid: Pid) -> bool {
    stat(&pid.as_raw_nonzero().to_string()).is_none_or(|(state, _)| matches!(state, 'Z' | 'X'))
}

fn children(parent: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_parent = |name: &str| stat(name).is_some_and(|(_, of)| of == parent.as_raw_nonzero().get());
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| of_parent(name)).filter_map(|name| Pid::from_raw(name.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process with a child, and an argument to be known by.
    fn with_a_child(argument: &Path) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & wait"]).arg(argument);
        let parent = command.stdin(Stdio::null()).spawn().expect("a shell runs");
        until(|| !children(Pid::from_child(&parent)).is_empty()).expect("it starts a child");
        parent
    }

    #[test]
    fn whoever_is_ended_goes_with_all_that_it_has_started() {
        let mut parent = with_a_child(Path::new("nowhere"));
        let first = Pid::from_child(&parent);
        let child = children(first)[0];
        kill_others(&[first]).expect("they go");
        assert!(has_ended(first) && has_ended(child));
        parent.wait().expect("it is our child");
    }

    #[test]
    fn a_number_that_is_another_process_s_by_now_is_no_server_s() {
        let data = tempfile::tempdir().expect("a folder");
        assert_eq!(serving(data.path()), None, "nothing is noted");
        for (argument, is_found) in [(Path::new("elsewhere"), false), (data.path(), true)] {
            let mut process = with_a_child(argument);
            let pid = Pid::from_child(&process);
            fs::write(data.path().join("postmaster.pid"), format!("{}\n", pid.as_raw_nonzero()))
                .expect("written");
            assert_eq!(serving(data.path()), is_found.then_some(pid));
            kill_others(&[pid]).expect("it goes");
            process.wait().expect("it is our child");
            assert_eq!(serving(data.path()), None, "it has ended");
        }
    }
}
