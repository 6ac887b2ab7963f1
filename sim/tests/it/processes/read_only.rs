//! P9 in a folder that cannot be written, for a user who is not root: exit code 2 with a text that says why, and never
//! an empty list.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tenure_sim::daemon;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::program;
use tenure_sim::shell::{Ran, Shell};

/// The user and group of nobody in particular.
const NOBODY: u32 = 65_534;

/// Commands as another user of the system.
struct Other {
    shell: Shell,
    program: PathBuf,
}

impl Other {
    fn run(&self, words: &[&str]) -> Ran {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
        command.arg(&self.program).args(words);
        self.shell.dress(&mut command);
        Ran::of(command.output().expect("setpriv is part of every Debian"))
    }

    fn json(&self, words: &[&str]) -> Value {
        let ran = self.run(&[words, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
        ran.json()
    }

    /// Cannot tell, and says why.
    fn cannot(&self, words: &[&str]) {
        let ran = self.run(&[words, &["--json"]].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.out, ran.err);
        assert_eq!(ran.json()["code"], "cannot_tell", "{}", ran.out);
        let is_clear = ran.err.contains("ermission denied") || ran.err.contains("read");
        assert!(is_clear && ran.err.contains("next:"), "{words:?} says: {}", ran.err);
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("root may");
}

/// Gives every file of the folder, the folder itself last, these modes. The socket stays as it is.
fn set_modes(folder: &Path, file: u32, own: u32) {
    for entry in std::fs::read_dir(folder).expect("root may").flatten() {
        let kind = entry.file_type().expect("it is there");
        if kind.is_dir() {
            set_modes(&entry.path(), file, own);
        } else if kind.is_file() {
            set_mode(&entry.path(), file);
        }
    }
    set_mode(folder, own);
}

/// The daemon that said last that it is ready. Root is not its user and is not answered.
fn daemon_of(state: &Path) -> u32 {
    let log = std::fs::read_to_string(state.join("daemon.log")).expect("a daemon keeps a log");
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let pid =
        lines.filter(|line| line["message"] == "ready").filter_map(|line| line["pid"].as_u64()).next_back();
    let pid = u32::try_from(pid.expect("it said its number")).expect("process numbers are small");
    let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("it runs");
    assert!(words.contains(&*state.to_string_lossy()), "{pid} is another process: {words:?}");
    pid
}

#[test]
fn in_a_read_only_folder_nobody_can_tell_and_nothing_is_lost() {
    assert!(rustix::process::geteuid().is_root(), "becoming another user needs root: run this test as root");
    let place = Place::new();
    set_mode(place.root(), 0o711);
    let program = place.root().join("tenure");
    std::fs::copy(program::tenure(), &program).expect("there is room for a copy");
    let state = place.folder("state");
    chown(&state, Some(NOBODY), Some(NOBODY)).expect("root may");
    let other = Other { shell: Shell::new(&state, &place.checkout()).named("ada"), program };

    set_mode(&state, 0o500);
    other.cannot(&["ready", "--project", PROJECT]);
    other.cannot(&["claim", "--project", PROJECT]);
    other.cannot(&["project", "list"]);

    set_mode(&state, 0o700);
    other.json(&["project", "create", PROJECT]);
    for title in ["one", "two"] {
        other.json(&["task", "create", "--project", PROJECT, "--title", title]);
    }
    other.json(&["claim", "--project", PROJECT]);
    other.json(&["note", &format!("{PROJECT}-1"), "so far"]);
    let pid = daemon_of(&state);

    // The daemon lives and can write what it has open; the client cannot keep its request, so it does not send it.
    set_modes(&state.join("sessions"), 0o400, 0o500);
    other.cannot(&["note", &format!("{PROJECT}-1"), "lost"]);
    assert_eq!(other.json(&["ready", "--project", PROJECT])["total"], 1);

    daemon::kill(pid);
    set_modes(&state, 0o400, 0o500);
    other.cannot(&["ready", "--project", PROJECT]);
    other.cannot(&["next", "--project", PROJECT]);
    other.cannot(&["note", &format!("{PROJECT}-1"), "lost"]);

    set_modes(&state, 0o600, 0o700);
    assert_eq!(other.json(&["ready", "--project", PROJECT])["total"], 1);
    let history = other.json(&["history", &format!("{PROJECT}-1")]);
    assert_eq!((&history["total"], &history["entries"][0]["text"]), (&1.into(), &"so far".into()));
    other.json(&["close", &format!("{PROJECT}-1")]);
    assert_eq!(other.run(&["audit", "verify"]).code, 0);
    daemon::kill(daemon_of(&state));
}
