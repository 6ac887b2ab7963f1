//! On a terminal the command is in the foreground: what is typed reaches it, and afterwards the shell has it back.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tenure_core::model::event::EventKind;
use tenure_sim::program;

use super::Story;

/// A terminal: the side of the person, and the side of the programs.
fn terminal() -> (File, File) {
    let person: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&person).expect("it is ours");
    unlockpt(&person).expect("it is ours");
    let name = ptsname(&person, Vec::new()).expect("it has a name");
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let programs = File::options().read(true).write(true).open(path).expect("it is ours");
    (File::from(person), programs)
}

#[test]
fn a_key_that_interrupts_reaches_the_command_and_the_terminal_comes_back() {
    let story = Story::new();
    let task = story.task();
    let (mut person, programs) = terminal();
    // The shell is no job-control shell: it reads only if the foreground is its group's again.
    let script = format!(
        "{} run {task} -- sh -c 'trap \"echo interrupted; exit 9\" INT; echo ready; while :; do sleep 0.01; done' 2>/dev/null; \
         echo code $?; read line; echo read $line",
        program::tenure().display()
    );
    let mut command = Command::new("setsid");
    story.shell.dress(command.args(["--ctty", "--wait", "sh", "-c", &script]));
    let mut child =
        command.stdin(Stdio::from(programs)).stderr(Stdio::inherit()).spawn().expect("a shell on a terminal");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut line = || lines.next().expect("a line").expect("which is text");
    assert_eq!(line(), "ready");
    // It is woken after a key that puts it to sleep.
    person.write_all(b"\x1a").expect("it is open");
    person.write_all(b"\x03").expect("it is open");
    assert_eq!(line(), "interrupted");
    assert_eq!(line(), "code 9");
    person.write_all(b"back\n").expect("it is open");
    assert_eq!(line(), "read back");
    assert!(child.wait().expect("it is our child").success());
    assert_eq!(story.endings(&task), [EventKind::TaskHandedOff]);
}
