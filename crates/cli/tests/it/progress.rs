//! How far long work is: on a real terminal, and nowhere else. The work takes as long as the test wants: its daemon
//! stands still, or its file is endless.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::place::{Place, signal};

/// Begins a line of a terminal anew.
const ANEW: &str = "\r\u{1b}[K";

/// A command on a terminal, and what it has shown so far.
struct Terminal {
    child: Child,
    seen: String,
}

impl Terminal {
    fn of(place: &Place, words: &[&str]) -> Self {
        let command = place.command("ada", words);
        let mut script = Command::new("/usr/bin/script");
        script.env_clear().current_dir(place.checkout()).stdin(Stdio::null()).stdout(Stdio::piped());
        script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let line = std::iter::once(command.get_program()).chain(command.get_args());
        let line: Vec<_> = line.map(|word| word.to_str().expect("text")).collect();
        let child =
            script.args(["-qec", &line.join(" "), "/dev/null"]).spawn().expect("it is part of Debian");
        Self { child, seen: String::new() }
    }

    /// Reads on until this is seen.
    fn shows(&mut self, text: &str) {
        let mut output = self.child.stdout.take().expect("piped");
        while !self.seen.contains(text) {
            let mut piece = [0; 1];
            let read = output.read(&mut piece).expect("readable");
            assert_ne!(read, 0, "{text:?} was never seen: {:?}", self.seen);
            // Bytes of a longer character do not matter to what is looked for.
            self.seen.push(char::from(piece[0]));
        }
        self.child.stdout = Some(output);
    }

    /// The rest of it, and the exit code.
    fn ends(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut rest).expect("text");
        let code = self.child.wait().expect("ends").code();
        (std::mem::take(&mut self.seen) + &rest, code)
    }
}

/// A test that failed leaves nobody at work.
impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn work_of_the_daemon_is_told_after_a_second_and_only_to_a_person_at_a_terminal() {
    let place = Place::bound();
    let line = r#"{"id":"bd-7","title":"one","status":"open","priority":1,"issue_type":"task"}"#;
    std::fs::write(place.checkout().join("lines"), line).expect("written");
    let daemon = place.daemon();
    signal(daemon, Signal::STOP);
    let audit = ["audit", "verify"];
    let silent = ["--quiet", "--json"].map(|more| Terminal::of(&place, &[&audit[..], &[more]].concat()));
    let piped = place.command("ada", &audit).spawn().expect("runs");
    let mut told = [
        (&audit[..], "the daemon walks along the record", "the record is whole"),
        (&["backup", "create", "../backup.db"], "the daemon writes the backup", "a backup was written"),
        (&["export", "jsonl", "--output", "out"], "the daemon gathers the export", "an export was written"),
        (&["import", "beads", "lines"], "the daemon is still at it", "created:"),
        (&["ready"], "the daemon is still at it", "nothing is ready"),
    ]
    .map(|(words, while_at_it, at_the_end)| (Terminal::of(&place, words), while_at_it, at_the_end));
    for (terminal, while_at_it, _) in &mut told {
        terminal.shows(while_at_it);
        terminal.shows(" s");
        assert!(!terminal.seen.contains(" 0 s"), "{:?}", terminal.seen);
    }
    signal(daemon, Signal::CONT);
    for (terminal, while_at_it, at_the_end) in told {
        let (seen, code) = terminal.ends();
        assert!(matches!(code, Some(0 | 9)), "{seen:?}");
        let (_, after) = seen.rsplit_once(ANEW).expect("the line was taken away");
        assert!(after.contains(at_the_end) && !after.contains(while_at_it), "{seen:?}");
    }
    for terminal in silent {
        let (seen, _) = terminal.ends();
        assert!(!seen.contains("at it") && !seen.contains(ANEW), "{seen:?}");
    }
    let piped = piped.wait_with_output().expect("ends");
    assert_eq!(String::from_utf8_lossy(&piped.stderr), "");
}

#[test]
fn what_is_done_within_a_second_is_not_told() {
    let place = Place::bound();
    let (seen, code) = Terminal::of(&place, &["backup", "create", "../backup.db"]).ends();
    assert_eq!(code, Some(0), "{seen:?}");
    // A machine that was busy for a second tells it, and takes it away.
    assert!(!seen.contains("the daemon writes") || seen.contains(ANEW), "{seen:?}");
}

#[test]
fn work_whose_extent_is_known_tells_how_far_it_is() {
    let place = Place::bound();
    place.ok("ada", &["backup", "create", "../backup.db"]);
    let file = place.root.path().join("backup.db");
    // A file that has far more than its manifest says, and takes no room; reading it ends when the test cuts it off.
    resize(&file, 1 << 40);
    let mut terminal = Terminal::of(&place, &["backup", "verify", "../backup.db"]);
    for part in ["comparing the backup with its manifest: ", " of 0 MiB"] {
        terminal.shows(part);
    }
    resize(&file, 1 << 20);
    let (seen, code) = terminal.ends();
    assert_eq!(code, Some(10), "{seen:?}");
    let (_, after) = seen.rsplit_once(ANEW).expect("the line was taken away");
    assert!(after.contains("the backup is BROKEN") && !after.contains("comparing"), "{seen:?}");
}

fn resize(file: &Path, bytes: u64) {
    File::options().write(true).open(file).expect("opened").set_len(bytes).expect("resized");
}
